import { lstatSync, readdirSync, type Stats } from "node:fs";
import { sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { diskPath, fromBytes } from "../byte-path.ts";
import { specialKind } from "../checkpoints/file-image.ts";
import { errno } from "../file-errors.ts";
import { temporaryName } from "../file-operations.ts";
import { folderMode, holdFolder, releaseFolders } from "../folder-access.ts";
import { copyHash, emptyFolder, type Entry, flag, flagsOf, type Folder, sameFacts, setFacts, setFlags } from "./file-tree.ts";

/** Maximum time (ms) the event loop is blocked, and the number of entries between two checks of the clock. */
const sliceMs = 8;
const sliceEntries = 64;
/** File system clocks advance this slowly (ms): a change this shortly before a scan may be followed by one with the same timestamps. */
const tick = 100;
/** The same for file systems that store whole seconds only. */
const slowTick = 2_100;

export interface Walked {
  readonly root: Folder;
  /** Files and links whose hash is not known from an earlier scan, in the order of the walk. */
  readonly fresh: Entry[];
  readonly entries: number;
  /** Folders that could not be read, are too deep, or belong to another file system; their content is unknown. */
  readonly closed: string[];
  /** Restores the permissions of folders that this user had to open; call it when the contents were read. */
  release(): void;
}

/** Yields to the event loop when it was blocked for long enough. */
export function createPace(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < sliceMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now();
        resolve();
      });
    });
  };
}

/**
 * Scans every entry below `root`, without following links or leaving its file system. Reuses the data in `before` for entries with
 * unchanged facts. With `settled`, such an entry is not listed in `fresh`, even when its hash is unknown. Folders that refuse their owner
 * access stay open until `release`.
 * @throws LancelotError `cancelled`, `unavailable` when the root cannot be read.
 */
export async function walk(
  root: string,
  before: Folder | null,
  { signal, skip, settled = false }: { signal?: AbortSignal | undefined; skip?: string; settled?: boolean },
): Promise<Walked> {
  const pace = createPace();
  const fresh: Entry[] = [];
  const closed: string[] = [];
  const held: string[] = [];
  const release = (): void => releaseFolders(held.splice(0));
  let entries = 0;

  let looked = 0;
  /** Yields regularly, even within a folder, since one may contain a hundred thousand files. */
  function rest(): Promise<void> | undefined {
    looked += 1;
    if (looked % sliceEntries !== 0) return undefined;
    if (signal?.aborted === true) throw new LancelotError("cancelled", "Stopped before anything was done.");
    return pace();
  }

  async function visit(at: string, path: string, stats: Stats, known: Folder | null, device: number): Promise<Folder | null> {
    let all: string[];
    try {
      if (holdFolder(at, stats)) held.push(at);
      all = namesIn(at);
    } catch (error) {
      if (path === "") throw unreadable(error);
      if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR") return null;
      closed.push(path);
      return emptyFolder(path, folderMode(at, stats), []);
    }
    const now = Date.now();
    const names: string[] = [];
    const found: Stats[] = [];
    const below: { name: string; place: string; stats: Stats }[] = [];
    for (const name of all) {
      const turn = rest();
      if (turn !== undefined) await turn;
      const place = at + sep + name;
      let entry: Stats | undefined;
      try {
        entry = lstatSync(diskPath(place), { throwIfNoEntry: false });
      } catch (error) {
        // The entry was deleted, cannot be read, or is deeper than the system accepts a path.
        if (errno(error) === "ENAMETOOLONG" && closed.at(-1) !== path) closed.push(path);
        continue;
      }
      if (entry === undefined) continue;
      if (entry.isFile()) {
        if (temporaryName.test(name)) continue;
      } else if (entry.isDirectory()) {
        if (place !== skip) below.push({ name, place, stats: entry });
        continue;
      }
      names.push(name);
      found.push(entry);
    }
    entries += found.length;
    const folder = emptyFolder(path, folderMode(at, stats), names);
    const knownNames = known?.names ?? [];
    let other = 0;
    for (const [index, facts] of found.entries()) {
      const name = names[index] ?? "";
      const entry = { folder, at: index };
      setFacts(entry, facts);
      if (specialKind(facts.mode) !== null) continue;
      const bits = (facts.isSymbolicLink() ? flag.link : 0) | (isRacy(facts, now) ? flag.racy : 0);
      while (other < knownNames.length && (knownNames[other] ?? "") < name) other += 1;
      const earlier = known !== null && knownNames[other] === name ? { folder: known, at: other } : null;
      const had = earlier === null ? 0 : flagsOf(earlier);
      const same = earlier !== null && (had & flag.racy) === 0 && sameFacts(earlier, facts);
      if (earlier !== null && same && ((had & flag.known) !== 0 || settled)) {
        copyHash(earlier, entry);
        setFlags(entry, bits | (had & (flag.known | flag.kept)));
      } else {
        setFlags(entry, bits);
        fresh.push(entry);
      }
    }
    for (const { name, place, stats: facts } of below) {
      const inner = path === "" ? name : `${path}/${name}`;
      if (facts.dev !== device) {
        closed.push(inner);
        continue;
      }
      const child = await visit(place, inner, facts, known?.folders.get(name) ?? null, device);
      if (child !== null) folder.folders.set(name, child);
    }
    return folder;
  }

  let stats: Stats;
  try {
    stats = lstatSync(root);
  } catch (error) {
    throw unreadable(error);
  }
  try {
    const tree = await visit(root, "", stats, before, stats.dev);
    if (tree === null) throw unreadable(null);
    return { root: tree, fresh, entries, closed, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Names as stored on the disk, sorted by code unit. */
function namesIn(at: string): string[] {
  const names = readdirSync(diskPath(at), { encoding: "utf8" });
  const isText = !names.some((name) => name.includes("\ufffd"));
  return (isText ? names : readdirSync(diskPath(at), { encoding: "buffer" }).map(fromBytes)).sort();
}

/** True when a later change might leave the same timestamps. */
export function isRacy(facts: Pick<Stats, "ctimeMs">, now: number): boolean {
  return facts.ctimeMs > now - (facts.ctimeMs % 1000 === 0 ? slowTick : tick);
}

function unreadable(cause: unknown): LancelotError {
  return new LancelotError(
    "unavailable",
    "The workspace cannot be read, so the changes of a command could not be undone. Nothing was run.",
    {
      cause,
    },
  );
}
