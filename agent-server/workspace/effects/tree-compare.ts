import { type EntryKind, specialKind } from "../checkpoints/file-image.ts";
import { type Entry, factsOf, flag, flagsOf, type Folder, hashOf, sameFacts } from "./file-tree.ts";

/** State of a path at one moment. */
export interface EntryState {
  readonly kind: EntryKind;
  /** Permission bits. */
  readonly mode: number;
  readonly size: number;
  /** SHA-256 of the bytes, or of a link's target; null for folders and special files, and when it was not computed. */
  readonly hash: string | null;
  /** The content is in the object store, or there is none. */
  readonly kept: boolean;
}

export interface EntryChange {
  /** Relative to the workspace, with forward slashes and any bytes as text (`byte-path.ts`); empty for the workspace itself. */
  readonly path: string;
  readonly before: EntryState | null;
  readonly after: EntryState | null;
}

/** The differences between two scans of a tree. `closed`: folders that one of the scans could not read. */
export function compare(before: Folder, after: Folder, closed: ReadonlySet<string>): EntryChange[] {
  const changes: EntryChange[] = [];
  const add = (path: string, from: EntryState | null, to: EntryState | null): void => {
    changes.push({ path, before: from, after: to });
  };

  function folder(from: Folder | null, to: Folder | null): void {
    const { path } = (to ?? from) as Folder;
    if (closed.has(path)) return;
    const at = (name: string): string => (path === "" ? name : `${path}/${name}`);
    const [had, has] = [from?.names ?? [], to?.names ?? []];
    const swapped = new Set<string>();
    for (let i = 0, j = 0; i < had.length || j < has.length; ) {
      const [old, now] = [had[i], has[j]];
      if (old !== undefined && (now === undefined || old < now)) {
        const instead = to?.folders.get(old);
        if (instead !== undefined) swapped.add(old);
        if (from !== null) add(at(old), stood({ folder: from, at: i }), instead === undefined ? null : folderState(instead));
        i += 1;
      } else if (now !== undefined && (old === undefined || now < old)) {
        const instead = from?.folders.get(now);
        if (instead !== undefined) swapped.add(now);
        if (to !== null) add(at(now), instead === undefined ? null : folderState(instead), stood({ folder: to, at: j }));
        j += 1;
      } else {
        if (from !== null && to !== null && differ({ folder: from, at: i }, { folder: to, at: j }))
          add(at(old ?? ""), stood({ folder: from, at: i }), stood({ folder: to, at: j }));
        i += 1;
        j += 1;
      }
    }
    for (const name of new Set([...(from?.folders.keys() ?? []), ...(to?.folders.keys() ?? [])])) {
      const [old, now] = [from?.folders.get(name) ?? null, to?.folders.get(name) ?? null];
      const gone = old === null || now === null || old.mode !== now.mode;
      const child = at(name);
      if (gone && !swapped.has(name) && !(old !== null && now === null && closed.has(child)))
        add(child, old === null ? null : folderState(old), now === null ? null : folderState(now));
      folder(old, now);
    }
  }

  if (before.mode !== after.mode) add("", folderState(before), folderState(after));
  folder(before, after);
  return changes;
}

function differ(before: Entry, after: Entry): boolean {
  const [had, has] = [flagsOf(before), flagsOf(after)];
  const [old, facts] = [factsOf(before), factsOf(after)];
  const special = specialKind(facts.mode);
  if ((had & flag.link) !== (has & flag.link) || specialKind(old.mode) !== special) return true;
  if ((had & flag.link) === 0 && permissions(old.mode) !== permissions(facts.mode)) return true;
  if (special !== null) return false;
  if ((had & has & flag.known) !== 0) return hashOf(before) !== hashOf(after);
  return !sameFacts(before, facts);
}

function stood(entry: Entry): EntryState {
  const bits = flagsOf(entry);
  const { size, mode } = factsOf(entry);
  const special = specialKind(mode);
  if (special !== null) return { kind: special, mode: permissions(mode), size: 0, hash: null, kept: true };
  const hash = (bits & flag.known) === 0 ? null : hashOf(entry);
  return { kind: (bits & flag.link) === 0 ? "file" : "link", mode: permissions(mode), size, hash, kept: (bits & flag.kept) !== 0 };
}

function folderState({ mode }: Folder): EntryState {
  return { kind: "folder", mode, size: 0, hash: null, kept: true };
}

function permissions(mode: number): number {
  return mode & 0o7777;
}
