import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { findRepository, isBelow } from "../../workspace/workspace.ts";
import { pathOf } from "../command-environment.ts";
import { egressSocketInside } from "./inner-script.ts";
import type { SystemFiles } from "./system-files.ts";

/** One thing of the disk that is there inside. */
export interface Mount {
  readonly kind: "write" | "read" | "hide";
  readonly path: string;
}

/** Parts of a repository that name programs or lead to such parts; the owner's git would heed them later and outside. */
const repositoryProtected = ["hooks", "config", "config.worktree", "info/attributes", "commondir", "modules"] as const;

const systemFolders = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/** Folders of programs outside the system's; shown when the owner's PATH leads into them. */
const programRoots = ["/opt", "/nix/store", "/gnu/store", "/snap"];

/**
 * What of the workspace is written, and what in it is only read. Folders on the way to a protected path are mounted onto themselves:
 * what is mounted can be neither renamed nor removed, so nobody moves a protected file away with its folder.
 * @param protectedPaths absolute, or relative to the workspace. What is a link is left: its target is not there inside, or protected itself.
 */
export function workspaceMounts(
  workspace: string,
  dataDir: string,
  protectedPaths: readonly string[],
): { mounts: Mount[]; missing: string[] } {
  const repository = findRepository(workspace);
  const writable = [workspace];
  if (repository !== null && !isBelow(workspace, repository.commonDir)) writable.push(repository.commonDir);
  const wanted = [
    ...protectedPaths.map((path) => (path.startsWith("/") ? path : join(workspace, path))),
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
        // Of a submodule that is not there yet nothing can be protected.
        if (step === "modules" && repository !== null && dirname(at) === repository.commonDir) break;
        missing.push(at);
        kinds.set(at, "read");
        break;
      }
      const last = index === steps.length - 1;
      if (last || !stats.isDirectory()) {
        kinds.set(at, "read");
        break;
      }
      if (!kinds.has(at)) kinds.set(at, "write");
    }
  }
  if (isBelow(workspace, dataDir) && lstatSync(dataDir, { throwIfNoEntry: false })?.isDirectory() === true) kinds.set(dataDir, "hide");
  const mounts = [...kinds].map(([path, kind]): Mount => ({ path, kind }));
  // Short before long: a folder before what lies in it. Nothing is mounted into what is only read or hidden.
  mounts.sort((a, b) => a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  const closed: string[] = [];
  return {
    mounts: mounts.filter(({ path, kind }) => {
      if (closed.some((folder) => folder !== path && isBelow(folder, path))) return false;
      if (kind !== "write") closed.push(path);
      return true;
    }),
    missing,
  };
}

/** Refuses a workspace that would take the sandbox's sense: one that holds the home folder, or the system. */
export function assertNarrowWorkspace(workspace: string, home: string): void {
  if (workspace === "/" || systemFolders.some((name) => workspace === `/${name}`) || workspace === "/etc" || isBelow(workspace, home)) {
    throw new LancelotError(
      "unavailable",
      "This workspace holds your home folder or the system, so a command in it could read everything of yours. Open the folder of one project.",
    );
  }
}

export interface Layout {
  readonly workspaceMounts: readonly Mount[];
  /** Folders of programs and what else is shown, read-only. */
  readonly shown: readonly string[];
  /** Inside; nobody of the machine. */
  readonly uid: number;
  readonly gid: number;
  readonly cwd: string;
  readonly scratchBytes: number;
  /** Newer bubblewrap only. */
  readonly sizes: boolean;
  readonly noUserNamespaces: boolean;
  readonly systemFiles: SystemFiles;
  readonly seccomp: number | null;
  readonly info: number;
  readonly egressSocket: string | null;
}

/** The arguments of `bwrap`, up to the `--`. Everything is named; nothing of the disk is there that is not. */
export function bubblewrapArguments(layout: Layout): string[] {
  const size = layout.sizes ? ["--size", String(layout.scratchBytes)] : [];
  const args = [
    ...["user", "pid", "ipc", "uts", "net", "cgroup-try"].map((name) => `--unshare-${name}`),
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
    // Whoever is root outside may write here even without capabilities.
    ...["--ro-bind", "/proc/sys", "/proc/sys"],
    ...["--dev", "/dev", ...size, "--tmpfs", "/dev/shm"],
    ...[...size, "--tmpfs", "/tmp", "--dir", "/tmp/home"],
    ...["--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp", "--symlink", "../run", "/var/run"],
    ...["--ro-bind", layout.systemFiles.folder, "/etc"],
    ...layout.systemFiles.mounted.flatMap((name) => ["--ro-bind", `/etc/${name}`, `/etc/${name}`]),
    ...layout.shown.flatMap((path) => ["--ro-bind-try", path, path]),
    ...layout.workspaceMounts.flatMap(({ kind, path }) =>
      kind === "hide" ? ["--tmpfs", path, "--remount-ro", path] : [kind === "write" ? "--bind" : "--ro-bind", path, path],
    ),
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

/** Folders below /opt and the like which the owner's PATH leads into, as a whole: programs bring their libraries beside them. */
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

/** What is mounted, as the kernel tells it (`/proc/PID/mountinfo`). */
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
 * Looks whether each mount of the workspace is where it was meant to be and shows what it was meant to show: a command that runs
 * beside could have put a link in its way meanwhile. @returns what is wrong, for the log; null when nothing is.
 */
export function findMisplacedMount(mountinfo: string, workspace: string, mounts: readonly Mount[], shown: readonly string[]): string | null {
  const found = parseMounts(mountinfo);
  const own = found.findLast(({ path }) => path === workspace);
  if (own === undefined) return "the workspace is missing";
  const expected = new Map(mounts.map((mount) => [mount.path, mount]));
  const inside = (path: string) => isBelow("/proc", path) || isBelow("/dev", path) || isBelow("/etc", path) || isBelow("/run", path);
  const known = new Set(["/", "/tmp", ...systemFolders.map((name) => `/${name}`), ...shown]);
  const workspaceDevice = lstatSync(workspace).dev;
  const seen = new Set<string>();
  for (const { path, root, device } of found) {
    // What is mounted over another mount hides it.
    if (seen.has(path)) return `something is mounted at ${path} once more`;
    seen.add(path);
    const mount = expected.get(path);
    if (mount === undefined) {
      if (isBelow(workspace, path)) return `something is mounted at ${path}`;
      if (!known.has(path) && !inside(path) && isBelow(path, workspace)) return `something is mounted at ${path}`;
      continue;
    }
    if (mount.kind === "hide" || !isBelow(workspace, path)) continue;
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.dev !== workspaceDevice) continue;
    if (device !== own.device || root !== join(own.root, relative(workspace, path))) return `${path} shows ${root}`;
  }
  for (const { path } of mounts) if (!found.some((one) => one.path === path)) return `${path} is missing`;
  return null;
}

/** The folder commands run in, resolved; null when it is none of the workspace. */
export function folderInside(workspace: string, cwd: string): string | null {
  try {
    const real = realpathSync(cwd);
    return isBelow(workspace, real) && lstatSync(real).isDirectory() ? real : null;
  } catch {
    return null;
  }
}
