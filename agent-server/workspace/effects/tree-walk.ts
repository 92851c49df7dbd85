import { lstatSync, readdirSync, type Stats } from "node:fs";
import { sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { errno } from "../file-errors.ts";
import { temporaryName } from "../file-operations.ts";
import { copyHash, emptyFolder, type Entry, flag, flagsOf, type Folder, sameFacts, setFacts, setFlags } from "./file-tree.ts";

/** How long (ms) the event loop is held at most, and how many entries are looked at between two looks at the clock. */
const sliceMs = 8;
const sliceEntries = 64;
/** Changes this long (ms) before a look may be followed by one that leaves the same times: clocks of file systems tick this slowly. */
const tick = 100;
/** Of file systems that keep whole seconds only. */
const slowTick = 2_100;

export interface Walked {
  readonly root: Folder;
  /** Files and links whose hash is not known from before, in the order of the walk. */
  readonly fresh: Entry[];
  readonly entries: number;
  /** Folders that could not be read, or belong to another file system: what is in them is not known. */
  readonly closed: string[];
}

/** Gives the event loop a turn when it was held long enough. */
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
 * Looks at every file, link and folder below `root`, without following links and without leaving its file system; sockets, pipes and
 * devices are passed over. What `before` knows of an entry whose facts are the same is taken over; `settled`: such an entry is not
 * fresh, even if nothing is known of it.
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
  /** Gives way from time to time; in the middle of a folder too, since one may have a hundred thousand files. */
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
        // Not to be looked at, or gone.
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
  /** Where those lie whose names do not say it: in bytes. */
  readonly places: ReadonlyMap<string, Buffer> | null;
}

/** Names as they are on the disk; those that are no UTF-8 under a name no other can have. */
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

/** True when a later change might leave the same times. */
export function isRacy(facts: Pick<Stats, "ctimeMs">, now: number): boolean {
  return facts.ctimeMs > now - (facts.ctimeMs % 1000 === 0 ? slowTick : tick);
}

/** Bytes that are no UTF-8, for people. */
function oddName(bytes: Buffer): string {
  return Array.from(bytes.toString("latin1"), (char) =>
    char > "~" || char < " " ? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}` : char,
  ).join("");
}

function unreadable(cause: unknown): LancelotError {
  return new LancelotError("unavailable", "The workspace cannot be read, so what a command would change cannot be kept. Nothing was run.", {
    cause,
  });
}
