import { dirname } from "node:path";
import { isBelow } from "../../workspace/workspace.ts";

export interface SeatbeltProfile {
  /** Absolute and resolved, as all paths here: Seatbelt compares the paths that links lead to. */
  readonly workspace: string;
  /** Folder for home and temporary files. */
  readonly scratch: string;
  readonly dataDir: string;
  /** More that is written: the repository a work tree belongs to. */
  readonly writable: readonly string[];
  readonly protectedPaths: readonly string[];
  /** More that is read. */
  readonly readable: readonly string[];
  /** Port of loopback that leads to the egress proxy; null without network. */
  readonly proxyPort: number | null;
}

/** What every program of macOS reads to start. */
const system = [
  "/usr",
  "/bin",
  "/sbin",
  "/opt",
  "/System",
  "/Library/Apple",
  "/Library/Developer",
  "/Library/Frameworks",
  "/Library/Java",
  "/Applications/Xcode.app",
  "/dev",
  "/private/etc/ssl",
  "/private/var/db/dyld",
  "/private/var/db/timezone",
  "/private/var/select",
];
const files = [
  "/",
  "/etc",
  "/tmp",
  "/var",
  "/private",
  "/private/etc/hosts",
  "/private/etc/localtime",
  "/private/etc/passwd",
  "/private/etc/group",
  "/private/etc/protocols",
  "/private/etc/services",
  "/private/etc/shells",
];
/** Services that names of users, logs and notifications come from; none that holds keys or starts programs. */
const services = [
  "com.apple.bsd.dirhelper",
  "com.apple.logd",
  "com.apple.system.logger",
  "com.apple.system.notification_center",
  "com.apple.system.opendirectoryd.libinfo",
  "com.apple.system.opendirectoryd.membership",
];
const settings = [
  "kern.argmax",
  "kern.hostname",
  "kern.maxfiles",
  "kern.maxfilesperproc",
  "kern.maxproc",
  "kern.ngroups",
  "kern.usrstack64",
].concat(
  ["kern.boottime", "kern.secure_kernel", "kern.tcsm_available", "kern.tcsm_enable", "kern.version", "kern.willshutdown", "vm.loadavg"],
  ["security.mac.lockdown_mode_state", "sysctl.proc_cputype"],
);
const settingPrefixes = ["hw.", "kern.os", "machdep.cpu.", "machdep.ptrauth"];

/**
 * The profile for `sandbox-exec`: nothing but what is named. A later rule wins over an earlier one, so what is forbidden in the workspace
 * stands last.
 */
export function seatbeltProfile(given: SeatbeltProfile): string {
  const { workspace, scratch, dataDir, protectedPaths, proxyPort } = given;
  const writable = [workspace, scratch, ...given.writable];
  const above = [...new Set(protectedPaths.flatMap((path) => between(writable, path)))];
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-exec process-fork)",
    "(allow process-info* (target same-sandbox))",
    "(allow signal (target same-sandbox))",
    "(allow ipc-posix-shm ipc-posix-sem)",
    "(allow iokit-get-properties)",
    `(allow sysctl-read ${settings.map((name) => `(sysctl-name ${quote(name)})`).join(" ")} ${settingPrefixes.map((name) => `(sysctl-name-prefix ${quote(name)})`).join(" ")})`,
    `(allow mach-lookup ${services.map((name) => `(global-name ${quote(name)})`).join(" ")})`,
    // Names of folders alone: without them no path can be walked.
    "(allow file-read-metadata (vnode-type DIRECTORY) (vnode-type SYMLINK))",
    `(allow file-read* ${[...system, ...given.readable].map(below).join(" ")} ${files.map(exactly).join(" ")})`,
    `(allow file-ioctl ${["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper"].map(exactly).join(" ")})`,
    `(allow file-write-data ${["/dev/null", "/dev/zero", "/dev/dtracehelper"].map(exactly).join(" ")} ${below("/dev/fd")})`,
    `(allow file-read* file-write* ${writable.map(below).join(" ")})`,
    // Sockets in its own folder only: those of the machine lie elsewhere.
    "(allow system-socket (socket-domain AF_UNIX))",
    `(allow network-bind (local unix-socket ${below(scratch)}))`,
    `(allow network-outbound (remote unix-socket ${below(scratch)}))`,
    ...(proxyPort === null ? [] : [`(allow network-outbound (remote ip "localhost:${proxyPort}"))`]),
    ...(protectedPaths.length === 0 ? [] : [`(deny file-write* ${protectedPaths.map(below).join(" ")})`]),
    // A folder on the way to a protected file is not moved away with it.
    ...(above.length === 0 ? [] : [`(deny file-write-unlink ${above.map(exactly).join(" ")})`]),
    `(deny file-read* file-write* ${below(dataDir)})`,
    "(deny file-write-setugid)",
    "",
  ].join("\n");
}

/** Folders from the one that is written down to a path, both left out. */
function between(writable: readonly string[], path: string): string[] {
  const top = writable.find((folder) => isBelow(folder, path));
  const found: string[] = [];
  if (top !== undefined) for (let at = dirname(path); at !== top && isBelow(top, at); at = dirname(at)) found.push(at);
  return found;
}

const below = (path: string) => `(subpath ${quote(path)})`;
const exactly = (path: string) => `(literal ${quote(path)})`;

function quote(text: string): string {
  return `"${text.replaceAll("\\", String.raw`\\`).replaceAll('"', String.raw`\"`)}"`;
}
