import { LancelotError } from "../../contract/errors.ts";
import { createPace } from "../effects/tree-walk.ts";
import type { RefState } from "../git/ref-state.ts";
import type { UntrustedFolder } from "./untrusted-folder.ts";

/** Limits of reading the refs in a view. */
const maxRefs = 100_000;
const maxPackedBytes = 16 * 1024 * 1024;
const maxRefBytes = 4_096;
const maxDepth = 32;

/**
 * Reads HEAD, branches and tags of a repository in a task's view. Git itself never opens it, because everything in it was possibly written
 * by a command.
 * @param worktree folder with HEAD, below the common folder; empty for the main work tree
 * @throws LancelotError `too_large`.
 */
export async function readViewRefs(repository: UntrustedFolder, worktree: string, hashLength: number): Promise<RefState> {
  const isHash = (text: string): boolean => text.length === hashLength && /^[0-9a-f]+$/.test(text);
  const refs = new Map<string, string>();
  const add = (ref: string, value: string): void => {
    refs.set(ref, value);
    if (refs.size > maxRefs) throw new LancelotError("too_large", `The task's repository has more than ${maxRefs} branches and tags.`);
  };
  const packed = repository.read("packed-refs", maxPackedBytes)?.toString("utf8") ?? "";
  for (const line of packed.split("\n")) {
    const [hash = "", ref = ""] = line.split(" ");
    if (isHash(hash) && /^refs\/(?:heads|tags)\/./.test(ref)) add(ref, hash);
  }
  const pace = createPace();
  const visit = async (folder: UntrustedFolder, path: string, depth: number): Promise<void> => {
    for (const { name, kind } of folder.entries(maxRefs)) {
      await pace();
      const ref = `${path}/${name}`;
      if (kind === "folder" && depth < maxDepth) await folder.within(name, (inner) => visit(inner, ref, depth + 1));
      if (kind !== "file" || name.endsWith(".lock")) continue;
      const text = folder.read(name, maxRefBytes)?.toString("utf8").trimEnd() ?? "";
      add(ref, isHash(text) || /^ref: \S/.test(text) ? text : "");
    }
  };
  await repository.within("refs", async (all) => {
    for (const kind of ["heads", "tags"]) await all.within(kind, (folder) => visit(folder, `refs/${kind}`, 0));
  });
  const head = (await atWorktree(repository, worktree, (folder) => Promise.resolve(folder.read("HEAD", maxRefBytes))))
    ?.toString("utf8")
    .trimEnd();
  const ref = /^ref: (refs\/heads\/\S+)$/.exec(head ?? "")?.[1] ?? null;
  const named = ref === null ? (head ?? "") : (refs.get(ref) ?? "");
  return { head: { ref, commit: isHash(named) ? named : null }, refs: Object.fromEntries(refs) };
}

/** Runs work in the folder with HEAD and index of a work tree. */
export async function atWorktree<T>(
  repository: UntrustedFolder,
  worktree: string,
  work: (folder: UntrustedFolder) => Promise<T | null>,
): Promise<T | null> {
  const [first, ...rest] = worktree.split("/");
  return first === undefined || first === ""
    ? work(repository)
    : repository.within(first, (inner) => atWorktree(inner, rest.join("/"), work));
}
