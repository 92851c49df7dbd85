import { type Entry, factsOf, flag, flagsOf, type Folder, hashOf, sameFacts } from "./file-tree.ts";

/** State of a path at one moment. */
export interface EntryState {
  readonly kind: "file" | "link" | "folder";
  /** Permission bits. */
  readonly mode: number;
  readonly size: number;
  /** SHA-256 of the bytes, or of a link's target; null for a folder, and when it was not computed. */
  readonly hash: string | null;
  /** The content is in the object store. */
  readonly kept: boolean;
}

export interface EntryChange {
  /** Relative to the workspace, with forward slashes. */
  readonly path: string;
  /** The name is not valid UTF-8, so the change is reported but cannot be undone. */
  readonly odd: boolean;
  readonly before: EntryState | null;
  readonly after: EntryState | null;
}

/** The differences between two scans of a tree. `closed`: folders that one of the scans could not read. */
export function compare(before: Folder, after: Folder, closed: ReadonlySet<string>): EntryChange[] {
  const changes: EntryChange[] = [];
  const add = (path: string, odd: boolean, from: EntryState | null, to: EntryState | null): void => {
    changes.push({ path, odd, before: from, after: to });
  };

  function folder(from: Folder | null, to: Folder | null): void {
    const { path, odd } = (to ?? from) as Folder;
    if (closed.has(path)) return;
    const at = (name: string): string => (path === "" ? name : `${path}/${name}`);
    const [had, has] = [from?.names ?? [], to?.names ?? []];
    const swapped = new Set<string>();
    for (let i = 0, j = 0; i < had.length || j < has.length; ) {
      const [old, now] = [had[i], has[j]];
      if (old !== undefined && (now === undefined || old < now)) {
        const instead = to?.folders.get(old);
        if (instead !== undefined) swapped.add(old);
        if (from !== null)
          add(at(old), isOdd(from, i), stood({ folder: from, at: i }), instead === undefined ? null : folderState(instead));
        i += 1;
      } else if (now !== undefined && (old === undefined || now < old)) {
        const instead = from?.folders.get(now);
        if (instead !== undefined) swapped.add(now);
        if (to !== null) add(at(now), isOdd(to, j), instead === undefined ? null : folderState(instead), stood({ folder: to, at: j }));
        j += 1;
      } else {
        if (from !== null && to !== null && differ({ folder: from, at: i }, { folder: to, at: j }))
          add(at(old ?? ""), isOdd(to, j), stood({ folder: from, at: i }), stood({ folder: to, at: j }));
        i += 1;
        j += 1;
      }
    }
    for (const name of new Set([...(from?.folders.keys() ?? []), ...(to?.folders.keys() ?? [])])) {
      const [old, now] = [from?.folders.get(name) ?? null, to?.folders.get(name) ?? null];
      const gone = old === null || now === null || old.mode !== now.mode;
      const child = at(name);
      if (gone && !swapped.has(name) && !(old !== null && now === null && closed.has(child)))
        add(child, odd || name.startsWith("\0"), old === null ? null : folderState(old), now === null ? null : folderState(now));
      folder(old, now);
    }
  }

  folder(before, after);
  return changes;
}

function differ(before: Entry, after: Entry): boolean {
  const [had, has] = [flagsOf(before), flagsOf(after)];
  if ((had & flag.link) !== (has & flag.link)) return true;
  const facts = factsOf(after);
  if ((had & flag.link) === 0 && permissions(factsOf(before).mode) !== permissions(facts.mode)) return true;
  if ((had & has & flag.known) !== 0) return hashOf(before) !== hashOf(after);
  return !sameFacts(before, facts);
}

function stood(entry: Entry): EntryState {
  const bits = flagsOf(entry);
  const { size, mode } = factsOf(entry);
  const hash = (bits & flag.known) === 0 ? null : hashOf(entry);
  return { kind: (bits & flag.link) === 0 ? "file" : "link", mode: permissions(mode), size, hash, kept: (bits & flag.kept) !== 0 };
}

function folderState({ mode }: Folder): EntryState {
  return { kind: "folder", mode, size: 0, hash: null, kept: true };
}

function isOdd(folder: Folder, at: number): boolean {
  return (flagsOf({ folder, at }) & flag.odd) !== 0;
}

function permissions(mode: number): number {
  return mode & 0o7777;
}
