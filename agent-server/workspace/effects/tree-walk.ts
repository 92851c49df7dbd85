import { lstatSync, readdirSync, type Stats } from "node:fs";
import { sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { errno } from "../file-errors.ts";
import { temporaryName } from "../file-operations.ts";
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
  /** Folders that could not be read or belong to another file system; their content is unknown. */
  readonly closed: string[];
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
 * Scans every file, link and folder below `root`, without following links or leaving its file system. Skips sockets, pipes and
 * devices. Reuses the data in `before` for entries with unchanged facts. With `settled`, such an entry is not listed in `fresh`,
 * even when its hash is unknown.
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
  let entries = 0;

  let looked = 0;
  /** Yields regularly, even within a folder, since one may contain a hundred thousand files. */
  function rest(): Promise<void> | undefined {
    looked += 1;
    if (looked % sliceEntries !== 0) return undefined;
    if (signal?.aborted === true) throw new LancelotError("cancelled", "Stopped before anything was done.");
    return pace();
  }

  async function visit(at: string | Buffer, path: string, stats: Stats, known: Folder | null, device: number): Promise<Folder | null> {
    let named: Named;
    try {
      named = namesIn(at);
    } catch (error) {
      if (path === "") throw unreadable(error);
      if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR") return null;
      closed.push(path);
      return emptyFolder(path, stats.mode & 0o7777, false, []);
    }
    const now = Date.now();
    const names: string[] = [];
    const found: Stats[] = [];
    const below: { name: string; place: string | Buffer; stats: Stats }[] = [];
    for (const name of named.names) {
      const turn = rest();
      if (turn !== undefined) await turn;
      const place = named.places?.get(name) ?? (typeof at === "string" ? at + sep + name : at);
      let entry: Stats | undefined;
      try {
        entry = lstatSync(place, { throwIfNoEntry: false });
      } catch {
        // The entry was deleted, or cannot be read.
        continue;
      }
      if (entry === undefined) continue;
      if (entry.isFile()) {
        if (temporaryName.test(name)) continue;
      } else if (entry.isDirectory()) {
        if (place !== skip) below.push({ name, place, stats: entry });
        continue;
      } else if (!entry.isSymbolicLink()) continue;
      names.push(name);
      found.push(entry);
    }
    entries += found.length;
    const odd = typeof at !== "string";
    const folder = emptyFolder(path, stats.mode & 0o7777, odd, names);
    const knownNames = known?.names ?? [];
    let other = 0;
    for (const [index, facts] of found.entries()) {
      const name = names[index] ?? "";
      const entry = { folder, at: index };
      setFacts(entry, facts);
      const bits =
        (facts.isSymbolicLink() ? flag.link : 0) | (odd || name.startsWith("\0") ? flag.odd : 0) | (isRacy(facts, now) ? flag.racy : 0);
      while (other < knownNames.length && (knownNames[other] ?? "") < name) other += 1;
      const earlier = known !== null && knownNames[other] === name ? { folder: known, at: other } : null;
      const had = earlier === null ? 0 : flagsOf(earlier);
      const same = earlier !== null && (had & flag.racy) === 0 && sameFacts(earlier, facts);
      if (earlier !== null && same && ((had & flag.known) !== 0 || settled)) {
        copyHash(earlier, entry);
        setFlags(entry, bits | (had & (flag.known | flag.kept)));
      } else {
        setFlags(entry, bits);
        if ((bits & flag.odd) === 0) fresh.push(entry);
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
  const tree = await visit(root, "", stats, before, stats.dev);
  if (tree === null) throw unreadable(null);
  return { root: tree, fresh, entries, closed };
}

interface Named {
  /** Sorted by code unit. */
  readonly names: readonly string[];
  /** Raw names in bytes of the entries whose names are not valid UTF-8. */
  readonly places: ReadonlyMap<string, Buffer> | null;
}

/** Names as stored on the disk. Those that are not valid UTF-8 get a unique escaped name. */
function namesIn(at: string | Buffer): Named {
  if (typeof at === "string") {
    const names = readdirSync(at);
    if (!names.some((name) => name.includes("\ufffd"))) return { names: names.sort(), places: null };
  }
  const places = new Map<string, Buffer>();
  const names = readdirSync(at, { encoding: "buffer" }).map((bytes) => {
    const name = bytes.toString();
    if (typeof at === "string" && Buffer.from(name).equals(bytes)) return name;
    const odd = `\0${oddName(bytes)}`;
    places.set(odd, Buffer.concat([typeof at === "string" ? Buffer.from(at) : at, Buffer.from(sep), bytes]));
    return odd;
  });
  return { names: names.sort(), places };
}

/** True when a later change might leave the same timestamps. */
export function isRacy(facts: Pick<Stats, "ctimeMs">, now: number): boolean {
  return facts.ctimeMs > now - (facts.ctimeMs % 1000 === 0 ? slowTick : tick);
}

/** Readable form of a name that is not valid UTF-8. */
function oddName(bytes: Buffer): string {
  return Array.from(bytes.toString("latin1"), (char) =>
    char > "~" || char < " " ? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}` : char,
  ).join("");
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
