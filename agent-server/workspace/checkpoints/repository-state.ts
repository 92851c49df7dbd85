import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { readOwn } from "./checkpoint-entries.ts";
import type { FileImage } from "./file-image.ts";
import type { ObjectStore } from "./object-store.ts";
import type { Plan, Refusal, Reversal } from "./restore-plan.ts";
import { diskPath } from "../byte-path.ts";
import { openGit } from "../git/git.ts";
import { sha256 } from "../text/encoding.ts";

/** True when two versions of a repository's index list the same files. Git rewrites the index whenever it refreshes file statistics. */
export async function sameIndex(workTree: string, one: Buffer, other: Buffer): Promise<boolean> {
  if (one.equals(other)) return true;
  const folder = await mkdtemp(join(tmpdir(), "lancelot-index-"));
  try {
    const git = await openGit(workTree, AbortSignal.timeout(30_000));
    const listed: string[] = [];
    for (const [name, bytes] of [["one", one] as const, ["other", other] as const]) {
      const index = join(folder, name);
      await writeFile(index, bytes, { mode: 0o600 });
      listed.push(await git.run("ls-files", ["--stage", "-v", "-z"], undefined, { index }));
    }
    return listed[0] === listed[1];
  } catch (error) {
    // An index that git cannot read differs from any other.
    if (error instanceof LancelotError) return false;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Files that git writes besides its state; nothing depends on their content. */
const incidental = /^(?:COMMIT_EDITMSG|FETCH_HEAD|ORIG_HEAD|MERGE_MSG|SQUASH_MSG|gc\.log|gc\.pid|description|info\/.*|.*\.lock)$/;
const isLog = /^(?:modules\/.+\/|worktrees\/[^/]+\/)?logs\//;
const isObject = /^(?:modules\/.+\/)?objects\//;

interface Group {
  readonly folder: string;
  readonly absolute: string;
  readonly reversals: Reversal[];
  readonly conflicts: Refusal[];
}

/**
 * Restores a repository completely or not at all, because a HEAD, branches and index that do not match are worse than an extra commit.
 * Missing objects are always restored, and log entries that were added are kept.
 */
export async function settleRepositories(plan: Plan, objects: ObjectStore): Promise<Plan> {
  const groups = new Map<string, Group>();
  const rest: Plan = { reversals: [], conflicts: [] };
  const groupOf = (display: string, absolute: string): Group | null => {
    const folder = /^(?:.*\/)?\.git(?=\/)/.exec(display.replaceAll("\\", "/"))?.[0];
    if (folder === undefined) return null;
    const inner = display.length - folder.length;
    const found = groups.get(folder) ?? { folder, absolute: absolute.slice(0, absolute.length - inner), reversals: [], conflicts: [] };
    groups.set(folder, found);
    return found;
  };
  for (const reversal of plan.reversals)
    (groupOf(reversal.file.display.replace(/\/$/, ""), reversal.file.absolute) ?? rest).reversals.push(reversal);
  for (const conflict of plan.conflicts)
    (groupOf(conflict.path.replace(/\/$/, ""), conflict.touches[0]?.path.absolute ?? conflict.path) ?? rest).conflicts.push(conflict);
  for (const group of groups.values()) {
    const settled = await settle(group, objects);
    rest.reversals.push(...settled.reversals);
    rest.conflicts.push(...settled.conflicts);
  }
  return rest;
}

async function settle(group: Group, objects: ObjectStore): Promise<Plan> {
  const inner = (display: string): string => display.slice(group.folder.length + 1).replace(/\/$/, "");
  const objectsBack = group.reversals.filter(({ file, target }) => isObject.test(inner(file.display)) && target !== null);
  const reversals: Reversal[] = [];
  for (const reversal of group.reversals) {
    // Keeps a log that was appended to, so that its commits remain reachable.
    if (!isLog.test(inner(reversal.file.display)) || !(await grew(reversal, objects))) reversals.push(reversal);
  }
  const conflicts: Refusal[] = [];
  for (const conflict of group.conflicts) {
    const name = inner(conflict.path);
    if (incidental.test(name) || isLog.test(name)) continue;
    const again = name === "index" ? await indexReversal(group, conflict, objects) : null;
    if (again === null) conflicts.push(conflict);
    else reversals.push(again);
  }
  const busy = ["index.lock", "HEAD.lock"].some((name) => existsSync(diskPath(join(group.absolute, name))));
  if (busy) return refuse(group, objectsBack, "Another git process is running in this repository. Try again when it has finished.");
  if (conflicts.length > 0) {
    const names = conflicts.slice(0, 3).map(({ path }) => inner(path));
    return refuse(
      group,
      objectsBack,
      `Branches, HEAD and index were not changed, because the repository has changed since (${names.join(", ")}${conflicts.length > 3 ? ", …" : ""}).`,
    );
  }
  return { reversals, conflicts: [] };
}

function refuse({ folder }: Group, reversals: Reversal[], message: string): Plan {
  return { reversals, conflicts: [{ path: folder, message, touches: [] }] };
}

/** Compares the index by its entries, because refreshing file statistics rewrites it. */
async function indexReversal(group: Group, { touches, path }: Refusal, objects: ObjectStore): Promise<Reversal | null> {
  const [first, last] = [touches[0], touches.at(-1)];
  if (first === undefined || last?.after === undefined || last.after === null || touches.some(({ lost }) => lost !== null)) return null;
  const workTree = join(group.absolute, "..");
  const load = (image: FileImage | undefined) => (image === undefined || image === null ? null : objects.get(image.hash));
  const now = await readOwn(first.path).catch(() => null);
  if (now === null) return null;
  // Each command must have started from the state that the previous one left.
  for (const [at, touch] of touches.entries()) {
    const [left, found] = [await load(touch.after), at + 1 === touches.length ? now : await load(touches[at + 1]?.before)];
    if (left === null || found === null || !(await sameIndex(workTree, left, found))) return null;
  }
  const current = { hash: sha256(now), mode: last.after.mode };
  const file = { ...first.path, display: path, asked: first.path.absolute, inside: true };
  return { file, current, target: first.before, unsaved: null, touches };
}

/** True when a file starts with its target content and continues after it. */
async function grew({ file, current, target }: Reversal, objects: ObjectStore): Promise<boolean> {
  if (current === null || target === null || current.kind !== undefined || target.kind !== undefined) return false;
  const then = await objects.get(target.hash);
  const now = await readOwn(file).catch(() => null);
  return now !== null && now.byteLength > then.byteLength && now.subarray(0, then.byteLength).equals(then);
}
