import { type BigIntStats, lstatSync, type Stats } from "node:fs";
import { posix, relative, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { Governance } from "../../governance/governance.ts";
import { diskPath, displayPath } from "../byte-path.ts";
import { createPace, isRacy } from "../effects/tree-walk.ts";
import { errno } from "../file-errors.ts";
import { isBelow } from "../git/git-repository.ts";
import { filesIn, type FolderEntry, readEntries, readInodes, type Rest, statOf, targetOf } from "./folder-entries.ts";

/** Secret files, relative to the workspace with forward slashes, sorted. */
export interface SecretPaths {
  readonly files: readonly string[];
  /** Hidden as a whole: folders that contain nothing but secrets, and folders whose content cannot be read or named. */
  readonly folders: readonly string[];
  /** Secret files that the query lets commands read, so they are in neither list. */
  readonly readable: readonly string[];
}

export interface SecretIndexDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  /**
   * True when `workspace` is the layer of a task, which has the files that its commands wrote. A folder that a command closed is left out
   * then, because no other command can read it either, and so is a secret file that no command line can name.
   */
  readonly isLayer?: boolean;
  readonly governance: Pick<Governance, "judgeName" | "resolvePath" | "isSecretFile">;
  /** Absolute folders that commands never see. */
  readonly hidden: readonly string[];
  /** Milliseconds, as file times. */
  readonly now: () => number;
}

export interface SecretQuery {
  /** Folders outside the workspace that commands see as well: the repository of a linked worktree. Absolute and resolved. */
  readonly others: readonly string[];
  /** True for a path, relative to the workspace, that the user lets commands read. */
  readonly isReadable: (path: string) => boolean;
}

export interface SecretIndex {
  /**
   * Finds every secret file by its name, its hard links, and what a link with a secret name leads to. A file that was found before stays
   * secret under any name: a command may rename a folder above it, or remove the link. Compares each known folder's change time and reads
   * only changed folders, so that it can run before each command.
   * @throws LancelotError `unavailable` when a whole top folder would have to be hidden.
   */
  find(query: SecretQuery): Promise<SecretPaths>;
}

const entriesPerCheck = 64;
const quiet = { throwIfNoEntry: false } as const;

interface SecretFile extends FolderEntry {
  /** Null when it does not exist any more. */
  stats: BigIntStats | null;
  /** Identifies the version that was judged; empty when a later change might leave the same times. */
  stamp: string;
  /** The verdict of a rule that depends on the content. */
  secret: boolean;
}

/** A secret file by its identity on disk. */
interface Inode {
  readonly inode: number;
  readonly links: number;
  /** Paths that make it secret. */
  readonly paths: Set<string>;
}

interface Folder extends FolderEntry {
  readonly above: Folder | null;
  /** The path rules make everything in it secret. */
  readonly whole: boolean;
  /** Null when it does not exist any more. */
  stats: Stats | null;
  /** A later change might leave the same times. */
  racy: boolean;
  readable: boolean;
  secrets: SecretFile[];
  /** Symbolic links with a secret name. */
  links: FolderEntry[];
  folders: Folder[];
  /** Inode numbers of all its files; null until another name of a secret file is looked for. */
  inodes: Float64Array | null;
}

export function createSecretIndex(deps: SecretIndexDeps): SecretIndex {
  const { workspace, governance, hidden, now, isLayer = false } = deps;
  const roots = new Map<string, Folder>();
  /** Secret files that were found before. */
  const remembered = new Map<string, Inode>();
  let queue: Promise<unknown> = Promise.resolve();

  function newFolder(entry: FolderEntry, above: Folder | null): Folder {
    const whole = above !== null && governance.judgeName(`${entry.path}/-`) === "secret";
    return { ...entry, above, whole, stats: null, racy: true, readable: true, secrets: [], links: [], folders: [], inodes: null };
  }

  function rootAt(place: string): Folder {
    const root = roots.get(place) ?? newFolder({ path: pathOf(place), place, kind: "folder", named: true }, null);
    roots.set(place, root);
    return root;
  }

  const pathOf = (place: string) => relative(workspace, place).split(sep).join("/");

  /** Reads the content where the rule depends on it. A name that the path policy refuses counts as secret. */
  function isSecret({ path, place }: FolderEntry): boolean {
    if (place.includes("\0")) return true;
    if (isLayer) return governance.isSecretFile(path, place);
    const resolved = governance.resolvePath(place);
    return !resolved.ok || resolved.sensitive === "secret";
  }

  function inspect(file: SecretFile): void {
    file.stats = statOf(file);
    if (file.stats === null) return;
    const { dev, ino, ctimeNs, ctimeMs, size } = file.stats;
    const stamp = `${dev}:${ino}:${ctimeNs}:${size}`;
    if (stamp === file.stamp) return;
    const racy = isRacy({ ctimeMs: Number(ctimeMs) }, now());
    file.secret = isSecret(file);
    file.stamp = racy ? "" : stamp;
  }

  /** Reads the names in a folder again, keeping the known facts about its folders and secret files. */
  async function read(folder: Folder, rest: Rest): Promise<void> {
    const found = readEntries(folder);
    const knownFolders = new Map(folder.folders.map((one) => [one.path, one]));
    const knownSecrets = new Map(folder.secrets.map((one) => [one.path, one]));
    forget(folder);
    for (const entry of found) {
      const turn = rest();
      if (turn !== undefined) await turn;
      if (entry.kind === "folder") {
        if (!hidden.some((one) => one === entry.place)) folder.folders.push(knownFolders.get(entry.path) ?? newFolder(entry, folder));
      } else if (governance.judgeName(entry.path) === "secret") {
        if (entry.kind === "link") folder.links.push(entry);
        else folder.secrets.push(knownSecrets.get(entry.path) ?? { ...entry, stats: null, stamp: "", secret: true });
      }
    }
  }

  /** Returns at once for an unchanged folder without secret files, since most are such. */
  function update(folder: Folder, rest: Rest): Promise<void> | undefined {
    let stats: Stats | undefined;
    try {
      stats = lstatSync(diskPath(folder.place), quiet);
    } catch (error) {
      // The folder above allows no access to its entries, so nothing in it can be mounted over.
      if (errno(error) !== "ENOTDIR") close(folder.above ?? folder);
    }
    if (stats?.isDirectory() !== true) {
      forget(folder);
      folder.stats = null;
      return undefined;
    }
    const known = folder.stats;
    const isSame = !folder.racy && known?.ctimeMs === stats.ctimeMs && known.ino === stats.ino && known.dev === stats.dev;
    return isSame && folder.secrets.length === 0 ? undefined : look(folder, isSame ? null : stats, rest);
  }

  /** @param changed the folder's new facts; null when its names are the known ones */
  async function look(folder: Folder, changed: Stats | null, rest: Rest): Promise<void> {
    try {
      if (changed !== null) {
        folder.racy = isRacy(changed, now());
        folder.stats = changed;
        folder.readable = true;
        await read(folder, rest);
      }
      for (const file of folder.secrets) {
        const turn = rest();
        if (turn !== undefined) await turn;
        inspect(file);
      }
    } catch (error) {
      if (errno(error) === "ENOENT") folder.stats = null;
      close(folder);
    }
  }

  async function find(query: SecretQuery): Promise<SecretPaths> {
    const pace = createPace();
    let seen = 0;
    const rest = () => ((seen += 1) % entriesPerCheck === 0 ? pace() : undefined);
    const places = [workspace, ...query.others];
    for (const place of roots.keys()) if (!places.includes(place)) roots.delete(place);
    const tops = places.map(rootAt);
    const pending = [...tops];
    for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
      const turn = rest();
      if (turn !== undefined) await turn;
      const updating = update(folder, rest);
      if (updating !== undefined) await updating;
      for (const child of folder.folders) pending.push(child);
    }
    return collect(tops, query.isReadable, rest);
  }

  async function collect(tops: readonly Folder[], isReadable: SecretQuery["isReadable"], rest: Rest): Promise<SecretPaths> {
    const files = new Set<string>();
    const folders = new Set<string>();
    const readableFiles = new Set<string>();
    const found = new Map<string, Inode>();
    const targets: { readonly path: string; readonly stats: BigIntStats }[] = [];
    const shown: Folder[] = [];
    const hide = (folder: Folder): void => {
      let at = folder;
      while (!at.named && at.above !== null) at = at.above;
      if (at.above === null) {
        if (isLayer) return;
        throw tooWide(folder, at);
      }
      folders.add(at.path);
    };
    const mask = (file: FolderEntry, folder: Folder): unknown => (file.named ? files.add(file.path) : hide(folder));
    const note = (stats: BigIntStats, path: string): void => {
      const known = found.get(keyOf(stats)) ?? { inode: Number(stats.ino), links: Number(stats.nlink), paths: new Set() };
      known.paths.add(path);
      found.set(keyOf(stats), known);
    };
    const hasReadable = (folder: Folder): boolean =>
      isReadable(`${folder.path}/-`) || folder.secrets.some(({ path }) => isReadable(path)) || folder.folders.some(hasReadable);
    const visit = (folder: Folder, isHidden: boolean): void => {
      // A top folder that is gone cannot be judged.
      if (folder.stats === null && folder.above !== null) return;
      if (folder.stats === null || !folder.readable) return isLayer ? undefined : hide(folder);
      const whole = isHidden || (folder.whole && !hasReadable(folder));
      if (!whole) shown.push(folder);
      else if (!isHidden) hide(folder);
      for (const file of folder.secrets) {
        if (file.stats === null) continue;
        const key = keyOf(file.stats);
        if (file.secret && !isReadable(file.path)) {
          note(file.stats, file.path);
          if (!whole) mask(file, folder);
        } else if (isReadable(file.path) || remembered.get(key)?.paths.has(file.path) === true) {
          // At this path it was secret before, so its content has changed.
          remembered.delete(key);
        }
        if (file.secret && file.named && isReadable(file.path)) readableFiles.add(file.path);
      }
      for (const link of folder.links) maskTarget(link);
      for (const child of folder.folders) visit(child, whole);
    };
    const maskTarget = (link: FolderEntry): void => {
      const target = targetOf(link);
      if (target === null) return;
      const outside = !tops.some(({ place }) => isBelow(place, target.place));
      const seen = outside || hidden.some((folder) => isBelow(folder, target.place));
      // A link to a folder above itself shows nothing that is not judged anyway.
      if (seen || isBelow(target.place, link.place) || !isSecret(link)) return;
      const path = pathOf(target.place);
      const isFolder = target.stats.isDirectory();
      if (isReadable(link.path) || isReadable(path)) {
        if (!isFolder) readableFiles.add(path);
      } else if (path.includes("\0")) hideFolderOf(target.place);
      else if (isFolder) folders.add(path);
      else targets.push({ path, stats: target.stats });
    };
    const hideFolderOf = (place: string): void => {
      const inside = (all: readonly Folder[]): Folder | undefined => {
        const folder = all.find((one) => isBelow(one.place, place));
        return folder === undefined ? undefined : (inside(folder.folders) ?? folder);
      };
      const folder = inside(tops);
      if (folder !== undefined) hide(folder);
    };
    for (const top of tops) visit(top, false);
    for (const { path, stats } of targets) {
      note(stats, path);
      files.add(path);
    }

    const gone = new Map([...remembered].filter(([key]) => !found.has(key)));
    // Names of hard links may also be outside the workspace.
    const linked = [...found.values()].filter(({ links, paths }) => links > paths.size);
    const sought = new Set([...gone.values(), ...linked].map(({ inode }) => inode));
    for (const folder of sought.size === 0 ? [] : shown) {
      const turn = rest();
      if (turn !== undefined) await turn;
      try {
        folder.inodes ??= await readInodes(folder, rest);
        if (!folder.inodes.some((inode) => sought.has(inode))) continue;
        for (const [entry, stats] of filesIn(folder)) {
          if (stats === null || (!found.has(keyOf(stats)) && !remembered.has(keyOf(stats)))) continue;
          gone.delete(keyOf(stats));
          if (!isReadable(entry.path)) mask(entry, folder);
        }
      } catch (error) {
        if (errno(error) === null) throw error;
        if (errno(error) !== "ENOENT" && !isLayer) hide(folder);
      }
    }
    for (const key of gone.keys()) remembered.delete(key);
    for (const [key, one] of found) remembered.set(key, one);
    const shownStill = (path: string): boolean => {
      for (let at = posix.dirname(path); at !== "." && at !== ".."; at = posix.dirname(at)) if (folders.has(at)) return false;
      return true;
    };
    return {
      files: [...files].filter(shownStill).sort(),
      folders: [...folders].filter(shownStill).sort(),
      readable: [...readableFiles].sort(),
    };
  }

  return {
    find(query) {
      // One after another, because they share the index. Each starts after its call.
      const own = queue.then(() => find(query));
      queue = own.catch(() => {});
      return own;
    },
  };
}

function forget(folder: Folder): void {
  Object.assign(folder, { secrets: [], links: [], folders: [], inodes: null });
}

/** Marks a folder that cannot be read. The next call tries again. */
function close(folder: Folder): void {
  forget(folder);
  Object.assign(folder, { readable: false, racy: true });
}

/** With the time of creation, because file systems give the inode number of a deleted file to the next one. */
const keyOf = ({ dev, ino, birthtimeNs }: BigIntStats) => `${dev}:${ino}:${birthtimeNs}`;

function tooWide(folder: Folder, top: Folder): LancelotError {
  const where = folder === top ? "In the top folder of the workspace" : `In ${folder.path}`;
  return new LancelotError(
    "unavailable",
    folder.readable && folder.stats !== null
      ? `${where}, a secret file has a name that is not UTF-8 or too long, so it cannot be hidden from commands. Rename it.`
      : `The folder ${displayPath(folder.place)} cannot be read, so its secret files cannot be hidden from commands. Check its permissions.`,
  );
}
