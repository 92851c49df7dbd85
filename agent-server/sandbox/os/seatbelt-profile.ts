import { dirname } from "node:path";
import { isBelow } from "../../workspace/workspace.ts";
import type { MaskedPaths } from "../secret-masks.ts";

export interface SeatbeltProfile {
  /** Absolute and resolved, like all paths here, because Seatbelt compares resolved paths. */
  readonly workspace: string;
  /** Home folder and temporary folder of the command. */
  readonly scratch: string;
  readonly dataDir: string;
  /** Additional writable paths: the repository of a work tree. */
  readonly writable: readonly string[];
  readonly protectedPaths: readonly string[];
  readonly masked: MaskedPaths;
  /** Additional readable paths. */
  readonly readable: readonly string[];
  /** Loopback port of the egress proxy; null without network. */
  readonly proxyPort: number | null;
}

/** Paths that every macOS program reads to start. */
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
/** Services for user names, logs and notifications; none that stores keys or starts programs. */
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
 * Profile for `sandbox-exec` that allows only listed operations. Later rules override earlier ones, so the rules that deny access in the
 * workspace are last.
 */
export function seatbeltProfile(given: SeatbeltProfile): string {
  const { workspace, scratch, dataDir, protectedPaths, proxyPort } = given;
  const writable = [workspace, scratch, ...given.writable];
  const masked = [...given.masked.files.map(exactly), ...given.masked.folders.map(below)];
  const above = [
    ...new Set([...protectedPaths, ...given.masked.files, ...given.masked.folders].flatMap((path) => between(writable, path))),
  ];
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
    // Metadata of folders only, because resolving any path requires it.
    "(allow file-read-metadata (vnode-type DIRECTORY) (vnode-type SYMLINK))",
    `(allow file-read* ${[...system, ...given.readable].map(below).join(" ")} ${files.map(exactly).join(" ")})`,
    `(allow file-ioctl ${["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper"].map(exactly).join(" ")})`,
    `(allow file-write-data ${["/dev/null", "/dev/zero", "/dev/dtracehelper"].map(exactly).join(" ")} ${below("/dev/fd")})`,
    `(allow file-read* file-write* ${writable.map(below).join(" ")})`,
    // Sockets only in the scratch folder, since those of the machine are elsewhere.
    "(allow system-socket (socket-domain AF_UNIX))",
    `(allow network-bind (local unix-socket ${below(scratch)}))`,
    `(allow network-outbound (remote unix-socket ${below(scratch)}))`,
    ...(proxyPort === null ? [] : [`(allow network-outbound (remote ip "localhost:${proxyPort}"))`]),
    ...(protectedPaths.length === 0 ? [] : [`(deny file-write* ${protectedPaths.map(below).join(" ")})`]),
    // Programs may see that a secret file exists, as git does. A link or a clone would be another name of its content.
    ...(masked.length === 0 ? [] : [`(deny file-read-data file-read-xattr file-write* file-link file-clone ${masked.join(" ")})`]),
    // A folder above a protected or secret file cannot be moved away with it.
    ...(above.length === 0 ? [] : [`(deny file-write-unlink ${above.map(exactly).join(" ")})`]),
    `(deny file-read* file-write* ${below(dataDir)})`,
    "(deny file-write-setugid)",
    "",
  ].join("\n");
}

/** Folders between a writable root and a path, excluding both. */
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
