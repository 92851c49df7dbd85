import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { ChangedEntry, ChangeSet, ViewFiles } from "../../workspace/workspace.ts";
import type { CopiedPaths } from "./copied-paths.ts";
import { compareListings, type Listing, parentOf } from "./copy-listing.ts";
import { readTar, TarError } from "./tar-reader.ts";

/** What a command did in the copy. */
export interface CopyChanges {
  readonly removed: readonly string[];
  /** What may have changed and is taken out; folders before their content. */
  readonly taken: readonly string[];
  /** Created, changed and removed entries that git ignores. */
  readonly generated: readonly { readonly path: string; readonly change: "created" | "modified" | "deleted" }[];
  readonly secret: readonly string[];
  readonly special: readonly string[];
  readonly tooLarge: readonly string[];
}

export interface ChangeLimits {
  /** Bytes of one file, and of all. */
  readonly file: number;
  readonly total: number;
}

/** Sorts what differs after a command. @param wanted the entries of the view that the copy had */
export async function sortChanges({
  before,
  after,
  wanted,
  paths,
  limits,
}: {
  before: Listing;
  after: Listing;
  wanted: ViewFiles;
  paths: CopiedPaths;
  limits: ChangeLimits;
}): Promise<CopyChanges> {
  const { removed, touched } = compareListings(before, after);
  const taken: string[] = [];
  const generated: { path: string; change: "created" | "modified" | "deleted" }[] = [];
  const [secret, special, tooLarge] = [new Set<string>(), [] as string[], [] as string[]];
  const isChanged = (path: string): boolean => before.get(path)?.stamp !== after.get(path)?.stamp;
  const gone: string[] = [];
  for (const path of removed) {
    if (paths.isMasked(path)) secret.add(path);
    else if (wanted.has(path)) gone.push(path);
    else if (!after.has(path) && before.get(path)?.kind === "file") generated.push({ path, change: "deleted" });
  }
  const own = new Set(["", ...wanted.keys()]);
  let total = 0;
  for (const batch of batchesOf(touched)) {
    const here = new Set(batch);
    const judged = batch.filter((path) => !own.has(path) && (own.has(parentOf(path)) || here.has(parentOf(path))));
    const ignored = await paths.ignored(judged.map((path) => ({ path, isFolder: after.get(path)?.kind === "folder" })));
    for (const path of batch) {
      const entry = after.get(path);
      if (path === "" || entry === undefined) continue;
      if (paths.isMasked(path)) {
        if (isChanged(path) && entry.kind !== "folder") secret.add(path);
      } else if (!own.has(parentOf(path)) || ignored.has(path)) {
        if (isChanged(path) && entry.kind === "file") generated.push({ path, change: before.has(path) ? "modified" : "created" });
      } else if (entry.kind === "other") {
        if (isChanged(path)) special.push(path);
      } else if (entry.size > limits.file || total + entry.size > limits.total) tooLarge.push(path);
      else {
        own.add(path);
        total += entry.size;
        taken.push(path);
      }
    }
  }
  return { removed: gone, taken: taken.toSorted(byFolders), generated, secret: [...secret], special, tooLarge };
}

/** All files that the copy has otherwise than the view: ignored ones and those that are too large. */
export function keptFiles(
  inside: Listing,
  of: {
    readonly wanted: ViewFiles;
    readonly taken: readonly string[];
    readonly heldBack: ReadonlySet<string>;
    readonly paths: Pick<CopiedPaths, "isMasked">;
  },
): { path: string; change: "created" | "modified" }[] {
  const taken = new Set(of.taken);
  return [...inside].flatMap(([path, { kind }]): { path: string; change: "created" | "modified" }[] => {
    if (kind !== "file" || taken.has(path) || of.paths.isMasked(path)) return [];
    if (!of.wanted.has(path)) return [{ path, change: "created" }];
    return of.heldBack.has(path) ? [{ path, change: "modified" }] : [];
  });
}

/** Entries that are judged together: git is started for each batch. */
const judgedAtOnce = 2_000;

/** Paths in parts, folders before their content. */
function batchesOf(paths: readonly string[]): string[][] {
  const depthOf = new Map(paths.map((path) => [path, path.split("/").length]));
  const sorted = paths.toSorted((one, other) => (depthOf.get(one) ?? 0) - (depthOf.get(other) ?? 0));
  return Array.from({ length: Math.ceil(sorted.length / judgedAtOnce) }, (_, index) =>
    sorted.slice(index * judgedAtOnce, (index + 1) * judgedAtOnce),
  );
}

function byFolders(one: string, other: string): number {
  const [first, second] = [one.split("/"), other.split("/")];
  const at = first.findIndex((part, index) => part !== second[index]);
  if (at === -1) return first.length - second.length;
  return (first[at] ?? "") < (second[at] ?? "") ? -1 : 1;
}

/**
 * Receives the content of changed entries into a folder. Nothing is written anywhere else, so that a broken connection leaves the view as
 * it was.
 * @param folder absolute; created here, removed by the caller
 * @throws TarError for an archive that does not have exactly these entries
 */
export async function receiveChanges(
  { removed, taken }: Pick<CopyChanges, "removed" | "taken">,
  {
    before,
    after,
    folder,
    pack,
  }: { before: Listing; after: Listing; folder: string; pack: (paths: readonly string[]) => AsyncIterable<Uint8Array> },
): Promise<ChangeSet> {
  const asked = taken.filter((path) => after.get(path)?.kind !== "folder");
  const open = new Set(asked);
  const received = new Map<string, Pick<ChangedEntry, "mtime" | "content" | "target">>();
  mkdirSync(folder, { mode: 0o700 });
  for await (const item of asked.length === 0 ? [] : readTar(pack(asked))) {
    const path = item.path.slice(2);
    const entry = after.get(path);
    if (!item.path.startsWith("./") || entry === undefined || !open.delete(path))
      throw new TarError("The engine sent a file that was not asked for.");
    const place = join(folder, String(received.size));
    const isLink = entry.kind === "link";
    if (isLink && item.kind === "link") received.set(path, { mtime: item.mtime, content: "", target: item.target });
    else if (!isLink && item.kind === "hard link") {
      const first = received.get(item.target.slice(2));
      if (first === undefined || after.get(item.target.slice(2))?.size !== entry.size)
        throw new TarError("The engine sent a hard link to something else.");
      received.set(path, first);
    } else if (!isLink && item.kind === "file" && item.size === entry.size) {
      await store(place, item.content());
      received.set(path, { mtime: item.mtime, content: place, target: "" });
    } else throw new TarError("The engine sent an entry of another kind or size.");
  }
  if (open.size > 0) throw new TarError("The engine did not send every file.");
  const entries = taken.flatMap((path): ChangedEntry[] => {
    const entry = after.get(path);
    if (entry === undefined || entry.kind === "other") return [];
    const was = before.get(path);
    const isKept = was?.kind === entry.kind && was.mode === entry.mode;
    if (entry.kind === "folder" && isKept) return [];
    const mode = isKept ? null : entry.mode & (entry.kind === "folder" ? 0o3777 : 0o1777);
    return [{ mtime: 0, content: "", target: "", ...received.get(path), path, kind: entry.kind, mode }];
  });
  return { removed, entries };
}

async function store(place: string, content: AsyncIterable<Buffer>): Promise<void> {
  const file = openSync(place, "wx", 0o600);
  try {
    for await (const chunk of content) for (let done = 0; done < chunk.length; ) done += writeSync(file, chunk, done);
  } catch (error) {
    rmSync(place, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}
