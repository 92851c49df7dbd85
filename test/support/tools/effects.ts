import { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { vi } from "vitest";

/** One thing that touched the world, with how far the gate had been asked by then. */
export interface Touched {
  readonly kind: "read" | "write" | "process" | "network" | "editor" | "owner" | "plan";
  readonly what: string;
  readonly asked: number;
  readonly granted: number;
  readonly redeemed: number;
}

/** What happened while it was on. Files are recorded by the mocked `node:fs/promises` of the test that uses this. */
export const watch = {
  on: false,
  asked: 0,
  granted: 0,
  redeemed: 0,
  /** Only what lies below one of these is recorded; resolution of paths by `lstat`, `stat` and `realpath` is no effect. */
  folders: [] as string[],
  touched: [] as Touched[],
  start(folders: string[]) {
    Object.assign(watch, { on: true, asked: 0, granted: 0, redeemed: 0, folders, touched: [] });
  },
  stop(): Touched[] {
    watch.on = false;
    return watch.touched;
  },
  note(kind: Touched["kind"], what: string) {
    if (watch.on) watch.touched.push({ kind, what, asked: watch.asked, granted: watch.granted, redeemed: watch.redeemed });
  },
  file(kind: "read" | "write", path: unknown) {
    const text = String(path);
    if (watch.folders.some((folder) => text.startsWith(folder)) || text.startsWith("/proc/self/fd/")) watch.note(kind, text);
  },
};

const writes = new Set([
  "writeFile",
  "appendFile",
  "rename",
  "unlink",
  "rm",
  "rmdir",
  "mkdir",
  "link",
  "symlink",
  "copyFile",
  "chmod",
  "truncate",
  "cp",
]);
const reads = new Set(["readFile", "readdir", "opendir"]);

/** `node:fs/promises` with every read and write written down. */
export function watched<T extends Record<string, unknown>>(real: T): T {
  const copy: Record<string, unknown> = { ...real };
  for (const [name, value] of Object.entries(real)) {
    if (typeof value !== "function") continue;
    const call = value as (...args: unknown[]) => unknown;
    if (writes.has(name) || reads.has(name)) {
      copy[name] = (...args: unknown[]) => {
        watch.file(writes.has(name) ? "write" : "read", args[0]);
        return call(...args);
      };
    } else if (name === "open") {
      copy[name] = (...args: unknown[]) => {
        // O_WRONLY, O_RDWR and O_CREAT, or a mode that says the same.
        const flags = args[1];
        const writing = typeof flags === "number" ? (flags & 0o103) !== 0 : typeof flags === "string" && /[wa+x]/.test(flags);
        watch.file(writing ? "write" : "read", args[0]);
        return call(...args);
      };
    }
  }
  return copy as T;
}

/** Writes down every process that is started and every connection that is opened, whoever does it. */
export function watchProcesses(): () => void {
  const process = ChildProcess.prototype as unknown as { spawn(options: { file: string }): number };
  const spawned = process.spawn;
  process.spawn = function (options) {
    watch.note("process", options.file);
    return spawned.call(this, options);
  };
  const connected = vi.spyOn(Socket.prototype, "connect").mockImplementation(() => {
    watch.note("network", "connect");
    throw new Error("Nothing may be connected to here.");
  });
  return () => {
    process.spawn = spawned;
    connected.mockRestore();
  };
}
