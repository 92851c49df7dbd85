import { trimEnd } from "../../contract/trim-end.ts";
import { existsSync, lstatSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import { intentOf } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import {
  type Git,
  gitOf,
  gitProvider,
  headOf,
  inPrivateFolder,
  list,
  type ListedSetting,
  listSettings,
  ownerSettings,
  parseSettings,
  type Remote,
  remoteOf,
  resolveFile,
  shortHash,
  stagingFolder,
  sweepStaging,
  tooLarge,
  transfer,
  uploadPack,
} from "../../workspace/workspace.ts";
import { count, defineTool, fileStep, PathArgument, type Scope } from "../tool.ts";

/** Most bytes of a clone (objects and files are limited separately), and most files. */
const maxBytes = 1024 * 1024 * 1024;
const maxFiles = 200_000;
const timeoutMs = 15 * 60_000;
const quietMs = 10 * 60_000;

export const gitClone = defineTool({
  name: "git_clone",
  description:
    "Clone a repository by its https URL into a new folder of the workspace. Submodules are not fetched, and Git LFS files remain pointers. depth 1 fetches only the latest commit.",
  args: z.strictObject({
    url: z.string().trim().min(1).max(2000).describe("https URL of the repository"),
    path: PathArgument.optional().describe("New folder, relative to the workspace. Default: the repository's name"),
    depth: count(1, 1_000_000).optional().describe("Number of latest commits to fetch. Default: all"),
  }),
  capability: "repo_ops",
  action: "clone",
  baseTier: "T2",
  actionType: "tool_call",
  provider: gitProvider,
  title: ({ url, path }) => `Git clone ${shownUrl(url)}${path === undefined ? "" : ` into ${path}`}`,
  // That the target exists is reported only after an authorized read.
  reads: ({ url, path }, scope) => [fileStep("list", resolveFile(scope, path ?? nameOf(url)))],
  async plan({ url, path, depth }, scope) {
    const target = resolveFile(scope, path ?? nameOf(url));
    if (!target.inside) throw new LancelotError("denied", "Repositories can only be cloned into the workspace. Name a folder in it.");
    if (target.type !== "missing") throw new LancelotError("conflict", `${target.display} already exists. Name a new folder.`);
    const args = { url, path: target.asked, absolute: target.absolute, depth: depth ?? null };
    const step = { capability: "repo_ops", action: "clone", args };
    // Policy reports its own refusals. Other unsupported URLs are refused before the user is asked.
    const refused = scope.governance.evaluate(intentOf(step, scope.call)).verdict === "deny";
    const remote = refused ? null : remoteOf(url, scope.workspace);
    return {
      kind: "effect",
      steps: [step],
      question: {
        title: `Clone ${remote?.shown ?? shownUrl(url)}`,
        detail: `Into ${target.display}${depth === undefined ? "" : `, the latest ${depth} commits`}.`,
      },
      touches: [],
      run: async ({ receiptId }) => {
        if (remote === null) throw new LancelotError("denied", "This URL is not supported.");
        if (remote.protocol === "file") await expectPlainSource(scope, remote);
        const { commit, files, notes } = await scope.locks.hold([target.absolute], () =>
          clone(scope, remote, target.absolute, depth ?? null),
        );
        const { quest: questId } = scope.call;
        scope.moves.record({ questId, receiptId, move: { kind: "clone", path: target.absolute, commit } });
        const what = commit === null ? "It has no commits yet." : `${files} files at ${shortHash(commit)}.`;
        return {
          value: { kind: "answer", text: [`Cloned ${remote.shown} into ${target.display}. ${what}`, ...notes].join("\n") },
          outputs: { url: remote.shown, path: target.display, commit, files },
        };
      },
      verify: () =>
        Promise.resolve(existsSync(join(target.absolute, ".git", "HEAD")) ? null : `${target.display} does not contain a repository`),
    };
  },
});

/** The folder that git would choose. */
function nameOf(url: string): string {
  const last = trimEnd(url, "/\\")
    .split(/[/\\:]/)
    .at(-1)
    ?.replace(/\.git$/i, "");
  return last === undefined || last === "" ? "repository" : last;
}

/** Removes a password from a URL, for cards and questions. */
function shownUrl(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, "$1");
}

/**
 * Git reads the settings of a local source repository, so a repository that would start a program to fetch objects is refused.
 * @throws LancelotError `denied`, `not_found`.
 */
async function expectPlainSource(scope: Scope, remote: Remote): Promise<void> {
  const { absolute } = resolveFile(scope, remote.url);
  const gitDir = existsSync(join(absolute, ".git")) ? join(absolute, ".git") : absolute;
  if (lstatSync(gitDir, { throwIfNoEntry: false })?.isDirectory() !== true || !existsSync(join(gitDir, "HEAD")))
    throw new LancelotError("not_found", `There is no repository at ${remote.shown}.`);
  expectNoPromises(parseSettings(await listSettings({ GIT_DIR: gitDir }, gitDir, scope.call.signal)));
}

export function expectNoPromises(settings: readonly ListedSetting[]): void {
  const promises = settings.some(
    ({ scope, name }) =>
      scope !== "system" &&
      scope !== "global" &&
      /^(?:extensions\.partialclone|remote\..+\.(?:promisor|vcs)|uploadpack\.packobjectshook)$/is.test(name),
  );
  if (promises)
    throw new LancelotError(
      "denied",
      "That repository fetches missing objects with its own program, so it cannot be cloned here. Ask the user to do it.",
    );
}

/** Clones into a staging folder first, so that a stopped or too large clone leaves nothing behind. */
async function clone(
  scope: Scope,
  remote: Remote,
  target: string,
  depth: number | null,
): Promise<{ commit: string | null; files: number; notes: string[] }> {
  const { signal } = scope.call;
  const folder = await stagingPlace(scope.workspace, target);
  // Removes staging folders of hosts that died.
  await sweepStaging(folder);
  const staging = stagingFolder(folder);
  try {
    return await inPrivateFolder(async (folder) => {
      const owner = ownerSettings(parseSettings(await listSettings({ GIT_DIR: join(folder, "none") }, folder, signal)));
      const args = [
        "clone",
        "--quiet",
        "--no-checkout",
        "--no-recurse-submodules",
        "--no-local",
        "--template=",
        ...(depth === null ? [] : [`--depth=${depth}`]),
        ...(remote.protocol === "file" ? [uploadPack] : []),
        "--",
        remote.url,
        staging,
      ];
      await transfer({ remote, gitDir: null, cwd: folder, owner }, args, { timeoutMs, grows: { folder: staging, maxBytes } }, signal);
      const repository = { gitDir: join(staging, ".git"), commonDir: join(staging, ".git"), workTree: staging };
      const git = await gitOf(repository, staging, signal);
      const { commit } = await headOf(git);
      const { files, notes } = commit === null ? { files: 0, notes: [] } : await writeFiles(git, commit);
      if (existsSync(target))
        throw new LancelotError("conflict", `${basename(target)} was created in the meantime, so the clone was discarded.`);
      await mkdir(dirname(target), { recursive: true });
      await rename(staging, target);
      return { commit, files, notes };
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** The staging folder: in the workspace, where the next start cleans up, or next to a target on another disk. */
async function stagingPlace(workspace: string, target: string): Promise<string> {
  let existing = dirname(target);
  while (!existsSync(existing)) existing = dirname(existing);
  if (lstatSync(existing).dev === lstatSync(workspace).dev) return workspace;
  await mkdir(dirname(target), { recursive: true });
  return dirname(target);
}

/** Checks out the files of a new clone, within the limits. */
async function writeFiles(git: Git, commit: string): Promise<{ files: number; notes: string[] }> {
  const entries = (await git.run("ls-tree", ["-r", "-l", "-z", commit], undefined, { quietMs }))
    .split("\0")
    .filter((entry) => entry !== "");
  let bytes = 0;
  let submodules = 0;
  const names: string[] = [];
  for (const entry of entries) {
    const [head = "", name = ""] = entry.split("\t");
    const [mode, , , size] = head.split(/ +/);
    if (mode === "160000") submodules += 1;
    else names.push(name);
    bytes += Number(size) || 0;
  }
  if (bytes > maxBytes || names.length > maxFiles) throw tooLarge(maxBytes);
  await git.run("checkout", ["--quiet", "--force", "--no-recurse-submodules", "HEAD"], [], { quietMs });
  const attributes = await readFile(join(git.repository.workTree, ".gitattributes"), "utf8").catch(() => "");
  const pointers = /\bfilter=/.test(attributes);
  return {
    files: names.length,
    notes: [
      ...(pointers ? ["Files with a filter (such as Git LFS) are pointers, not their content."] : []),
      ...(submodules === 0 ? [] : [`${submodules} submodules were not fetched: ${list(submoduleNames(entries), 4)}.`]),
    ],
  };
}

function submoduleNames(entries: readonly string[]): string[] {
  return entries.filter((entry) => entry.startsWith("160000")).map((entry) => entry.split("\t")[1] ?? "");
}
