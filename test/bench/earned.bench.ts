import type { Intent } from "../../agent-server/contract/governance.ts";
import { createGovernanceFixture } from "../support/governance-fixture.ts";
import type { BenchRow } from "./bench-row.ts";

const batch = 500;
const rounds = 60;

/** What trust and learned rules cost a decision, beside a bare look in a Map; medians over batches, in microseconds. */
export function run(): Promise<BenchRow[]> {
  const fixture = createGovernanceFixture();
  const beside = fixture.beside();
  try {
    const { trust, learning } = fixture.governance;
    const key = { capability: "shell_exec", action: "run", scope: "packages.install" };
    const map = new Map([["shell_exec\0run\0packages.install", 1]]);
    const look = per(() => map.get(`${key.capability}\0${key.action}\0${key.scope}`));
    const tier = per(() => trust.tier(key, "T2"));
    const find = per(() => learning.find(key));
    const whileWritten = per(
      () => trust.tier(key, "T2"),
      () => beside.ledger.open({ actionType: "system", actionName: "another window", inputs: {}, riskTier: "T1" }),
    );
    const asked: Intent = { capability: "shell_exec", action: "run", args: { command: "npm install left-pad" }, mode: "normal" };
    const decision = per(() => fixture.governance.evaluate(asked));
    return Promise.resolve([
      row("what was earned, p50", tier, look, "bare: a look in a Map"),
      row("what was earned, another window writing, p50", whileWritten, look, "bare: a look in a Map"),
      row("a learned rule, p50", find, look, "bare: a look in a Map"),
      row("what was earned, as a share of a decision it is asked in, p50", tier, decision, "bare: the decision about npm install"),
    ]);
  } finally {
    beside.close();
    fixture.dispose();
  }
}

function per(work: () => unknown, between?: () => unknown): number {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 10 === 0) between?.();
    const from = performance.now();
    for (let index = 0; index < batch; index += 1) work();
    times.push(((performance.now() - from) * 1000) / batch);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

function row(name: string, ours: number, bare: number, note: string): BenchRow {
  return { name, ours, bare, ratio: ours / bare, unit: "µs", note };
}
