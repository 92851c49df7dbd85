import { type BigIntStats, lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, posix, relative, resolve, sep } from "node:path";
import type Dockerode from "dockerode";
import type { MaskedPaths } from "../secret-masks.ts";
import { unavailable } from "./engine-call.ts";

export interface MountDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  /** Paths relative to the workspace that commands may read but not write. Missing ones, and those behind a link, are skipped. */
  readonly protectedPaths: readonly string[];
  /** Absolute folders that commands must not see, even within the workspace. */
  readonly hidden: readonly string[];
  readonly masked: MaskedPaths;
  /** The file that is shown in place of a masked one. */
  readonly maskOf: (path: string) => string;
  /** Shown in place of each masked folder. */
  readonly maskFolder: string;
  readonly platform: NodeJS.Platform;
}

export interface MountPlan {
  readonly mounts: Dockerode.MountSettings[];
  /** Mounts in the form `SOURCE:TARGET:ro`, which Podman needs for names that its form of a mount cannot contain. */
  readonly binds: string[];
  /** Paths on this machine and inside the container, to verify the engine's mounts. */
  readonly bound: readonly { readonly source: string; readonly target: string }[];
  /** Paths inside the container that show something else of this machine. */
  readonly masks: readonly { readonly source: string; readonly target: string }[];
  /** None of the mounts is of this machine. */
  readonly isCopy?: boolean;
  /** One of the mounts is /tmp; otherwise it is in memory. */
  readonly hasTemporaryFolder: boolean;
  /** Changes when a mounted file is replaced, because the engine's mount then shows the old file or none. */
  readonly fingerprint: string;
}

const ownerSearch = 0o100n;

/** System folders of the image that a workspace mount must not replace. */
const systemFolders = ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/run"];

/** A file's path inside the container: the same path, except on Windows, where the drive becomes a folder. */
export function insidePath(path: string, platform: NodeJS.Platform): string {
  if (platform !== "win32") return path;
  return path.replace(/^([a-z]):/i, (_all, drive: string) => `/${drive.toLowerCase()}`).replaceAll("\\", "/");
}

/** @throws LancelotError `unavailable` when the workspace would replace folders of the image. */
export function assertMountable(workspace: string, platform: NodeJS.Platform): void {
  const inside = insidePath(workspace, platform);
  if (inside === "/" || systemFolders.some((folder) => folder === inside || folder.startsWith(`${inside}/`)))
    throw unavailable(
      `Commands cannot run in a container for the workspace ${workspace}, because it contains system folders. Open a project folder.`,
    );
}

/**
 * Plans the mounts: the workspace at its own path, and the repository of a linked worktree. Protected files get read-only mounts on top.
 * Every folder above one is mounted onto itself, because a command could otherwise rename the folder together with its mounts and create
 * a new one in its place.
 */
export function planMounts(deps: MountDeps): MountPlan {
  const plan = new Map<string, { kind: "pinned" | "readonly"; id: string }>();
  const protect = (root: string, path: string) => {
    const found = withoutLinks(root, path);
    if (found === null) return;
    for (const folder of found.above) if (!plan.has(folder.path)) plan.set(folder.path, { kind: "pinned", id: folder.id });
    plan.set(found.path, { kind: "readonly", id: found.id });
  };
  for (const path of deps.protectedPaths) protect(deps.workspace, path);
  protect(deps.workspace, attributesIn(join(deps.workspace, ".git")));
  const repository = linkedRepository(deps.workspace);
  if (repository !== null) {
    protect(deps.workspace, ".git");
    for (const path of ["hooks", "config", "config.worktree", "modules", attributesIn(repository)]) protect(repository, path);
  }
  const roots = [deps.workspace, ...(repository === null ? [] : [repository])];
  const bind = (source: string, readOnly: boolean): Dockerode.MountSettings => ({
    Type: "bind",
    Source: source,
    Target: insidePath(source, deps.platform),
    ReadOnly: readOnly,
    BindOptions: { Propagation: "rprivate" },
  });
  const closed = [...new Set([...deps.hidden, ...deps.masked.folders])].filter((path) => roots.some((root) => isBelow(root, path)));
  const isVisible = (path: string) => !closed.some((folder) => folder !== path && isBelow(folder, path));
  const masks = [
    ...closed.filter((path) => typeOf(path) === "folder").map((path) => ({ path, source: deps.maskFolder })),
    ...deps.masked.files.filter((path) => typeOf(path) === "file").map((path) => ({ path, source: deps.maskOf(path) })),
  ]
    .filter(({ path }) => isVisible(path))
    .map((mask) => ({ ...mask, target: insidePath(mask.path, deps.platform) }));
  const replaced = new Set(masks.map(({ path }) => path));
  const bound = [...plan].filter(([path]) => isVisible(path) && !replaced.has(path)).toSorted(([a], [b]) => a.length - b.length);
  const shown = mountMasks(masks);
  return {
    mounts: [
      ...roots.map((root) => bind(root, false)),
      ...bound.map(([path, { kind }]) => bind(path, kind === "readonly")),
      ...shown.mounts,
    ],
    binds: shown.binds,
    bound: [...roots, ...bound.map(([path]) => path)].map((source) => ({ source, target: insidePath(source, deps.platform) })),
    masks,
    hasTemporaryFolder: false,
    // A masked file that is replaced loses its mask, and one that changed has another, so the container must be started again.
    fingerprint: JSON.stringify([
      roots.map(identity),
      bound.map(([path, { kind, id }]) => [path, kind, id]),
      masks.map(({ path, source }) => [path, identity(path), source]),
    ]),
  };
}

/** Read-only mounts of the stand-ins of masked files and folders. */
export function mountMasks(masks: MountPlan["masks"]): Pick<MountPlan, "mounts" | "binds"> {
  const needsBind = ({ target }: { target: string }) => /[",\n\r]/.test(target) && !target.includes(":");
  return {
    mounts: masks
      .filter((mask) => !needsBind(mask))
      .map(({ source, target }) => ({
        ...{ Type: "bind" as const, Source: source, Target: target, ReadOnly: true },
        BindOptions: { Propagation: "rprivate" },
      })),
    binds: masks.filter(needsBind).map(({ source, target }) => `${source}:${target}:ro`),
  };
}

/** The attributes that name programs for files, or their folder while they are missing: nothing can be mounted over a missing file. */
function attributesIn(repository: string): string {
  const file = join(repository, "info/attributes");
  try {
    return lstatSync(file, { throwIfNoEntry: false }) === undefined ? dirname(file) : file;
  } catch {
    return file; // The folder above is hidden.
  }
}

/** Null for a link, which the engine would follow. Pipes and sockets count as files. */
function typeOf(path: string): "file" | "folder" | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isSymbolicLink()) return null;
  return stats.isDirectory() ? "folder" : "file";
}

/** True when `path` is `root` or lies in it. */
function isBelow(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

const identity = (path: string): string => identityOf(lstatSync(path, { bigint: true }));

/** File systems give the inode number of a deleted file to the next one, so the time of creation counts as well. */
const identityOf = ({ dev, ino, birthtimeNs }: BigIntStats): string => `${dev}:${ino}:${birthtimeNs}`;

/**
 * A file or folder below `root` that is reached without a link, and the folders between. The engine follows links of this machine, so
 * mounting a link could expose files outside the workspace. A folder whose permissions hide its content stands for everything in it.
 */
export function withoutLinks(root: string, path: string): { path: string; id: string; above: { path: string; id: string }[] } | null {
  const target = resolve(root, path);
  if (target === root || !isBelow(root, target)) return null;
  const parts = relative(root, target).split(sep);
  const above: { path: string; id: string }[] = [];
  let at = root;
  try {
    for (const [index, part] of parts.entries()) {
      at = join(at, part);
      const stats = lstatSync(at, { bigint: true });
      const isClosed = stats.isDirectory() && (stats.mode & ownerSearch) === 0n;
      const last = isClosed || index === parts.length - 1;
      if (!stats.isDirectory() && !(last && stats.isFile())) return null;
      const entry = { path: at, id: identityOf(stats) };
      if (last) return { ...entry, above };
      above.push(entry);
    }
  } catch {
    return null; // A missing or unreadable path cannot be mounted.
  }
  return null;
}

/**
 * The `.git` folder of a linked worktree. The worktree's `.git` file is untrusted repository content, so it counts only when that folder
 * names this worktree itself, as git sets it up.
 */
export function linkedRepository(workspace: string): string | null {
  try {
    const link = join(workspace, ".git");
    if (!lstatSync(link).isFile()) return null;
    const named = /^gitdir: (.+)$/m.exec(readFileSync(link, "utf8").slice(0, 4096))?.[1];
    if (named === undefined) return null;
    const worktree = realpathSync(resolve(workspace, named.trim()));
    const main = dirname(dirname(worktree));
    if (posix.basename(dirname(worktree).replaceAll(sep, "/")) !== "worktrees") return null;
    const back = readFileSync(join(worktree, "gitdir"), "utf8").trim();
    if (realpathSync(resolve(worktree, back)) !== realpathSync(link) || isBelow(workspace, main)) return null;
    // Git itself requires these three entries of a repository.
    for (const part of ["HEAD", "objects", "refs"]) lstatSync(join(main, part));
    return main;
  } catch {
    return null;
  }
}
