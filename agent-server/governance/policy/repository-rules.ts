import { fileURLToPath } from "node:url";
import type { Intent } from "../../contract/governance.ts";
import type { DecisionFacts } from "../decision-facts.ts";
import { boundedScope, policyFinding, type PolicyFinding, type PolicyRule, denial, rule, textArgument } from "./policy-finding.ts";
import { assessPaths, namedPaths } from "./file-rules.ts";

/** Arguments that name a git object and are passed on git's command line. */
const names = ["name", "ref", "branch", "remote", "base", "from", "to", "tag"] as const;

/** Policy for git: denies names that git would read as options or programs; sharing and losing work requires approval. */
export const assessRepository: PolicyRule = (intent, base, facts) => {
  for (const name of names) {
    const value = intent.args[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== "string" || !isPlainRef(value)) {
      return policyFinding({
        denial: denial("repository.name", `Git could read the ${name} as something other than a name.`, [
          "Use a branch, tag, commit or remote of this repository.",
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
      // A checkout names a ref or files; without files it changes the whole workspace.
      const files = assessPaths(intent, "write", facts, paths.length === 0 ? ["."] : paths);
      const lost = intent.args["force"] === true || intent.args["paths"] !== undefined || intent.args["path"] !== undefined;
      return lost ? { ...files, asks: [rule("repository.discard", "May discard uncommitted work.")], key: null } : { ...files, key: null };
    }
    case "commit": {
      const amend = intent.args["amend"] === true;
      const files = assessPaths(intent, "read", facts, paths);
      const raises = [...files.raises, ...(amend ? [rule("repository.history", "Rewrites an existing commit.")] : [])];
      return { ...files, raises, tags: amend ? [...files.tags, "history"] : files.tags, key: null };
    }
    case "branch": {
      const remove = intent.args["delete"] === true || intent.args["force"] === true;
      return policyFinding({
        scope: "workspace",
        raises: remove ? [rule("repository.branch-delete", "Deletes or moves a branch, which can lose its commits.")] : [],
        tags: remove ? ["delete", "history"] : [],
        alternatives: ["Create a new branch and keep the old one."],
      });
    }
    default:
      return assessPaths(intent, base.effect, facts, paths);
  }
};

function push(intent: Intent, facts: DecisionFacts): PolicyFinding {
  // The caller may pass the remote's address: the network policy checks a URL, the path policy a folder.
  const url = textArgument(intent, "url");
  const target = url === null ? null : cloneTarget(url);
  if (target === "program") {
    return policyFinding({
      denial: denial("repository.url", "Git would start a program for this address.", ["Push to a remote with an https address."], {
        riskLevel: "critical",
      }),
    });
  }
  const network = target === null || typeof target !== "string" ? null : facts.network(target, "write");
  const folder = target === null || typeof target === "string" ? null : assessPaths({ ...intent, args: {} }, "write", facts, [target.path]);
  const branch = textArgument(intent, "branch") ?? "";
  const force = intent.args["force"] === true || branch.startsWith("+") || intent.args["delete"] === true || branch.startsWith(":");
  const remote = textArgument(intent, "remote") ?? "origin";
  const raises = force ? [rule("repository.force-push", "Rewrites or deletes commits that others may have.")] : [];
  return policyFinding({
    denial:
      network?.verdict === "deny"
        ? { tier: "T3", riskLevel: "high", rules: [network.rule], alternatives: network.alternatives }
        : (folder?.denial ?? null),
    scope: boundedScope(`remote:${remote}`),
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
    return policyFinding({
      denial: denial("repository.url", "The repository address is missing.", ["Use the https address of the repository."]),
    });
  const remote = cloneTarget(url);
  if (remote === "program") {
    return policyFinding({
      denial: denial("repository.url", "Git would start a program for this address.", ["Use the https address of the repository."], {
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

/** The https form of an address, a folder, or `program` when git would start a program. */
function cloneTarget(url: string): string | { readonly path: string } {
  if (url.startsWith("-") || /^[a-z0-9+.-]+::/i.test(url)) return "program";
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === "https" || scheme === "http") return url;
  if (scheme === "ssh" || scheme === "git+ssh" || scheme === "git") {
    const parsed = URL.canParse(url) ? new URL(url) : null;
    // ssh reads a host that starts with a dash as an option.
    return parsed === null || parsed.hostname.startsWith("-") || parsed.hostname === ""
      ? "program"
      : `https://${parsed.host}${parsed.pathname}`;
  }
  if (scheme === "file") return folderOf(url);
  if (scheme !== undefined) return "program";
  const [, host = "", path = ""] = /^(?:[^@/\s]+@)?([^:/\s]+):(.*)$/.exec(url) ?? [];
  // A single letter before the colon is a drive.
  if (host.length > 1) return host.startsWith("-") ? "program" : `https://${host}/${path}`;
  return { path: url };
}

/** The folder of a file: address; one with a host or a syntax error is denied like a program. */
function folderOf(url: string): "program" | { readonly path: string } {
  try {
    return { path: fileURLToPath(url) };
  } catch {
    return "program";
  }
}

/** True for a name that git cannot read as an option, a forbidden character or a program. */
function isPlainRef(name: string): boolean {
  // Git's syntax for force (+) and delete (:), which push handles.
  const bare = name.replace(/^[+:]/, "");
  return (
    bare !== "" &&
    name.length <= 500 &&
    !bare.startsWith("-") &&
    !bare.includes("::") &&
    // oxlint-disable-next-line no-control-regex -- matches control characters
    !/[\u0000-\u0020\u007f*?[\\]/.test(bare)
  );
}
