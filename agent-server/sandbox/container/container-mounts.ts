import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, posix, relative, resolve, sep } from "node:path";
import type Dockerode from "dockerode";
import { unavailable } from "./engine-call.ts";

export interface MountDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  /** Relative to the workspace: what commands may read but not write. Those that are not there, or lead over a link, are left out. */
  readonly protectedPaths: readonly string[];
  /** Absolute: folders that may not be seen even where they lie in the workspace. */
  readonly hidden: readonly string[];
  readonly platform: NodeJS.Platform;
}

export interface MountPlan {
  readonly mounts: Dockerode.MountSettings[];
  /** Paths on this machine and inside, for the check that the engine mounted what was meant. */
  readonly bound: readonly { readonly source: string; readonly target: string }[];
  /** Changes when a file under a mount is another file: then the engine's mount shows the old one, or none. */
  readonly fingerprint: string;
}

/** Folders whose place in the image a workspace may not take. */
const systemFolders = ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/run"];

/** The path of a file of this machine inside the container: the same one, but for Windows, where a drive becomes a folder. */
export function insidePath(path: string, platform: NodeJS.Platform): string {
  if (platform !== "win32") return path;
  return path.replace(/^([a-z]):/i, (_all, drive: string) => `/${drive.toLowerCase()}`).replaceAll("\\", "/");
}

/**
 * What of this machine is mounted: the workspace, at its own path, and for a linked worktree the repository it belongs to. Over it lie
 * read-only mounts of protected files. Every folder above one is mounted onto itself, because a folder that is no mount itself could be
 * renamed together with the mounts in it, and a new one put in its place.
 * @throws LancelotError `unavailable` when the workspace is a folder that cannot be mounted.
 */
export function planMounts(deps: MountDeps): MountPlan {
  const inside = insidePath(deps.workspace, deps.platform);
  if (inside === "/" || systemFolders.some((folder) => folder === inside || folder.startsWith(`${inside}/`)))
    throw unavailable(
      `Commands cannot be run in a container for the workspace ${deps.workspace}: it holds folders of the system. Open a folder of a project.`,
    );
  const plan = new Map<string, { kind: "pinned" | "readonly"; id: string }>();
  const protect = (root: string, path: string) => {
    const found = withoutLinks(root, path);
    if (found === null) return;
    for (const folder of found.above) if (!plan.has(folder.path)) plan.set(folder.path, { kind: "pinned", id: folder.id });
    plan.set(found.path, { kind: "readonly", id: found.id });
  };
  for (const path of deps.protectedPaths) protect(deps.workspace, path);
  const repository = mainRepository(deps.workspace);
  if (repository !== null) {
    protect(deps.workspace, ".git");
    for (const path of ["hooks", "config"]) protect(repository, path);
  }
  const roots = [deps.workspace, ...(repository === null ? [] : [repository])];
  const bind = (source: string, readOnly: boolean): Dockerode.MountSettings => ({
    Type: "bind",
    Source: source,
    Target: insidePath(source, deps.platform),
    ReadOnly: readOnly,
    BindOptions: { Propagation: "rprivate" },
  });
  const bound = [...plan].toSorted(([a], [b]) => a.length - b.length);
  const hidden = deps.hidden.filter((folder) => roots.some((root) => isBelow(root, folder)));
  return {
    mounts: [
      ...roots.map((root) => bind(root, false)),
      ...bound.map(([path, { kind }]) => bind(path, kind === "readonly")),
      ...hidden.map((folder) => ({
        Type: "tmpfs" as const,
        Source: "",
        Target: insidePath(folder, deps.platform),
        ReadOnly: true,
        TmpfsOptions: { SizeBytes: 4096, Mode: 0 },
      })),
    ],
    bound: [...roots, ...bound.map(([path]) => path)].map((source) => ({ source, target: insidePath(source, deps.platform) })),
    fingerprint: JSON.stringify([roots.map(identity), bound.map(([path, { kind, id }]) => [path, kind, id]), hidden]),
  };
}

/** True when `path` is `root` or lies in it. */
function isBelow(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function identity(path: string): string {
  const stats = lstatSync(path, { bigint: true });
  return `${stats.dev}:${stats.ino}`;
}

/**
 * A file or folder below `root` that is reached without a link, and the folders between. The engine follows links of this machine, so a
 * link would have it mount what lies outside the workspace.
 */
function withoutLinks(root: string, path: string): { path: string; id: string; above: { path: string; id: string }[] } | null {
  const target = resolve(root, path);
  if (target === root || !isBelow(root, target)) return null;
  const parts = relative(root, target).split(sep);
  const above: { path: string; id: string }[] = [];
  let at = root;
  try {
    for (const [index, part] of parts.entries()) {
      at = join(at, part);
      const stats = lstatSync(at, { bigint: true });
      const last = index === parts.length - 1;
      if (!stats.isDirectory() && !(last && stats.isFile())) return null;
      const entry = { path: at, id: `${stats.dev}:${stats.ino}` };
      if (last) return { ...entry, above };
      above.push(entry);
    }
  } catch {
    return null; // it is not there, or cannot be looked at: nothing can be mounted
  }
  return null;
}

/**
 * The `.git` folder that a linked worktree belongs to. What the worktree's `.git` file says is text of the repository, so it counts only
 * when that folder names this worktree itself, as git leaves it.
 */
function mainRepository(workspace: string): string | null {
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
    // What looks like a repository: git itself asks for these three.
    for (const part of ["HEAD", "objects", "refs"]) lstatSync(join(main, part));
    return main;
  } catch {
    return null;
  }
}
