import { afterAll, expect, it } from "vitest";
import { startServe, sampleWorkspace, temporaryFolder } from "../support/host/built-host.ts";
import { boundaries, exchangeAll, memoryOf } from "../support/fuzz/gateway.ts";
import { fuzz } from "../support/fuzz/run.ts";
import { groupNames, targetsOf } from "../support/fuzz/targets.ts";
import type { Report } from "../support/fuzz/worker/main.ts";
import { runs, seed, soak } from "../support/soak.ts";

// Every parser and boundary takes whatever comes: it answers or refuses, within a bound of work and memory. `npm run soak` does it for
// half an hour with new inputs; `npm test` tries the same few inputs each time. `node test/support/run.mjs test/support/fuzz/main.ts` does
// one group alone.

const used = soak ? (seed ?? Date.now() % 2_147_483_647) : 1;
const soakMs = 30 * 60_000;
const boundaryMs = soak ? soakMs / 10 : 0;
const targetCount = (await Promise.all(groupNames.map((group) => targetsOf(group)))).flat().length;
const targetMs = soak ? (soakMs - boundaries.length * boundaryMs) / targetCount : 0;

const rows: string[] = [];
afterAll(() => console.info(`Fuzz with LANCELOT_SEED=${used}:\n${rows.join("\n")}`));

it.each(groupNames)("every input to the targets of %s ends as it may", async (group) => {
  const onReport = ({ target, inputs, slowestMs }: Report): void => void rows.push(`${target}: ${inputs} inputs, slowest ${slowestMs} ms`);
  const reports = await fuzz(group, { seed: used, count: runs(8, 200), forMs: targetMs, onReport });
  expect(reports.flatMap(({ faults }) => faults)).toEqual([]);
  for (const { name } of await targetsOf(group)) expect(reports.some(({ target, inputs }) => target === name && inputs > 0)).toBe(true);
});

/** What a host may need more than at the start, MB. */
const mostGrowth = 300;

it.each(boundaries.map((boundary) => [boundary.name, boundary] as const))(
  "%s: the host answers or closes each, and goes on",
  async (name, boundary) => {
    using workspace = sampleWorkspace();
    using data = temporaryFolder("fuzz");
    const server = await startServe({
      workspace: workspace.path,
      data: data.path,
      env: { LANCELOT_OWNER_TOKEN: "owner-token-0123456789abcdef", LANCELOT_RATE_LIMIT: "100000/60" },
    });
    try {
      const before = memoryOf(server.child.pid);
      const { inputs, silent } = await exchangeAll(boundary, {
        ...server,
        seed: used,
        count: runs(40, 400),
        forMs: boundaryMs,
        async afterSome(some) {
          const alive = await fetch(`${server.url}/health/live`).then((answer) => answer.status, String);
          expect(alive, `after one of ${JSON.stringify(some)}`).toBe(200);
        },
      });
      expect(silent).toEqual([]);
      expect(server.child.exitCode).toBeNull();
      if (before !== null) expect((memoryOf(server.child.pid) ?? 0) - before).toBeLessThan(mostGrowth);
      rows.push(`${name}: ${inputs} inputs`);
    } finally {
      await server.stop();
    }
  },
);
