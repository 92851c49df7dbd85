import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { Receipt } from "../../../agent-server/contract/receipts.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { dropTriggers, LedgerFolder, opening, rows } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
beforeEach(() => {
  folder = new LedgerFolder();
});
afterEach(() => {
  vi.useRealTimers();
  folder.remove();
});

const success = { status: "success" as const };
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof LancelotError) return error.code;
    throw error;
  }
  return "nothing thrown";
};

describe("a receipt", () => {
  it("is pending from its opening on and reports all of it after its closing", () => {
    let time = Date.UTC(2026, 10, 20, 12);
    const { ledger } = folder.host(() => time);
    const id = ledger.open(
      opening("edit_file", { questId: "q1", parentId: "p1", metadata: { rule: "workspace" }, cognitionTier: "PLANNING" }),
    );
    expect(ledger.get(id)).toMatchObject({ id, status: "pending", durationMs: null, outputs: {}, timestamp: "2026-11-20T12:00:00.000Z" });
    time += 1_250;
    const closed = ledger.close(id, {
      status: "failure",
      outputs: { hunks: 2 },
      errorMessage: "The file moved.",
      tokenCount: 12,
      metadata: { provider: "fs" },
    });
    expect(closed).toEqual(ledger.get(id));
    expect(Receipt.parse(closed)).toEqual(closed);
    expect(closed).toMatchObject({
      actionType: "tool_call",
      actionName: "edit_file",
      inputs: { path: "src/app.ts" },
      outputs: { hunks: 2 },
      status: "failure",
      durationMs: 1_250,
      tokenCount: 12,
      cognitionTier: "PLANNING",
      riskTier: "T1",
      parentId: "p1",
      questId: "q1",
      errorMessage: "The file moved.",
      metadata: { rule: "workspace", provider: "fs" },
    });
  });

  it("keeps the after-images of an action that failed: for other hosts, in a search and in an export", async () => {
    const { ledger } = folder.host();
    const id = ledger.open(opening("run_command"));
    const outputs = { changes: [{ path: "src/app.ts", before: "sha256:aaa111", after: "sha256:bbb222" }], exitCode: 1 };
    ledger.close(id, { status: "failure", outputs, errorMessage: "Exit code 1." });
    expect(folder.host().ledger.get(id)).toMatchObject({ status: "failure", outputs });
    expect(ledger.search({ query: "bbb222", limit: 10 }).items.map((receipt) => receipt.id)).toEqual([id]);
    const { file } = await ledger.export({ format: "receipts" });
    expect(readFileSync(join(folder.dataDir, "exports", file), "utf8")).toContain("sha256:bbb222");
  });

  it("is on disk for others when its opening returns", () => {
    const { ledger } = folder.host();
    const id = ledger.open(opening());
    expect(folder.host().ledger.get(id)?.status).toBe("pending");
  });

  it("closes once, also for another host", () => {
    const { ledger } = folder.host();
    const id = ledger.open(opening());
    ledger.close(id, success);
    expect(codeOf(() => ledger.close(id, success))).toBe("conflict");
    expect(codeOf(() => folder.host().ledger.close(id, success))).toBe("conflict");
    expect(codeOf(() => ledger.close("never opened", success))).toBe("not_found");
  });

  it("never takes longer than no time, whatever the clock does", () => {
    let time = 2_000_000_000_000;
    const { ledger } = folder.host(() => time);
    const id = ledger.open(opening());
    time -= 5_000;
    expect(ledger.close(id, success).durationMs).toBe(0);
  });

  it("holds no secret, in none of its parts", () => {
    const { ledger, storage } = folder.host();
    const key = ["sk", "ant", "api03", "abcdefGHIJKL0123456789mnopqrSTUV"].join("-");
    const id = ledger.open(
      opening(`run ${key}`, {
        inputs: { command: `curl -H 'x-api-key: ${key}'`, headers: { Authorization: "plain" } },
        metadata: { note: key },
      }),
    );
    ledger.close(id, { status: "failure", outputs: { stdout: key }, errorMessage: `refused: ${key}`, metadata: { [key]: 1 } });
    ledger.record(opening("env", { inputs: { password: "open sesame" } }), { ...success, outputs: { list: [key] } });
    ledger.flush();
    expect(JSON.stringify(rows(storage))).not.toMatch(/abcdefGHIJKL|open sesame|"plain"/);
    expect(ledger.get(id)?.errorMessage).toBe("refused: [redacted:anthropic-key]");
  });

  it.each([
    ["one long text", { text: "word ".repeat(200_000) }],
    ["many texts", Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`key${index}`, "text ".repeat(20)]))],
    ["a long list", { items: Array.from({ length: 100_000 }, (_, index) => index) }],
    ["quotes and newlines", { text: '"\n\u0001'.repeat(60_000) }],
    ["emoji and half ones", { text: "🙂".repeat(60_000), half: "\ud800x" }],
    ["deep nesting", Array.from({ length: 500 }).reduce<Record<string, unknown>>((inner) => ({ inner, more: "x".repeat(100) }), {})],
  ])("is bounded: %s", async (_, inputs) => {
    const { ledger, storage } = folder.host();
    const id = ledger.open(opening("read_file", { inputs }));
    ledger.close(id, { status: "failure", outputs: inputs, errorMessage: "long ".repeat(10_000) });
    for (const row of rows(storage)) expect(Buffer.byteLength(row.body)).toBeLessThan(2 * 32_768);
    expect(Buffer.byteLength(JSON.stringify(ledger.get(id)?.inputs))).toBeLessThanOrEqual(32_768);
    expect(JSON.stringify(ledger.get(id)?.inputs)).toMatch(/cut\]|too deep/);
    expect((await ledger.verify()).ok).toBe(true);
  });

  it.each<[string, Record<string, unknown>, unknown]>([
    [
      "what JSON has no word for",
      { a: undefined, b: Number.NaN, c: () => 1, d: 10n, e: Number.POSITIVE_INFINITY },
      { b: null, d: "10", e: null },
    ],
    [
      "dates, errors, maps, sets and bytes",
      { a: new Date(0), b: new Error("no"), c: new Map([["k", 1]]), d: new Set([1]), e: new Uint8Array(9) },
      {
        a: "1970-01-01T00:00:00.000Z",
        b: { name: "Error", message: "no" },
        c: { k: 1 },
        d: [1],
        e: "[9 bytes]",
      },
    ],
    ["keys in no order, and keys like numbers", { b: 1, "10": 2, "9": 3, a: 4, "": 5, é: 6 }, { b: 1, "10": 2, "9": 3, a: 4, "": 5, é: 6 }],
    [
      "a key that would change an object, without its doing so",
      JSON.parse('{"__proto__":{"x":1},"constructor":2}') as Record<string, unknown>,
      { constructor: 2 },
    ],
  ])("holds %s", async (_, inputs, expected) => {
    const { ledger } = folder.host();
    const id = ledger.open(opening("odd", { inputs }));
    expect(ledger.get(id)?.inputs).toEqual(expected);
    expect((await ledger.verify()).ok).toBe(true);
  });

  it("survives inputs that contain themselves", async () => {
    const { ledger } = folder.host();
    const inputs: Record<string, unknown> = { name: "loop" };
    inputs["self"] = inputs;
    expect(ledger.get(ledger.open(opening("loop", { inputs })))?.inputs).toEqual({ name: "loop", self: "[circular]" });
  });
});

describe("a transaction that is undone", () => {
  const undo = (storage: Storage, work: () => void) =>
    expect(() =>
      storage.transaction(() => {
        work();
        throw new Error("undone");
      }),
    ).toThrow("undone");

  it("leaves a receipt open that it closed, and none that it opened", async () => {
    const { ledger, storage } = folder.host();
    const id = ledger.open(opening());
    let inner = "";
    undo(storage, () => {
      ledger.close(id, success);
      inner = ledger.open(opening());
      ledger.close(inner, success);
    });
    expect(codeOf(() => ledger.close(inner, success))).toBe("not_found");
    expect(ledger.get(id)?.status).toBe("pending");
    expect(ledger.close(id, success).status).toBe("success");
    expect(codeOf(() => ledger.close(id, success))).toBe("conflict");
    expect(await ledger.verify()).toMatchObject({ ok: true, entries: 2 });
  });

  it("leaves it open for another host to close, after which it is closed here too", () => {
    const { ledger, storage } = folder.host();
    const id = ledger.open(opening());
    undo(storage, () => void ledger.close(id, success));
    folder.host().ledger.close(id, { status: "cancelled" });
    expect(codeOf(() => ledger.close(id, success))).toBe("conflict");
    expect(ledger.get(id)?.status).toBe("cancelled");
  });
});

describe("batched receipts", () => {
  it("are written by the next opening, before it", () => {
    const { ledger, storage } = folder.host();
    const read = ledger.record(opening("read_file", { riskTier: "T0" }), { ...success, durationMs: 3 });
    expect(rows(storage)).toHaveLength(0);
    const edit = ledger.open(opening("edit_file"));
    expect(rows(storage).map((row) => [row.receipt_id, row.kind])).toEqual([
      [read, "open"],
      [read, "close"],
      [edit, "open"],
    ]);
    expect(ledger.get(read)).toMatchObject({ status: "success", durationMs: 3 });
  });

  it.each<[string, (host: ReturnType<LedgerFolder["host"]>, id: string) => void]>([
    ["flush", ({ ledger }) => ledger.flush()],
    ["a look at one", ({ ledger }, id) => void ledger.get(id)],
    ["a search", ({ ledger }) => void ledger.search({ limit: 1 })],
    ["closing the data folder", ({ storage }) => storage.close()],
  ])("are written by %s", (_, write) => {
    const host = folder.host();
    const id = host.ledger.record(opening(), success);
    write(host, id);
    expect(rows(folder.host().storage)).toHaveLength(2);
  });

  it("are written after a quarter of a second", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { ledger, storage } = folder.host();
    ledger.record(opening(), success);
    vi.advanceTimersByTime(249);
    expect(rows(storage)).toHaveLength(0);
    vi.advanceTimersByTime(1);
    expect(rows(storage)).toHaveLength(2);
  });

  it("are written when there are many, without waiting", () => {
    const { ledger, storage } = folder.host();
    for (let index = 0; index < 65; index += 1) ledger.record(opening(), success);
    expect(rows(storage)).toHaveLength(128);
  });

  it("are kept when the transaction around them is undone", async () => {
    const { ledger, storage } = folder.host();
    const read = ledger.record(opening("read_file"), success);
    let undone = "";
    expect(() =>
      storage.transaction(() => {
        undone = ledger.open(opening("edit_file"));
        throw new Error("no");
      }),
    ).toThrow("no");
    ledger.flush();
    expect(ledger.get(read)?.status).toBe("success");
    expect(ledger.get(undone)).toBeNull();
    expect((await ledger.verify()).entries).toBe(2);
  });

  it("refuse a further action when the disk is full, and are written when there is space again", async () => {
    const { ledger, storage } = folder.host();
    const full = storage.db.pragma("page_count", { simple: true }) as number;
    storage.db.pragma(`max_page_count = ${full}`);
    let taken = 0;
    expect(
      codeOf(() => {
        for (; taken < 1_000; taken += 1) ledger.record(opening("read_file", { inputs: { text: "x".repeat(2_000) } }), success);
      }),
    ).toBe("unavailable");
    expect(codeOf(() => ledger.open(opening()))).toBe("unavailable");
    storage.db.pragma("max_page_count = 100000");
    ledger.flush();
    expect(await ledger.verify()).toMatchObject({ ok: true, entries: taken * 2 });
  });
});

describe("listeners", () => {
  it("hear each receipt when it is opened and when it is closed, once it is written", () => {
    const { ledger, storage } = folder.host();
    const heard: string[] = [];
    const stop = ledger.onReceipt((receipt) => heard.push(`${receipt.actionName} ${receipt.status}`));
    ledger.record(opening("a"), success);
    expect(heard).toEqual([]);
    const id = ledger.open(opening("b"));
    ledger.close(id, { status: "cancelled" });
    expect(heard).toEqual(["a success", "b pending", "b cancelled"]);
    expect(() =>
      storage.transaction(() => {
        ledger.open(opening("undone"));
        throw new Error("no");
      }),
    ).toThrow();
    stop();
    ledger.open(opening("c"));
    expect(heard).toHaveLength(3);
  });
});

describe("the table", () => {
  it.each([
    "UPDATE ledger SET body = '{}' WHERE seq = 1",
    "DELETE FROM ledger WHERE seq = 1",
    "INSERT OR REPLACE INTO ledger SELECT seq, receipt_id, kind, '{}', hash, prev_hash FROM ledger WHERE seq = 1",
    "UPDATE ledger_head SET seq = 0",
    "INSERT OR REPLACE INTO ledger_head (id, seq, hash) VALUES (1, 0, 'x')",
    "DELETE FROM ledger_head",
  ])("refuses %s", (sql) => {
    const { ledger, storage } = folder.host();
    ledger.open(opening());
    const before = rows(storage);
    expect(() => storage.db.exec(sql)).toThrow(/append-only|only moves forward/);
    expect(rows(storage)).toEqual(before);
  });

  it("takes no further entry when someone wrote behind the recorded head", () => {
    const { ledger, storage } = folder.host();
    ledger.open(opening());
    storage.db.exec("INSERT INTO ledger VALUES (2, 'x', 'open', '{}', 'h', 'p')");
    expect(codeOf(() => ledger.open(opening()))).toBe("unavailable");
  });
});

describe("reconciling", () => {
  it("closes what a host that is gone left open, and nothing else", () => {
    const gone = folder.host();
    const alive = folder.host();
    const left = [gone.ledger.open(opening("a")), gone.ledger.open(opening("b"))];
    const finished = gone.ledger.open(opening("c"));
    gone.ledger.close(finished, success);
    const running = alive.ledger.open(opening("d"));
    gone.storage.close();
    const heard: string[] = [];
    alive.ledger.onReceipt((receipt) => heard.push(receipt.id));
    expect(alive.ledger.reconcile()).toBe(2);
    expect(heard).toEqual(left);
    for (const id of left) {
      expect(alive.ledger.get(id)).toMatchObject({ status: "failure", errorMessage: "Lancelot stopped before this action finished." });
    }
    expect(alive.ledger.get(finished)?.status).toBe("success");
    expect(alive.ledger.get(running)?.status).toBe("pending");
    expect(alive.ledger.reconcile()).toBe(0);
  });
});

describe("the derived table", () => {
  it.each([
    ["emptied", "DELETE FROM receipts"],
    ["short of one", "DELETE FROM receipts WHERE open_seq = 1"],
    ["short of a closing", "UPDATE receipts SET close_seq = NULL, status = 'pending' WHERE close_seq IS NOT NULL"],
  ])("is made again from the ledger when it was %s", async (_, sql) => {
    const first = folder.host();
    const done = first.ledger.open(opening("finished work"));
    first.ledger.close(done, success);
    const pending = first.ledger.open(opening("open work"));
    first.ledger.search({ query: "work", limit: 10 });
    first.storage.db.exec(sql);
    const { ledger } = folder.host();
    expect(ledger.search({ query: "work", limit: 10 }).items.map((receipt) => [receipt.id, receipt.status])).toEqual([
      [pending, "pending"],
      [done, "success"],
    ]);
    expect((await ledger.verify()).ok).toBe(true);
  });

  it("shows a receipt whose entry was destroyed as just that", () => {
    const { ledger, storage } = folder.host();
    const id = ledger.open(opening());
    expect(ledger.get(id)?.status).toBe("pending");
    dropTriggers(storage);
    storage.db.exec("UPDATE ledger SET body = 'garbage'");
    expect(ledger.get(id)).toMatchObject({ id, status: "failure", errorMessage: expect.stringMatching(/was modified/) as string });
    expect(Receipt.safeParse(ledger.get(id)).success).toBe(true);
  });
});
