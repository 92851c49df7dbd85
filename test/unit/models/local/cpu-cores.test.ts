import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { measuredCores } from "../../../../agent-server/models/local/cpu-cores.ts";

const all = availableParallelism();
const cpus = (cores: [chip: number, core: number][]) =>
  cores.map(([chip, core], index) => `processor\t: ${index}\nphysical id\t: ${chip}\ncore id\t\t: ${core}\n`).join("\n");

function at(files: Record<string, string>): number {
  const root = mkdtempSync(join(tmpdir(), "cores-"));
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    return measuredCores(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

it.each<[string, Record<string, string>, number]>([
  ["nothing is told", {}, all],
  ["a quota of one core and a half, version 2", { "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n" }, 1],
  ["a quota of a group above, version 2", { "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "100000 100000\n" }, 1],
  ["half a core, version 2", { "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n" }, 1],
  ["no quota, version 2", { "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n" }, all],
  [
    "a quota of one core, version 1",
    {
      "proc/self/cgroup": "3:memory:/m\n2:cpu,cpuacct:/c\n0::/\n",
      "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us": "100000\n",
      "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us": "100000\n",
    },
    1,
  ],
  [
    "no quota, version 1",
    {
      "proc/self/cgroup": "1:cpu:/\n",
      "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
      "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    },
    all,
  ],
  [
    "the group's folder is not to be seen from inside",
    { "proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/cpu.max": "100000 100000\n" },
    1,
  ],
  [
    "two threads on each of one core",
    {
      "proc/cpuinfo": cpus([
        [0, 0],
        [0, 0],
      ]),
    },
    1,
  ],
  [
    "cores of two chips with the same numbers",
    {
      "proc/cpuinfo": cpus([
        [0, 0],
        [1, 0],
        [0, 1],
        [1, 1],
      ]),
    },
    Math.min(all, 4),
  ],
  ["a processor that tells no cores", { "proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 100\n" }, all],
])("counts the cores where %s", (_where, files, cores) => {
  expect(at(files)).toBe(cores);
});
