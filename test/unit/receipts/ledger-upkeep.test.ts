import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Receipt } from "../../../agent-server/contract/receipts.ts";
import { dropTriggers, keyStore, LedgerFolder, type LedgerHost, opening, rows } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let time: number;
beforeEach(() => {
  folder = new LedgerFolder();
  time = Date.UTC(2026, 0, 1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  folder.remove();
});

const success = { status: "success" as const };
const tick = 250;
/** The next one while the derived tables are behind. */
const catchUp = 50;
const progress = ({ storage }: LedgerHost) =>
  storage.db
    .prepare<[], { projected: number; indexed: number }>("SELECT projected_seq AS projected, indexed_seq AS indexed FROM receipts_progress")
    .get();

/** A host whose timers stand still until they are told; and how many of them wait while it has nothing to do. */
function still(): { host: LedgerHost; idle: number } {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const host = folder.host(() => time);
  return { host, idle: vi.getTimerCount() };
}

describe("automatic maintenance of the ledger", () => {
  it("takes 500 entries into the derived table and 200 into the text index with each tick, which follow fast until all is in", () => {
    const { host, idle } = still();
    for (let index = 0; index < 300; index += 1) host.ledger.record(opening(), success);
    host.ledger.flush();
    expect(progress(host)).toEqual({ projected: 0, indexed: 0 });
    const steps: unknown[] = [];
    for (let ticks = 0; vi.getTimerCount() > idle && ticks < 10; ticks += 1) {
      vi.advanceTimersByTime(ticks === 0 ? tick : catchUp);
      steps.push(Object.values(progress(host) ?? {}));
    }
    expect(steps).toEqual([
      // What is projected in a later tick is indexed by later ones; the last finds nothing more.
      [500, 0],
      [600, 200],
      [600, 400],
      [600, 600],
    ]);
    vi.advanceTimersByTime(10 * tick);
    expect(vi.getTimerCount()).toBe(idle);
  });

  it("follows an opening alone", () => {
    const { host, idle } = still();
    host.ledger.open(opening());
    expect(vi.getTimerCount()).toBe(idle + 1);
    vi.advanceTimersByTime(tick);
    expect(progress(host)).toEqual({ projected: 1, indexed: 1 });
    expect(vi.getTimerCount()).toBe(idle);
  });

  it("keeps what a full disk does not take, and tries again", () => {
    const { host } = still();
    const { ledger, storage } = host;
    const id = ledger.record(opening("kept", { inputs: { text: "x".repeat(30_000) } }), success);
    storage.db.pragma(`max_page_count = ${storage.db.pragma("page_count", { simple: true }) as number}`);
    vi.advanceTimersByTime(4 * tick);
    expect(rows(storage)).toHaveLength(0);
    expect(() => ledger.flush()).toThrow("The disk that holds Lancelot's data folder is full");
    storage.db.pragma("max_page_count = 100000");
    vi.advanceTimersByTime(tick);
    expect(rows(storage).map(({ receipt_id }) => receipt_id)).toEqual([id, id]);
  });

  it("ends with the data folder", () => {
    const { host } = still();
    host.ledger.record(opening(), success);
    host.storage.close();
    expect(vi.getTimerCount()).toBe(0);
    host.ledger.record(opening(), success);
    vi.advanceTimersByTime(tick);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("batched receipts", () => {
  it("wait until there are more than 64 of them", () => {
    const { host } = still();
    for (let index = 0; index < 64; index += 1) host.ledger.record(opening(), success);
    expect(rows(host.storage)).toHaveLength(0);
    host.ledger.record(opening(), success);
    expect(rows(host.storage)).toHaveLength(128);
  });

  it("are written before what is closed after them", () => {
    const { host } = still();
    const id = host.ledger.open(opening("first"));
    const batched = host.ledger.record(opening("second"), success);
    host.ledger.close(id, success);
    expect(rows(host.storage).map(({ receipt_id, kind }) => [receipt_id, kind])).toEqual([
      [id, "open"],
      [batched, "open"],
      [batched, "close"],
      [id, "close"],
    ]);
  });

  it.each<[string, (host: LedgerHost) => unknown]>([
    ["a verification", ({ ledger }) => ledger.verify()],
    ["a trace", ({ ledger }) => ledger.trace({ questId: "q" })],
    ["an export", ({ ledger }) => ledger.export({ format: "receipts" })],
    ["a sealing", ({ ledger }) => ledger.seal()],
    ["a signature", ({ ledger }) => ledger.sign()],
    ["the end", ({ ledger }) => ledger.end()],
    ["a look for one, also in sealed files", ({ ledger }) => ledger.find("x")],
  ])("are written by %s", async (_, write) => {
    const host = folder.host();
    host.ledger.record(opening(), success);
    await write(host);
    expect(rows(host.storage)).toHaveLength(2);
  });

  it("are told to listeners as they are in the ledger", () => {
    const { ledger } = folder.host();
    const heard: Receipt[] = [];
    ledger.onReceipt((receipt) => heard.push(receipt));
    const ids = ["a", "b", "c"].map((name) => ledger.record(opening(name), success));
    ledger.flush();
    expect(heard).toEqual(ids.map((id) => ledger.get(id)));
  });

  it("that were undone are told once they are written", () => {
    const { ledger, storage } = folder.host();
    const heard: string[] = [];
    ledger.onReceipt(({ actionName }) => heard.push(actionName));
    ledger.record(opening("a"), success);
    expect(() =>
      storage.transaction(() => {
        ledger.flush();
        throw new Error("undone");
      }),
    ).toThrow("undone");
    expect(heard).toEqual([]);
    ledger.record(opening("b"), success);
    ledger.flush();
    expect(heard).toEqual(["a", "b"]);
  });
});

describe("a listener that fails", () => {
  it.each([
    ["with an error", new Error("no"), new Error("no")],
    ["with something else", 7, "7"],
  ])("%s does not make the action fail; the process warns of it", (_, thrown, warning) => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const { ledger } = folder.host();
    const heard: string[] = [];
    ledger.onReceipt(() => {
      throw thrown;
    });
    ledger.onReceipt(({ status }) => heard.push(status));
    ledger.close(ledger.open(opening()), success);
    expect(heard).toEqual(["pending", "success"]);
    expect(warn.mock.calls).toEqual([[warning], [warning]]);
  });
});

describe("a receipt that cannot be closed", () => {
  it("is told by its id, of which no more than 200 characters are shown", () => {
    const { ledger } = folder.host();
    expect(() => ledger.close("x".repeat(300), success)).toThrow(`There is no receipt ${"x".repeat(200)}.`);
    const id = ledger.open(opening());
    ledger.close(id, success);
    expect(() => ledger.close(id, success)).toThrow(`The receipt ${id} is already closed.`);
  });

  it("is one whose opening was undone", () => {
    const { ledger, storage } = folder.host();
    // So that this host has looked at what others closed.
    ledger.close(ledger.open(opening()), success);
    const before = rows(storage);
    let id = "";
    expect(() =>
      storage.transaction(() => {
        id = ledger.open(opening());
        throw new Error("undone");
      }),
    ).toThrow("undone");
    expect(() => ledger.close(id, success)).toThrow(`There is no receipt ${id}.`);
    expect(rows(storage)).toEqual(before);
  });

  it("is one whose opening was destroyed, also for a host that did not write it", () => {
    const { ledger, storage } = folder.host();
    const id = ledger.open(opening());
    const other = folder.host().ledger;
    other.get(id);
    dropTriggers(storage);
    storage.db.exec("UPDATE ledger SET body = 'garbage'");
    expect(() => other.close(id, success)).toThrow("The ledger was modified by another program");
  });
});

describe("a ledger that was changed from outside", () => {
  const content =
    "The ledger was modified by another program, so Lancelot cannot record or do anything. Verify the receipts to find the first modified entry.";

  it("takes no entry without its head", () => {
    const { ledger, storage } = folder.host();
    dropTriggers(storage);
    storage.db.exec("DELETE FROM ledger_head");
    expect(() => ledger.open(opening())).toThrow(expect.objectContaining({ code: "unavailable", message: content }));
  });

  it("takes no entry in the place of another", () => {
    const { ledger, storage } = folder.host();
    ledger.open(opening());
    storage.db.exec("INSERT INTO ledger VALUES (2, 'x', 'open', '{}', 'h', 'p')");
    expect(() => ledger.open(opening())).toThrow(
      expect.objectContaining({
        code: "unavailable",
        message: content,
        cause: expect.objectContaining({ code: "SQLITE_CONSTRAINT_PRIMARYKEY" }) as unknown,
      }),
    );
  });
});

describe("the key of the ledger", () => {
  it("is reported as missing where there is no key store", () => {
    const { ledger } = folder.host();
    expect(ledger.degraded()).toBe(
      "No key store is connected, so the receipts are not signed: a complete rewrite of the ledger would not be detected.",
    );
  });

  it("is replaced with a receipt of it", async () => {
    const { ledger } = folder.host(() => time, { secrets: keyStore() });
    ledger.record(opening(), success);
    const before = await ledger.sign();
    const after = await ledger.rotateKey();
    expect(after).toMatch(/^[0-9a-f]{16}$/);
    expect(after).not.toBe(before?.keyId);
    expect(ledger.search({ limit: 1 }).items[0]).toMatchObject({
      actionType: "system",
      actionName: "receipts.rotateKey",
      riskTier: "T3",
      status: "success",
    });
  });

  it("signs before an export of receipts, and at the end of the host", async () => {
    const { ledger } = folder.host(() => time, { secrets: keyStore() });
    ledger.record(opening(), success);
    await ledger.export({ format: "receipts" });
    expect((await ledger.verify()).signed?.seq).toBe(2);
    ledger.record(opening(), success);
    await ledger.end();
    expect((await ledger.verify()).signed?.seq).toBe(4);
    expect(readdirSync(join(folder.dataDir, "exports"))).toHaveLength(1);
  });
});
