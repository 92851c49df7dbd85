import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { RouterDecision } from "../../../../agent-server/contract/router.ts";
import { createDecisions } from "../../../../agent-server/models/router/decisions.ts";
import { routerMigrations } from "../../../../agent-server/models/router/router-migrations.ts";
import { openStorage, type Storage } from "../../../../agent-server/storage/storage.ts";

const open: { close(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0).toReversed()) one.close();
});

function folder(): string {
  const dataDir = mkdtempSync(join(tmpdir(), "lancelot-decisions-"));
  open.push({ close: () => rmSync(dataDir, { recursive: true, force: true }) });
  return dataDir;
}

function storageIn(dataDir: string): Storage {
  const storage = openStorage({ dataDir, migrations: routerMigrations });
  open.push(storage);
  return storage;
}

let made = 0;
function decision(over: Partial<RouterDecision> = {}): RouterDecision {
  made += 1;
  return {
    id: randomUUID(),
    timestamp: new Date(made).toISOString(),
    taskType: "chat",
    lane: "flagship_fast",
    provider: "work",
    model: `model-${made}`,
    rationale: "Because.",
    rule: "default",
    alternatives: [],
    elapsedMs: 10,
    success: true,
    error: null,
    questId: null,
    receiptId: null,
    ...over,
  };
}

describe("decisions", () => {
  it("are kept, newest first, and what became of one takes its place", () => {
    const decisions = createDecisions(storageIn(folder()));
    const [first, second] = [decision({ success: null, elapsedMs: 0 }), decision({ questId: "q" })];
    decisions.keep(first);
    decisions.keep(second);
    expect(decisions.list(50)).toEqual([second, first]);
    const ended = { ...first, success: false, error: "It broke.", elapsedMs: 7 };
    decisions.keep(ended);
    expect(decisions.list(50)).toEqual([second, ended]);
    expect(decisions.list(50, "q")).toEqual([second]);
    expect(decisions.list(1)).toEqual([second]);
  });

  it("are the last 200, also over a restart", () => {
    const dataDir = folder();
    const storage = storageIn(dataDir);
    const decisions = createDecisions(storage);
    const all = Array.from({ length: 230 }, () => decision());
    for (const one of all) decisions.keep(one);
    expect(decisions.stats().total).toBe(200);
    const late = decision();
    decisions.keep(late);
    // Closing writes what was not written yet.
    storage.close();
    const again = createDecisions(storageIn(dataDir));
    expect(again.list(500)).toEqual([late, ...all.toReversed().slice(0, 199)]);
  });

  it("of a host that is gone have failed; those of one that runs have not", () => {
    const dataDir = folder();
    const [one, other] = [storageIn(dataDir), storageIn(dataDir)];
    const running = decision({ success: null });
    const own = createDecisions(one);
    own.keep(running);
    expect(own.list(1)).toEqual([running]);
    const seen = createDecisions(other);
    expect(seen.list(50)).toEqual([running]);
    one.close();
    expect(seen.list(50)).toEqual([{ ...running, success: false, error: "The agent host ended during the call." }]);
  });

  it("are counted", () => {
    const decisions = createDecisions(storageIn(folder()));
    expect(decisions.stats()).toEqual({
      total: 0,
      succeeded: 0,
      failed: 0,
      byLane: {},
      byRule: {},
      byProvider: {},
      localShare: 0,
      medianMs: null,
    });
    for (const one of [
      decision({ elapsedMs: 10 }),
      decision({ elapsedMs: 40, lane: "flagship_deep", rule: "deep_task" }),
      decision({ elapsedMs: 20, lane: "local_utility", provider: "local", rule: "offline" }),
      decision({ success: false, elapsedMs: 1000 }),
      decision({ success: null, elapsedMs: 0 }),
    ])
      decisions.keep(one);
    expect(decisions.stats()).toEqual({
      total: 5,
      succeeded: 3,
      failed: 1,
      byLane: { flagship_fast: 3, flagship_deep: 1, local_utility: 1 },
      byRule: { default: 3, deep_task: 1, offline: 1 },
      byProvider: { work: 4, local: 1 },
      localShare: 0.2,
      medianMs: 30,
    });
  });
});
