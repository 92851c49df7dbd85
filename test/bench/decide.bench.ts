import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Intent } from "../../agent-server/contract/governance.ts";
import { decide } from "../../agent-server/governance/decide.ts";
import { createPathPolicy } from "../../agent-server/governance/policy/path-policy.ts";
import { gateFacts } from "../support/gate-facts.ts";
import { createGovernanceFixture } from "../support/governance-fixture.ts";
import type { BenchRow } from "./bench-row.ts";

const files = 500;
const batch = 50;

/**
 * The gate: a decision about a file, made anew, against the bare `realpath` under it; and a decision from the cache against a bare
 * look in a Map. Medians over batches, in microseconds a decision.
 */
export async function run(): Promise<BenchRow[]> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-bench-")));
  try {
    const workspace = join(base, "proj");
    const folder = join(workspace, "packages/editor/src/components");
    mkdirSync(folder, { recursive: true });
    const paths = Array.from({ length: files }, (_, index) => `packages/editor/src/components/panel-${index}.tsx`);
    for (const path of paths) writeFileSync(join(workspace, path), "x\n");
    const configDir = join(import.meta.dirname, "../../config");
    const newPolicy = () => createPathPolicy({ workspace, dataDir: join(base, "data"), configDir });
    const factsOf = ({ resolve, message, broad }: ReturnType<typeof newPolicy>) => gateFacts({ resolve, ruleMessage: message, broad });
    const intents = paths.map((path): Intent => ({ capability: "file_ops", action: "write", args: { path }, mode: "normal" }));
    const absolutes = paths.map((path) => join(workspace, path));

    const cold: number[] = [];
    const warm: number[] = [];
    const bareRealpath: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      // A new policy has judged no name yet.
      const facts = factsOf(newPolicy());
      cold.push(...perCall(intents, (intent) => decide(intent, facts)));
      warm.push(...perCall(intents, (intent) => decide(intent, facts)));
      bareRealpath.push(...perCall(absolutes, (absolute) => realpathSync.native(absolute)));
    }

    // The whole gate of a host, with its soul looked up each time.
    const fixture = createGovernanceFixture();
    const { evaluate } = fixture.governance;
    const status: Intent = { capability: "repo_ops", action: "status", args: {}, mode: "normal" };
    const read: Intent = { capability: "file_ops", action: "read", args: { path: "src/a.ts" }, mode: "normal" };
    const many = (intent: Intent) => Array.from({ length: 20_000 }, () => intent);
    const kept = new Map([["repo_ops\nstatus\nnormal\nsupervised\n10", evaluate(status)]]);
    const cachedDecision = perCall(many(status), evaluate);
    const cachedRead = perCall(many(read), evaluate);
    const bareLook = perCall(many(status), (intent) => kept.get(`${intent.capability}\n${intent.action}\n${intent.mode}\nsupervised\n10`));
    const bareStat = perCall(many(status), () => statSync(join(fixture.dataDir, "soul/ACTIVE")));
    const bareRead = perCall(many(read), () => realpathSync.native(join(fixture.workspace, "src/a.ts")));
    fixture.dispose();

    return [
      row("file decision, name seen for the first time, p50", median(cold), median(bareRealpath), "bare: realpath of the same file"),
      row("file decision, p50", median(warm), median(bareRealpath), "bare: realpath of the same file"),
      row("T0 decision from the cache, p50", median(cachedDecision), median(bareLook), "bare: a look in a Map"),
      row("the same, beside a bare stat of one file", median(cachedDecision), median(bareStat), "bare: stat of the soul's ACTIVE"),
      row("T0 decision about a file from the cache, p50", median(cachedRead), median(bareRead), "bare: realpath of the same file"),
    ];
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

function perCall<T>(items: readonly T[], work: (item: T) => unknown): number[] {
  const times: number[] = [];
  for (let start = 0; start + batch <= items.length; start += batch) {
    const part = items.slice(start, start + batch);
    const from = performance.now();
    for (const item of part) work(item);
    times.push(((performance.now() - from) * 1000) / batch);
  }
  return times;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function row(name: string, ours: number, bare: number, note: string): BenchRow {
  return { name, ours, bare, ratio: ours / bare, unit: "µs", note };
}
