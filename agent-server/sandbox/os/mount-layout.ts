import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { findRepository, isBelow, type OverlayView } from "../../workspace/workspace.ts";
import { pathOf } from "../command-environment.ts";
import type { MaskedPaths } from "../secret-masks.ts";
import { egressSocketInside } from "./inner-script.ts";
import type { SystemFiles } from "./system-files.ts";

/** A path of the disk that is visible inside: its content, an empty folder (`hide`), or an unreadable file (`mask`). */
export interface Mount {
  readonly kind: "write" | "read" | "hide" | "mask";
  readonly path: string;
}

/** Parts of a repository that name programs or lead to such parts, and that the user's git would later run outside the sandbox. */
const repositoryProtected = ["hooks", "config", "config.worktree", "info/attributes", "commondir", "modules"] as const;

const systemFolders = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
const ownerSearch = 0o100;
/** Program folders outside the system's; visible when the user's PATH contains them. */
const programRoots = ["/opt", "/nix/store", "/gnu/store", "/snap"];

/** Folders outside the workspace that commands may write: the repository of a linked worktree. @throws LancelotError `denied` */
export function repositoryOutside(workspace: string): string[] {
  const repository = isClosed(join(workspace, ".git")) ? null : findRepository(workspace);
  return repository === null || isBelow(workspace, repository.commonDir) ? [] : [repository.commonDir];
}

/**
 * Plans which parts of the workspace are writable and which are read-only. Folders above a protected path are mounted onto themselves,
 * because a mount cannot be renamed or removed; so no command can move a protected file away with its folder. A masked file needs no
 * such mounts: its mask moves with the folder.
 * @param protectedPaths absolute, or relative to the workspace. Links are skipped: their target is not visible inside, or protected
 * itself.
 */
export function workspaceMounts(
  workspace: string,
  dataDir: string,
  protectedPaths: readonly string[],
  masked: MaskedPaths,
): { mounts: Mount[]; missing: string[] } {
  if (isClosed(workspace))
    throw new LancelotError(
      "unavailable",
      "The permissions of the workspace folder hide its files. Undo the last command, or make the folder accessible, and try again.",
    );
  const git = join(workspace, ".git");
  const isHidden = isClosed(git);
  const repository = isHidden ? null : findRepository(workspace);
  const writable = [workspace, ...repositoryOutside(workspace)];
  const wanted = [
    ...protectedPaths.map((path) => (path.startsWith("/") ? path : join(workspace, path))),
    ...(isHidden ? [git] : []),
    ...(repository === null ? [] : repositoryProtected.map((name) => join(repository.commonDir, name))),
    ...(repository === null || repository.gitDir === repository.commonDir ? [] : [join(repository.gitDir, "config.worktree")]),
  ];
  const kinds = new Map<string, Mount["kind"]>(writable.map((path) => [path, "write"]));
  const missing: string[] = [];
  for (const path of new Set(wanted)) {
    const top = writable.find((folder) => isBelow(folder, path) && folder !== path);
    if (top === undefined) continue;
    let at = top;
    const steps = relative(top, path).split(sep);
    for (const [index, step] of steps.entries()) {
      at = join(at, step);
      const stats = lstatSync(at, { throwIfNoEntry: false });
      if (stats?.isSymbolicLink() === true) break;
      if (stats === undefined) {
        // A submodule that does not exist yet has nothing to protect.
        if (step === "modules" && repository !== null && dirname(at) === repository.commonDir) break;
        missing.push(at);
        kinds.set(at, "read");
        break;
      }
      const last = index === steps.length - 1;
      if (last || !stats.isDirectory() || isClosed(at)) {
        kinds.set(at, "read");
        break;
      }
      if (!kinds.has(at)) kinds.set(at, "write");
    }
  }
  for (const path of [...masked.folders, ...(isBelow(workspace, dataDir) ? [dataDir] : [])])
    if (typeAt(path) === "folder") kinds.set(path, "hide");
  for (const path of masked.files) if (typeAt(path) === "file") kinds.set(path, "mask");
  const mounts = [...kinds].map(([path, kind]): Mount => ({ path, kind }));
  // Sorts folders before their content. Nothing is mounted into a hidden path, and only masks are mounted into a read-only one.
  mounts.sort((a, b) => a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  const closed: Mount[] = [];
  return {
    mounts: mounts.filter(({ path, kind }) => {
      const masks = kind === "mask" || kind === "hide";
      if (closed.some((folder) => folder.path !== path && isBelow(folder.path, path) && !(masks && folder.kind === "read"))) return false;
      if (kind === "read" || kind === "hide") closed.push({ path, kind });
      return true;
    }),
    missing,
  };
}

/** True for a folder whose permissions hide its content from its owner. Nothing in it can be mounted, so it is read-only as a whole. */
function isClosed(folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && (stats.mode & ownerSearch) === 0;
}

function typeAt(path: string): "folder" | "file" | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats === undefined || stats.isSymbolicLink() ? null : stats.isDirectory() ? "folder" : "file";
}

/** The mounts of a task's view: nothing in it reaches the workspace by itself, so all of it is writable except the masked paths. */
export function viewMounts(view: OverlayView, masked: MaskedPaths): Mount[] {
  const isThere = (path: string, type: "folder" | "file"): boolean => {
    const layer = view.layers.find(({ lower }) => isBelow(lower, path));
    return layer !== undefined && typeAt(join(view.merged(layer), relative(layer.lower, path))) === type;
  };
  return [
    ...view.layers.map(({ lower }): Mount => ({ kind: "write", path: lower })),
    ...masked.folders.filter((path) => isThere(path, "folder")).map((path): Mount => ({ kind: "hide", path })),
    ...masked.files.filter((path) => isThere(path, "file")).map((path): Mount => ({ kind: "mask", path })),
  ];
}

/** Refuses a workspace that contains the home folder or the system, because the sandbox would then protect nothing. */
export function assertNarrowWorkspace(workspace: string, home: string): void {
  if (workspace === "/" || systemFolders.some((name) => workspace === `/${name}`) || workspace === "/etc" || isBelow(workspace, home)) {
    throw new LancelotError(
      "unavailable",
      "This workspace contains your home folder or system folders, so a command could read all your files. Open a project folder.",
    );
  }
}

export interface Layout {
  readonly workspaceMounts: readonly Mount[];
  /** Program folders and other visible paths, read-only. */
  readonly shown: readonly string[];
  /** User id inside, unrelated to the machine's users. */
  readonly uid: number;
  readonly gid: number;
  readonly cwd: string;
  readonly scratchBytes: number;
  /** The folder shown as /tmp, which contains the home folder; null for one in memory. */
  readonly temporaryFolder: string | null;
  /** Supported by newer versions of bubblewrap only. */
  readonly sizes: boolean;
  readonly modes: boolean;
  readonly noUserNamespaces: boolean;
  readonly systemFiles: SystemFiles;
  /** The file that is shown in place of a masked one. */
  readonly maskOf: (path: string) => string;
  readonly seccomp: number | null;
  readonly info: number;
  readonly egressSocket: string | null;
  /** True to stay in the network namespace of the caller. */
  readonly keepsNetwork: boolean;
}

/** Arguments of `bwrap` up to the `--`. Only the paths listed here are visible. */
export function bubblewrapArguments(layout: Layout): string[] {
  const { temporaryFolder } = layout;
  const size = layout.sizes ? ["--size", String(layout.scratchBytes)] : [];
  const closed = layout.modes ? ["--perms", "0000"] : [];
  const mountArguments = ({ kind, path }: Mount): string[] => {
    if (kind === "hide") return [...closed, "--tmpfs", path, "--remount-ro", path];
    if (kind === "mask") return ["--ro-bind", layout.maskOf(path), path];
    return [kind === "write" ? "--bind" : "--ro-bind", path, path];
  };
  const args = [
    ...["user", "pid", "ipc", "uts", ...(layout.keepsNetwork ? [] : ["net"]), "cgroup-try"].map((name) => `--unshare-${name}`),
    ...(layout.noUserNamespaces ? ["--disable-userns"] : []),
    "--die-with-parent",
    "--new-session",
    ...["--hostname", "lancelot"],
    ...["--cap-drop", "ALL"],
    ...["--uid", String(layout.uid), "--gid", String(layout.gid)],
    ...["--unsetenv", "XDG_RUNTIME_DIR", "--unsetenv", "DBUS_SESSION_BUS_ADDRESS"],
    ...["--info-fd", String(layout.info)],
    ...(layout.seccomp === null ? [] : ["--seccomp", String(layout.seccomp)]),
    ...systemFolders.flatMap(systemFolder),
    ...["--proc", "/proc"],
    // A process that is root outside may write here even without capabilities.
    ...["--ro-bind", "/proc/sys", "/proc/sys"],
    ...["--dev", "/dev", ...size, "--tmpfs", "/dev/shm"],
    ...(temporaryFolder === null ? [...size, "--tmpfs", "/tmp", "--dir", "/tmp/home"] : ["--bind", temporaryFolder, "/tmp"]),
    ...["--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp", "--symlink", "../run", "/var/run"],
    ...["--ro-bind", layout.systemFiles.folder, "/etc"],
    ...layout.systemFiles.mounted.flatMap((name) => ["--ro-bind", `/etc/${name}`, `/etc/${name}`]),
    ...layout.shown.flatMap((path) => ["--ro-bind-try", path, path]),
    ...layout.workspaceMounts.flatMap(mountArguments),
    ...(layout.egressSocket === null ? [] : ["--ro-bind", layout.egressSocket, egressSocketInside]),
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", layout.cwd],
  ];
  return args;
}

function systemFolder(name: string): string[] {
  const path = `/${name}`;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}

/** Folders below /opt and similar that the user's PATH contains, as a whole, because programs keep their libraries beside them. */
export function programFolders(env: NodeJS.ProcessEnv): string[] {
  const folders = pathOf(env)
    .split(":")
    .flatMap((folder) => {
      const root = programRoots.find((one) => isBelow(one, folder) && folder !== one);
      if (root === undefined) return [];
      if (root !== "/opt") return [root];
      const [first = ""] = relative(root, folder).split(sep);
      return [join(root, first)];
    });
  return [...new Set(folders)];
}

/** Mounts as the kernel reports them (`/proc/PID/mountinfo`). */
export function parseMounts(text: string): { device: string; root: string; path: string }[] {
  const plain = (field: string | undefined) =>
    (field ?? "").replaceAll(/\\(\d{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const fields = line.split(" ");
      return { device: fields[2] ?? "", root: plain(fields[3]), path: plain(fields[4]) };
    });
}

/**
 * Verifies that each mount of the workspace is at its location and shows the expected content, because a concurrent command could have
 * replaced it with a link. @param maskFolder contains what masks show; no other folder has its name
 * @returns a description of the problem for the log; null when there is none.
 */
export function findMisplacedMount(
  mountinfo: string,
  workspace: string,
  mounts: readonly Mount[],
  shown: readonly string[],
  maskFolder: string,
): string | null {
  const found = parseMounts(mountinfo);
  const own = found.findLast(({ path }) => path === workspace);
  if (own === undefined) return "the workspace is missing";
  const expected = new Map(mounts.map((mount) => [mount.path, mount]));
  const inside = (path: string) => isBelow("/proc", path) || isBelow("/dev", path) || isBelow("/etc", path) || isBelow("/run", path);
  const known = new Set(["/", "/tmp", ...systemFolders.map((name) => `/${name}`), ...shown]);
  const workspaceDevice = lstatSync(workspace).dev;
  const seen = new Set<string>();
  for (const { path, root, device } of found) {
    // A later mount at the same path hides the earlier one.
    if (seen.has(path)) return `something is mounted at ${path} once more`;
    seen.add(path);
    const mount = expected.get(path);
    if (mount === undefined) {
      if (isBelow(workspace, path)) return `something is mounted at ${path}`;
      if (!known.has(path) && !inside(path) && isBelow(path, workspace)) return `something is mounted at ${path}`;
      continue;
    }
    if (mount.kind === "mask" && basename(dirname(root)) !== basename(maskFolder)) return `${path} shows ${root}`;
    if (mount.kind === "mask" || mount.kind === "hide" || !isBelow(workspace, path)) continue;
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.dev !== workspaceDevice) continue;
    if (device !== own.device || root !== join(own.root, relative(workspace, path))) return `${path} shows ${root}`;
  }
  const absent = mounts.find(({ path }) => !seen.has(path));
  return absent === undefined ? null : `${absent.path} is missing`;
}

/** The resolved working folder of a command; null when it is not in the workspace. */
export function folderInside(workspace: string, cwd: string): string | null {
  try {
    const real = realpathSync(cwd);
    return isBelow(workspace, real) && lstatSync(real).isDirectory() ? real : null;
  } catch {
    return null;
  }
}
