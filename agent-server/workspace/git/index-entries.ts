import { lstatSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { Git } from "./git.ts";
import { list } from "./git-work-tree.ts";

/** Timeout (ms) without output, for repositories with many files. */
const quietMs = 120_000;
const noMode = "000000";

/** A file as a commit or an index has it; the mode of a deleted one is 000000. */
export interface Entry {
  readonly name: string;
  readonly mode: string;
  readonly hash: string;
}

/** The files that differ between two commits, as the second has them; of a first commit, all. */
export async function changedEntries(git: Git, before: string | null, after: string): Promise<Entry[]> {
  const args = ["-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff"];
  if (before !== null) return rawEntries(await git.run("diff-tree", [...args, before, after], undefined, { quietMs }));
  return listedEntries(await git.run("ls-tree", ["-r", "-z", "--full-tree", after], undefined, { quietMs }));
}

/**
 * Expects that the user has staged no other content for files that a commit changes.
 * @param before the commit that is checked out; null when there is none
 * @returns the entries that are not in the index yet.
 * @throws LancelotError `conflict`.
 */
export async function expectUnstaged(git: Git, before: string | null, entries: readonly Entry[]): Promise<Entry[]> {
  const listed =
    before === null
      ? listedEntries(await git.run("ls-files", ["--stage", "-z"], undefined, { quietMs }))
      : rawEntries(await git.run("diff-index", ["--cached", "--raw", "-z", "--no-renames", "--no-abbrev", before], undefined, { quietMs }));
  const staged = new Map(listed.map((entry) => [entry.name, entry]));
  const wanted = new Map(entries.map((entry) => [entry.name, entry]));
  const isSame = (one: Entry | undefined, other: Entry): boolean => one?.mode === other.mode && one.hash === other.hash;
  const different = entries.filter((entry) => staged.has(entry.name) && !isSame(staged.get(entry.name), entry)).map(({ name }) => name);
  // A staged file in place of a folder, or the other way around.
  const blocking = [...foldersAmong(wanted, staged), ...foldersAmong(staged, wanted)];
  const conflicts = [...new Set([...different, ...blocking])];
  if (conflicts.length > 0)
    throw new LancelotError(
      "conflict",
      `Other content of ${list(conflicts)} is staged, so nothing was imported. Commit or unstage it first.`,
    );
  return entries.filter(({ name }) => !staged.has(name));
}

/** Sets index entries. Files stay as they are. */
export async function setEntries(git: Git, entries: readonly Entry[]): Promise<void> {
  if (entries.length === 0) return;
  // Deletions come first, because a file may take the place of a folder.
  const sorted = entries.toSorted((a, b) => Number(a.mode !== noMode) - Number(b.mode !== noMode));
  const input = sorted.map(({ name, mode, hash }) => `${mode === noMode ? "0" : mode} ${hash}\t${name}\0`).join("");
  await git.run("update-index", ["--add", "--replace", "-z", "--index-info"], undefined, { input, quietMs });
}

/** True when the working tree has exactly these files. @param index a file that does not exist yet */
export async function hasFiles(git: Git, entries: readonly Entry[], index: string): Promise<boolean> {
  const present = entries.filter(({ mode }) => mode !== noMode);
  const gone = entries.filter(({ mode }) => mode === noMode);
  if (gone.some(({ name }) => isFile(join(git.repository.workTree, name)))) return false;
  if (present.length === 0) return true;
  const input = present.map(({ name, mode, hash }) => `${mode} ${hash}\t${name}\0`).join("");
  await git.run("update-index", ["--add", "-z", "--index-info"], undefined, { input, index, quietMs });
  // Compares the content of files, since their times are not in the index yet; it fails when one differs.
  return (await git.ask("update-index", ["--refresh"], { index, quietMs })) !== null;
}

/** Reads `--raw -z` output: what the second side has. */
function rawEntries(text: string): Entry[] {
  const parts = text.split("\0");
  const entries: Entry[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, mode = "", , hash = ""] = (parts[at] ?? "").split(" ");
    entries.push({ name: parts[at + 1] ?? "", mode, hash });
  }
  return entries;
}

/** Reads what `ls-tree -z` and `ls-files --stage -z` print. */
export function listedEntries(text: string): Entry[] {
  return text.split("\0").flatMap((entry) => {
    const [, mode, one, other, name] = /^([0-7]{6}) (\w+) ([0-9a-f]+)\t(.+)$/s.exec(entry) ?? [];
    if (mode === undefined || one === undefined || other === undefined || name === undefined) return [];
    return [{ name, mode, hash: one.length >= 40 ? one : other }];
  });
}

/** Names in `of` that lie in a folder for which `files` has a file. */
function foldersAmong(files: ReadonlyMap<string, Entry>, of: ReadonlyMap<string, Entry>): string[] {
  const isPresent = (entry: Entry | undefined): boolean => entry !== undefined && entry.mode !== noMode;
  return [...of.values()].filter(isPresent).flatMap(({ name }) => {
    const parts = name.split("/").slice(0, -1);
    return parts.some((_, index) => isPresent(files.get(parts.slice(0, index + 1).join("/")))) ? [name] : [];
  });
}

function isFile(path: string): boolean {
  try {
    return !lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}
