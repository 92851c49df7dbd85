import { fileURLToPath } from "node:url";
import type { Intent } from "../../contract/governance.ts";
import type { DecisionFacts } from "../decision-facts.ts";
import { policyFinding, type PolicyFinding, type PolicyRule, denial, rule, textArgument } from "./policy-finding.ts";
import { assessPaths, namedPaths } from "./file-rules.ts";

/** Arguments that name something in a repository, and go to git as words of its command line. */
const names = ["name", "ref", "branch", "remote", "base", "from", "to", "tag"] as const;

/** Policy for git: names that are really options or programs are refused; what is shared or lost is asked. */
export const repositoryRules: PolicyRule = (intent, base, facts) => {
  for (const name of names) {
    const value = intent.args[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== "string" || !isPlainRef(value)) {
      return policyFinding({
        denial: denial("repository.name", `The ${name} is not a name that git could mean only as a name.`, [
          "Name a branch, a tag, a commit or a remote of this repository.",
        ]),
      });
    }
  }
  const paths = namedPaths(intent);
  switch (intent.action) {
    case "push":
      return push(intent, facts);
    case "clone":
      return clone(intent, facts, paths);
    case "checkout": {
      // A checkout names a ref, or files; without files it changes those of the workspace.
      const files = assessPaths(intent, "write", facts, paths.length === 0 ? ["."] : paths);
      const lost = intent.args["force"] === true || intent.args["paths"] !== undefined || intent.args["path"] !== undefined;
      return lost
        ? { ...files, asks: [rule("repository.discard", "This may discard work that is not committed.")], key: null }
        : { ...files, key: null };
    }
    case "commit": {
      const amend = intent.args["amend"] === true;
      const files = assessPaths(intent, "read", facts, paths);
      const raises = [...files.raises, ...(amend ? [rule("repository.history", "This rewrites a commit that was made before.")] : [])];
      return { ...files, raises, tags: amend ? [...files.tags, "history"] : files.tags, key: null };
    }
    case "branch": {
      const remove = intent.args["delete"] === true || intent.args["force"] === true;
      return policyFinding({
        scope: "workspace",
        raises: remove ? [rule("repository.branch-delete", "A branch that is deleted or moved takes its commits along.")] : [],
        tags: remove ? ["delete", "history"] : [],
        alternatives: ["Make a new branch and leave the old one."],
      });
    }
    default:
      return assessPaths(intent, base.effect, facts, paths);
  }
};

function push(intent: Intent, facts: DecisionFacts): PolicyFinding {
  // Where the remote leads, when whoever asks has looked: its address goes by the rules of the network, a folder by those of paths.
  const url = textArgument(intent, "url");
  const target = url === null ? null : cloneTarget(url);
  if (target === "program") {
    return policyFinding({
      denial: denial("repository.url", "This address would make git start a program.", ["Push to a remote with an https address."], {
        riskLevel: "critical",
      }),
    });
  }
  const network = target === null || typeof target !== "string" ? null : facts.network(target, "write");
  const folder =
    target === null || typeof target === "string" ? null : assessPaths({ ...intent, args: {} }, "write", facts, [target.path]);
  const branch = textArgument(intent, "branch") ?? "";
  const force = intent.args["force"] === true || branch.startsWith("+") || intent.args["delete"] === true || branch.startsWith(":");
  const remote = textArgument(intent, "remote") ?? "origin";
  const raises = force ? [rule("repository.force-push", "This rewrites or removes what others may already have.")] : [];
  return policyFinding({
    denial:
      network?.verdict === "deny"
        ? { tier: "T3", riskLevel: "high", rules: [network.rule], alternatives: network.alternatives }
        : (folder?.denial ?? null),
    scope: `remote:${remote}`.slice(0, 100),
    tags: [...(force ? (["history", "destroy"] as const) : []), ...(folder?.tags ?? [])],
    riskLevel: force ? "critical" : "high",
    raises: [...raises, ...(folder?.raises ?? [])],
    alternatives: force
      ? ["Push without force.", "Push to a new branch."]
      : ["Commit, and let the owner push.", "Give the owner the exact git push command."],
  });
}

function clone(intent: Intent, facts: DecisionFacts, paths: readonly unknown[]): PolicyFinding {
  const url = textArgument(intent, "url");
  if (url === null)
    return policyFinding({ denial: denial("repository.url", "No repository is named.", ["Name the repository by its https address."]) });
  const remote = cloneTarget(url);
  if (remote === "program") {
    return policyFinding({
      denial: denial("repository.url", "This address would make git start a program.", ["Name the repository by its https address."], {
        riskLevel: "critical",
      }),
    });
  }
  const target = assessPaths(intent, "write", facts, paths.length === 0 ? ["."] : paths);
  if (typeof remote !== "string") {
    const source = assessPaths({ ...intent, args: {} }, "read", facts, [remote.path]);
    return { ...target, denial: target.denial ?? source.denial, raises: [...target.raises, ...source.raises], key: null };
  }
  const network = facts.network(remote, "read");
  return {
    ...target,
    denial:
      network.verdict === "deny"
        ? { tier: "T2", riskLevel: "high", rules: [network.rule], alternatives: network.alternatives }
        : target.denial,
    scope: network.host,
    key: null,
  };
}

/** The https form of an address git would contact, a folder, or `program` for what git would start. */
function cloneTarget(url: string): string | { readonly path: string } {
  if (url.startsWith("-") || /^[a-z0-9+.-]+::/i.test(url)) return "program";
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === "https" || scheme === "http") return url;
  if (scheme === "ssh" || scheme === "git+ssh" || scheme === "git") {
    const parsed = URL.canParse(url) ? new URL(url) : null;
    // An ssh host that begins with a dash is an option of ssh.
    return parsed === null || parsed.hostname.startsWith("-") || parsed.hostname === ""
      ? "program"
      : `https://${parsed.host}${parsed.pathname}`;
  }
  if (scheme === "file") return folderOf(url);
  if (scheme !== undefined) return "program";
  const [, host = "", path = ""] = /^(?:[^@/\s]+@)?([^:/\s]+):(.*)$/.exec(url) ?? [];
  // One letter before the colon is a drive.
  if (host.length > 1) return host.startsWith("-") ? "program" : `https://${host}/${path}`;
  return { path: url };
}

/** The folder of a file: address; one that names a host or cannot be read is refused like a program. */
function folderOf(url: string): "program" | { readonly path: string } {
  try {
    return { path: fileURLToPath(url) };
  } catch {
    return "program";
  }
}

/** A name that cannot be taken for an option, a range of characters git forbids, or a way to start something. */
function isPlainRef(name: string): boolean {
  // A leading + or : is git's own way to say force and delete; push looks at it.
  const bare = name.replace(/^[+:]/, "");
  return (
    bare !== "" &&
    name.length <= 500 &&
    !bare.startsWith("-") &&
    !bare.includes("::") &&
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    !/[\u0000-\u0020\u007f*?[\\]/.test(bare)
  );
}
