import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Audit, createAudit, createLedger, type Ledger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../../agent-server/security/security.ts";
import { openStorage, type Storage } from "../../../agent-server/storage/storage.ts";

let dataDir: string;
let storage: Storage;
let ledger: Ledger;
let audit: Audit;
let clock: number;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-audit-"));
  storage = openStorage({ dataDir, migrations: receiptsMigrations });
  ledger = createLedger({ storage, redactor: createRedactor() });
  clock = 1_000_000;
  audit = createAudit({ ledger, perMinute: 5, now: () => clock });
});
afterEach(() => {
  audit.close();
  storage.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const found = (query = "security") => {
  // Batched receipts are told when they are written.
  ledger.flush();
  return ledger.search({ query, limit: 100 }).items.toReversed();
};

describe("the audit log", () => {
  it("is receipts of names of their own, found by one search", () => {
    audit.note("unauthorized", { title: "flags.set", way: "gateway" });
    audit.note("vault", { title: "get OPENAI_API_KEY" }, { questId: "q" });
    expect(found().map(({ actionType, actionName, inputs, questId }) => [actionType, actionName, inputs["title"], questId])).toEqual([
      ["system", "security.unauthorized", "flags.set", null],
      ["system", "security.vault", "get OPENAI_API_KEY", "q"],
    ]);
    expect(found("security.vault")).toHaveLength(1);
  });

  it("writes the same event once a minute, and says afterwards how often it came", () => {
    for (let times = 0; times < 1_000; times += 1) audit.note("vault", { title: "get A_KEY" });
    expect(found()).toHaveLength(1);
    clock += 60_000;
    audit.note("vault", { title: "get A_KEY" });
    expect(found().map(({ inputs, outputs }) => [inputs["title"], outputs["more"]])).toEqual([
      ["get A_KEY", undefined],
      ["999 more", 999],
      ["get A_KEY", undefined],
    ]);
  });

  it("is bounded by kind: a flood of one hides no other", () => {
    for (let n = 0; n < 10_000; n += 1) audit.note("unauthorized", { title: `/rpc/${String(n)}` });
    audit.note("soul", { title: "soul.activate" });
    expect(found("security.unauthorized")).toHaveLength(5);
    expect(found("security.soul")).toHaveLength(1);
    audit.close();
    expect(found("security.unauthorized").at(-1)?.outputs).toMatchObject({ more: 9_995 });
  });

  it("notes what other receipts tell of: denials, orders in texts, the owner's decisions on safeguards", () => {
    const record = (actionName: string, inputs: Record<string, unknown>, outputs: Record<string, unknown> = {}) =>
      ledger.record({ actionType: "system", actionName, inputs, riskTier: "T0", questId: "q" }, { status: "success", outputs });
    const denied = record("governance.deny", { capability: "file_ops" });
    record("read_file", { path: "a" }, { injection: ["override.previous"] });
    record("read_file", { path: "b" }, { injection: [] });
    for (const name of ["soul.approve", "trust.decide", "learning.decide", "vault.set", "crusader.start", "quest"])
      record(name, { title: name });
    expect(found().map(({ actionName, inputs, parentId }) => [actionName, inputs["title"], parentId === denied])).toEqual([
      ["security.denied", "governance.deny", true],
      ["security.injection", "read_file: override.previous", false],
      ["security.soul", "soul.approve", false],
      ["security.trust", "trust.decide", false],
      ["security.learning", "learning.decide", false],
      ["security.vault", "vault.set", false],
      ["security.crusader", "crusader.start", false],
    ]);
  });

  it("notes a receipt that is opened and closed once, when it is closed", () => {
    const id = ledger.open({ actionType: "system", actionName: "soul.activate", inputs: {}, riskTier: "T3" });
    expect(found("security.soul")).toEqual([]);
    ledger.close(id, { status: "failure", errorMessage: "No." });
    expect(found("security.soul")[0]?.inputs).toMatchObject({ receiptId: id, status: "failure" });
  });

  it("holds no secret, and is never in the way", () => {
    audit.note("unauthorized", { title: ["Bearer ghp", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fXaB3d"].join("_") });
    expect(JSON.stringify(found())).not.toContain("ghp_aB3dE6");
    const logged: string[] = [];
    const broken = createAudit({
      ledger: {
        record: () => {
          throw new Error("disk full");
        },
        onReceipt: () => () => undefined,
      },
      log: (message) => logged.push(message),
    });
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    expect(() => broken.note("soul", circular)).not.toThrow();
    broken.close();
    expect(logged).toEqual(["security.soul could not be recorded"]);
  });
});
