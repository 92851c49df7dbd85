import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/**
 * Cores this process can use: within its CPU affinity and control group quotas, and at most the physical cores, since two threads on
 * one core compute no faster.
 * @param at folder that holds `proc/` and `sys/`
 */
export function measuredCores(at = "/"): number {
  const limits = [availableParallelism(), quota(at), physicalCores(at)].filter((limit) => limit !== null);
  return Math.max(1, Math.min(...limits));
}

/** Whole cores of the lowest quota; null without one. Node reads quotas of cgroup version 2 only. */
function quota(at: string): number | null {
  const groups = (read(join(at, "proc/self/cgroup")) ?? "").trim().split("\n");
  const found = groups.flatMap((line) => {
    const [, controllers = "", path = ""] = line.split(":");
    if (controllers === "") return ancestors(path).map((group) => ratio(read(join(at, "sys/fs/cgroup", group, "cpu.max")) ?? ""));
    if (!controllers.split(",").includes("cpu")) return [];
    return ancestors(path).map((group) => {
      const folder = join(at, "sys/fs/cgroup", controllers, group);
      return ratio(`${read(join(folder, "cpu.cfs_quota_us")) ?? ""} ${read(join(folder, "cpu.cfs_period_us")) ?? ""}`);
    });
  });
  const limits = found.filter((limit) => limit !== null);
  return limits.length === 0 ? null : Math.max(1, Math.floor(Math.min(...limits)));
}

/** `max 100000` and `-1 100000` mean no limit. */
function ratio(text: string): number | null {
  const [allowed, period] = text.trim().split(/\s+/).map(Number);
  return allowed !== undefined && period !== undefined && allowed > 0 && period > 0 ? allowed / period : null;
}

/** `/a/b`, `/a`, `/`. Inside a container, the process's own group may appear as the root. */
function ancestors(path: string): string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== "..");
  return Array.from({ length: names.length + 1 }, (_, dropped) => names.slice(0, names.length - dropped).join("/"));
}

/** Null where the system is not Linux. */
function physicalCores(at: string): number | null {
  const cores = new Set<string>();
  for (const processor of (read(join(at, "proc/cpuinfo")) ?? "").split("\n\n")) {
    const core = /^core id\s*:\s*(\d+)/m.exec(processor)?.[1];
    if (core !== undefined) cores.add(`${/^physical id\s*:\s*(\d+)/m.exec(processor)?.[1] ?? ""} ${core}`);
  }
  return cores.size === 0 ? null : cores.size;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
