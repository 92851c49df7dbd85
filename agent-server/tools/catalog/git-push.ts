import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import {
  borrowObjects,
  branchName,
  assertNoLinks,
  type Git,
  gitProvider,
  inPrivateFolder,
  listSettings,
  parseSettings,
  receivePack,
  type Remote,
  remoteOf,
  resolveFile,
  shortHash,
  transfer,
  uploadPack,
} from "../../workspace/workspace.ts";
import { defineTool, flag, type Scope } from "../tool.ts";
import { branchCommit, commitOf, RefArgument, refStep } from "./git-branch.ts";
import { expectNoPromises } from "./git-clone.ts";
import { holdRepository, openIdle, reopen } from "./git-write.ts";

const timeoutMs = 10 * 60_000;

export const gitPush = defineTool({
  name: "git_push",
  description:
    "Push a branch to a remote of this repository. Always requires the user's approval. Commits on the remote are replaced only with force.",
  args: z.strictObject({
    remote: RefArgument.optional().describe("Name of the remote. Default: origin"),
    branch: RefArgument.optional().describe("Branch. Default: the current branch"),
    force: flag().optional().describe("Replace commits on the remote that this branch does not have"),
  }),
  capability: "repo_ops",
  action: "push",
  baseTier: "T3",
  actionType: "tool_call",
  provider: gitProvider,
  title: ({ remote = "origin", branch, force }) =>
    `Git push${force === true ? " --force" : ""} ${remote}${branch === undefined ? "" : ` ${branch}`}`,
  reads: ({ remote = "origin", branch }, scope) => [refStep(scope, { remote, ...(branch === undefined ? {} : { branch }) })],
  async plan({ remote: named = "origin", branch: asked, force = false }, scope) {
    const opened = await openIdle(scope);
    const { git, head } = opened;
    if (asked !== undefined && /^[+:]/.test(asked)) {
      throw new LancelotError(
        "invalid_params",
        "Name only the branch. To replace commits on the remote, set force: true. Remote branches cannot be deleted.",
      );
    }
    const ref = asked === undefined ? head.ref : `refs/heads/${asked.replace(/^refs\/heads\//, "")}`;
    if (ref === null) throw new LancelotError("conflict", "HEAD is detached. Name the branch to push.");
    const branch = branchName(ref);
    const commit = await branchCommit(git, ref);
    if (commit === null) throw new LancelotError("not_found", `There is no branch ${branch} with commits in this repository.`);
    const remote = addressOf(git, named);
    if (remote.protocol === "file") await expectPlainTarget(scope, remote);
    const known = await git.ask("rev-parse", ["--quiet", "--verify", `refs/remotes/${named}/${branch}`]);
    const args = {
      remote: named,
      branch,
      commit,
      url: remote.protocol === "file" ? remote.url : remote.shown,
      ...(force ? { force } : {}),
    };
    return {
      kind: "effect",
      steps: [{ capability: "repo_ops", action: "push", args }],
      question: {
        title: `${force ? "Force-push" : "Push"} ${branch} to ${named}`,
        detail: [
          `To ${remote.shown}, branch ${branch}, commit ${shortHash(commit)}.`,
          ...(force ? ["Commits on the remote that this branch does not have are removed."] : []),
          ...(await newCommits(git, commit, known?.trim() ?? null)),
        ].join("\n"),
      },
      touches: [],
      run: async () => {
        await holdRepository(scope, git.repository, async () => {
          const fresh = await reopen(scope, opened);
          if ((await commitOf(fresh, ref)) !== commit || addressOf(fresh, named).url !== remote.url)
            throw new LancelotError("conflict", `${branch}, or the URL of ${named}, changed in the meantime, so nothing was pushed.`);
          const pushArgs = [
            "push",
            "--porcelain",
            "--no-verify",
            "--no-signed",
            "--no-follow-tags",
            "--recurse-submodules=no",
            ...(remote.protocol === "file" ? [receivePack] : []),
            // Replaces only the remote commit that the user saw in the question.
            ...(force ? [known === null ? "--force" : `--force-with-lease=${ref}:${known.trim()}`] : []),
            "--",
            remote.url,
            `${commit}:${ref}`,
          ];
          await toRemote(fresh, remote, pushArgs, scope.call.signal);
          await remember(fresh, named, branch, commit);
        });
        return {
          value: { kind: "answer", text: `Pushed ${branch} (${shortHash(commit)}) to ${named}, ${remote.shown}. Local hooks did not run.` },
          outputs: { remote: named, url: remote.shown, branch, refBefore: known?.trim() ?? null, refAfter: commit, force },
        };
      },
      verify: async (signal) => {
        const args = ["ls-remote", ...(remote.protocol === "file" ? [uploadPack] : []), "--", remote.url, ref];
        const there = (await toRemote(git, remote, args, signal)).split("\t")[0]?.trim();
        return there === commit ? null : `${branch} of ${named} is not at ${shortHash(commit)}`;
      },
    };
  },
});

/** The URL of a remote in the repository's settings. URL rewriting (url.*.insteadOf) is ignored. */
function addressOf(git: Git, remote: string): Remote {
  const values = (name: string) => git.settings.filter((setting) => setting.name === `remote.${remote}.${name}`).map(({ value }) => value);
  const pushTo = values("pushurl");
  const addresses = pushTo.length > 0 ? pushTo : values("url");
  const [address] = addresses;
  if (address === undefined) throw new LancelotError("not_found", `This repository has no remote ${remote}.`);
  if (addresses.length > 1)
    throw new LancelotError("unavailable", `${remote} has several URLs, and only one is supported. Ask the user to push.`);
  return remoteOf(address, git.repository.workTree);
}

/** @throws LancelotError `denied` for a folder that the path rules refuse. */
async function expectPlainTarget(scope: Scope, remote: Remote): Promise<void> {
  const { absolute, type } = resolveFile(scope, remote.url);
  if (type !== "directory") throw new LancelotError("not_found", `There is no repository at ${remote.shown}.`);
  expectNoPromises(parseSettings(await listSettings({ GIT_DIR: absolute }, absolute, scope.call.signal)));
}

/** Pushes from a repository without settings, so that only the user's own settings apply. */
async function toRemote(git: Git, remote: Remote, args: readonly string[], signal: AbortSignal): Promise<string> {
  const format = git.settings.find(({ name }) => name === "extensions.objectformat")?.value ?? "sha1";
  return inPrivateFolder(async (folder) => {
    const gitDir = await borrowObjects(git.repository, folder, format === "sha256" ? "sha256" : "sha1");
    return transfer({ remote, gitDir, cwd: folder, owner: git.owner }, args, { timeoutMs }, signal);
  });
}

/** Updates the remote-tracking branch as git does after a push. A failure is ignored. */
async function remember(git: Git, remote: string, branch: string, commit: string): Promise<void> {
  const fetches = git.settings.some(({ name, value }) => name === `remote.${remote}.fetch` && value.endsWith(`refs/remotes/${remote}/*`));
  if (!fetches) return;
  const author = { name: git.owner.name ?? "Lancelot", email: git.owner.email ?? "lancelot@localhost" };
  const ref = `refs/remotes/${remote}/${branch}`;
  try {
    assertNoLinks(git.repository, [ref]);
    await git.run("update-ref", ["-m", "update by push", ref, commit], undefined, { author });
  } catch {
    // A link or a lock blocks the update. The next fetch repeats it.
  }
}

/** The subjects of the commits that are new to the remote, as far as known locally. */
async function newCommits(git: Git, commit: string, known: string | null): Promise<string[]> {
  const range = known === null ? [commit] : [commit, `^${known}`];
  const text = await git.run("log", ["--max-count=20", "--no-color", "--no-show-signature", "--pretty=format:  %h %s", ...range], []);
  return text.trim() === "" ? [] : ["Commits:", ...text.trimEnd().split("\n")];
}
