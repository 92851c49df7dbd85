import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAppend } from "../../../agent-server/receipts/append.ts";
import { type CloseEntry, type OpenEntry, readEntry, OpenEntry as openEntry } from "../../../agent-server/receipts/entry.ts";
import { createProjection } from "../../../agent-server/receipts/projection.ts";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { dropTriggers, LedgerFolder, opening, rows } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let ledger: Ledger;
let storage: Storage;

beforeEach(() => {
  folder = new LedgerFolder();
  ({ ledger, storage } = folder.host());
});
afterEach(() => folder.remove());

const success = { status: "success" as const };
const names = (host = ledger) => host.search({ limit: 100 }).items.map(({ actionName, status }) => `${actionName} ${status}`);
const sql = (text: string, ...values: unknown[]) => storage.db.prepare(text).run(...values);
const progress = () => storage.db.prepare("SELECT projected_seq, indexed_seq FROM receipts_progress").raw().get();

function record(...actions: string[]): string[] {
  const ids = actions.map((name) => ledger.record(opening(name), success));
  ledger.flush();
  return ids;
}

/** As a host would that knows nothing of the rules: entries as they are given. */
function append(entries: readonly (OpenEntry | CloseEntry)[]): void {
  storage.transaction(() => createAppend(storage.db)(entries));
}
const openEntryOf = (name: string): OpenEntry => {
  const entry = readEntry(openEntry, rows(storage)[0]?.body ?? "");
  if (entry === null) throw new Error("The ledger has no first entry.");
  return { ...entry, actionName: name };
};
const closing = (id: string, status: "success" | "failure"): CloseEntry => ({
  at: 1,
  durationMs: 0,
  errorMessage: null,
  id,
  kind: "close",
  metadata: {},
  outputs: {},
  seq: 0,
  status,
  tokenCount: null,
  v: 1,
});

describe("the derived table", () => {
  it("passes over entries that were destroyed before it came to them", () => {
    const [, second] = record("first", "second", "third");
    dropTriggers(storage);
    sql("UPDATE ledger SET body = 'garbage' WHERE seq = 1");
    sql("UPDATE ledger SET body = 'garbage' WHERE receipt_id = ? AND kind = 'close'", second);
    expect(names()).toEqual(["third success", "second pending"]);
  });

  it("takes the first of two openings, and the first of two closings, that claim the same receipt", () => {
    const [id = ""] = record("first");
    append([openEntryOf("claims to be the first"), closing(id, "failure")]);
    expect(names()).toEqual(["first success"]);
    append([openEntryOf("again, later"), closing(id, "failure")]);
    expect(names()).toEqual(["first success"]);
    const open = ledger.open(opening("open"));
    append([closing(open, "success"), closing(open, "failure")]);
    expect(names()).toEqual(["open success", "first success"]);
    expect(storage.db.prepare("SELECT host_id FROM receipts").pluck().all()).toEqual([null, null]);
  });

  it("ends when the tail of the ledger was cut off, and does not look for it again", () => {
    record("first", "second", "third");
    dropTriggers(storage);
    sql("DELETE FROM ledger WHERE seq > 2");
    expect(names()).toEqual(["first success"]);
    expect(progress()).toEqual([6, 0]);
  });

  it.each([1, 15, 16, 17, 32, 600])("holds each of %i receipts once", (count) => {
    const all = Array.from({ length: count }, (_, index) => `r${index}`);
    record(...all);
    expect(ledger.search({ limit: 1_000 }).items.map(({ actionName }) => actionName)).toEqual(all.toReversed());
  });

  it("is left as it is by a host that starts, when it is right", () => {
    record("first");
    ledger.open(opening("second"));
    ledger.search({ query: "first", limit: 1 });
    expect(progress()).toEqual([3, 3]);
    const other = folder.host().ledger;
    expect(progress()).toEqual([3, 3]);
    expect(names(other)).toEqual(["second pending", "first success"]);
  });

  it("is recreated with its text index by a host that starts, when it is not", () => {
    record("first");
    ledger.search({ query: "first", limit: 1 });
    sql("DELETE FROM receipts");
    const other = folder.host().ledger;
    expect(progress()).toEqual([0, 0]);
    expect(storage.db.prepare("SELECT name FROM sqlite_schema WHERE name GLOB 'receipts_fts_*'").all()).toEqual([]);
    expect(other.search({ query: "first", limit: 10 }).items).toHaveLength(1);
  });

  it("is compared in slices, and not made again for what happens meanwhile", () => {
    record("a", "b", "c");
    const open = ledger.open(opening("d"));
    ledger.search({ query: "a", limit: 1 });
    const projection = createProjection(storage);
    expect(projection.repair(2)).toBe(false);
    // Closed and written after the comparison began.
    ledger.close(open, success);
    record("e");
    names();
    expect([projection.repair(2), projection.repair(2)]).toEqual([false, true]);
    expect(progress()).toEqual([10, 7]);
    expect(names()).toHaveLength(5);
  });

  it.each([
    "DELETE FROM receipts WHERE open_seq = 1",
    "DELETE FROM receipts WHERE open_seq = 5",
    "UPDATE receipts SET close_seq = NULL WHERE open_seq = 3",
  ])("is made again when a slice is short: %s", (damage) => {
    record("a", "b", "c");
    names();
    sql(damage);
    const projection = createProjection(storage);
    const steps = [projection.repair(1), projection.repair(1), projection.repair(1), projection.repair(1)];
    expect(steps.at(-1)).toBe(true);
    expect(progress()).toEqual([0, 0]);
    expect(names()).toHaveLength(3);
  });

  it("is not made again when another host did so, or sealed entries, between two slices", () => {
    record("a", "b", "c");
    names();
    const projection = createProjection(storage);
    expect(projection.repair(1)).toBe(false);
    sql("DELETE FROM receipts");
    sql("UPDATE receipts_progress SET projected_seq = 0, indexed_seq = 0");
    expect(projection.repair(1)).toBe(true);
    expect(progress()).toEqual([0, 0]);
    names();
    const other = createProjection(storage);
    expect(other.repair(1)).toBe(false);
    dropTriggers(storage);
    sql("DELETE FROM ledger WHERE seq <= 2");
    sql("DELETE FROM receipts WHERE open_seq = 1");
    expect([other.repair(10), progress()]).toEqual([true, [6, 0]]);
  });

  it("keeps a host from nothing when the record of how far it is was removed", () => {
    record("first");
    sql("DELETE FROM receipts_progress");
    expect(names(folder.host().ledger)).toEqual([]);
  });
});

describe("a receipt whose entry was destroyed", () => {
  const content = "This receipt's ledger entry was modified. Verify the receipts to find the first modified entry.";

  it.each([
    ["closing", "read_file"],
    ["opening", "unreadable entry"],
  ])("is shown as just that: the %s", (which, actionName) => {
    const id = ledger.record(opening("read_file", { questId: "q", parentId: "p" }), { ...success, outputs: { secret: 1 } });
    expect(ledger.get(id)?.status).toBe("success");
    dropTriggers(storage);
    sql("UPDATE ledger SET body = 'garbage' WHERE kind = ?", which === "closing" ? "close" : "open");
    const [, close] = rows(storage);
    expect(ledger.get(id)).toEqual({
      id,
      timestamp: expect.stringMatching(/^\d{4}-/) as string,
      actionType: "system",
      actionName,
      inputs: {},
      outputs: {},
      status: "failure",
      durationMs: null,
      tokenCount: null,
      cognitionTier: "DETERMINISTIC",
      riskTier: "T3",
      parentId: null,
      questId: "q",
      errorMessage: content,
      metadata: {},
      hash: close?.hash,
      prevHash: close?.prev_hash,
    });
  });
});
