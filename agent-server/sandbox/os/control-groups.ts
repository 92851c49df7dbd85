import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxLimits } from "../shell-provider.ts";
import { processRuns } from "../temporary-folder.ts";

/** Limits for all processes of one command together. */
export interface ControlGroup {
  /** Moves processes into the group; their new child processes belong to it too. */
  join(pids: readonly number[]): void;
  /** True when the memory limit killed a process of the group. */
  overMemory(): boolean;
  /** Call this when its processes have ended. */
  remove(): void;
}

export interface ControlGroups {
  create(limits: SandboxLimits): ControlGroup;
}

const controllers = ["memory", "pids", "cpu"] as const;
type Controller = (typeof controllers)[number];
/** Microseconds. */
const period = 100_000;
const prefix = "lancelot-command-";

/**
 * Version 1 control groups, when this process may create some: as root on machines that still have them. Otherwise null.
 * Removes groups that earlier hosts left behind.
 */
export function findControlGroups(read: (path: string) => string = (path) => readFileSync(path, "utf8")): ControlGroups | null {
  let folders: Record<Controller, string>;
  try {
    const own = new Map(
      read("/proc/self/cgroup")
        .split("\n")
        .flatMap((line) => {
          const [, names = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
          return names.split(",").map((name) => [name, path] as const);
        }),
    );
    const mounts = read("/proc/self/mountinfo")
      .split("\n")
      .flatMap((line) => {
        const [left = "", right = ""] = line.split(" - ");
        const [type, , options = ""] = right.split(" ");
        return type === "cgroup" ? [{ root: left.split(" ")[3] ?? "/", path: left.split(" ")[4] ?? "", names: options.split(",") }] : [];
      });
    const folder = (controller: Controller): string => {
      const mount = mounts.find(({ names }) => names.includes(controller));
      const path = own.get(controller);
      if (mount === undefined || path === undefined) throw new Error(`There is no controller ${controller}.`);
      const within = mount.root !== "/" && path.startsWith(mount.root) ? path.slice(mount.root.length) : path;
      const at = join(mount.path, within);
      accessSync(at, constants.W_OK);
      return at;
    };
    folders = { memory: folder("memory"), pids: folder("pids"), cpu: folder("cpu") };
  } catch {
    return null;
  }
  const names = controllers.map((controller) => folders[controller]);
  for (const folder of names) {
    for (const entry of readdirSync(folder)) {
      const pid = Number(new RegExp(`^${prefix}(\\d+)-`).exec(entry)?.[1] ?? "0");
      if (pid > 0 && !processRuns(pid)) removeQuietly(join(folder, entry));
    }
  }
  let made = 0;
  return {
    create(limits) {
      made += 1;
      const name = `${prefix}${process.pid}-${made}`;
      const at = (controller: Controller, file = "") => join(folders[controller], name, file);
      for (const controller of controllers) mkdirSync(at(controller));
      writeFileSync(at("memory", "memory.limit_in_bytes"), String(limits.memoryBytes));
      try {
        writeFileSync(at("memory", "memory.memsw.limit_in_bytes"), String(limits.memoryBytes));
      } catch {
        // A kernel without swap accounting cannot limit swap.
      }
      // bubblewrap itself needs three processes.
      writeFileSync(at("pids", "pids.max"), String(limits.processes + 3));
      writeFileSync(at("cpu", "cpu.cfs_period_us"), String(period));
      writeFileSync(at("cpu", "cpu.cfs_quota_us"), String(Math.max(1_000, Math.round(limits.cpus * period))));
      return {
        join(pids) {
          for (const controller of controllers) for (const pid of pids) writeFileSync(at(controller, "cgroup.procs"), String(pid));
        },
        overMemory() {
          return Number(/^oom_kill (\d+)$/m.exec(readFileSync(at("memory", "memory.oom_control"), "utf8"))?.[1] ?? "0") > 0;
        },
        remove() {
          for (const controller of controllers) removeQuietly(at(controller));
        },
      };
    },
  };
}

/** A group that contains processes cannot be removed. */
function removeQuietly(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The next start removes it.
  }
}
