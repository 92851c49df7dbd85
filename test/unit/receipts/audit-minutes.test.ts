import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Receipt } from "../../../agent-server/contract/receipts.ts";
import { type AuditDeps, createAudit } from "../../../agent-server/receipts/audit.ts";
import type { ReceiptClosing, ReceiptOpening } from "../../../agent-server/receipts/receipts.ts";

const minute = 60_000;
let clock: number;
let written: (ReceiptOpening & ReceiptClosing)[];
let tell: (receipt: Partial<Receipt>) => void;
let listening: number;

beforeEach(() => {
  clock = Date.UTC(2026, 10, 21, 12);
  written = [];
  listening = 0;
});
afterEach(() => void vi.useRealTimers());

/** An audit log over a ledger that keeps what it is told. */
function audit(more: Partial<AuditDeps> = {}) {
  return createAudit({
    ledger: {
      record: (opening, closing) => {
        written.push({ ...opening, ...closing });
        return "id";
      },
      onReceipt: (listener) => {
        listening += 1;
        tell = (receipt) =>
          listener({ id: "r", actionName: "a", questId: null, status: "success", inputs: {}, outputs: {}, ...receipt } as Receipt);
        return () => (listening -= 1) >= 0;
      },
    },
    now: () => clock,
    ...more,
  });
}
const titles = () => written.map(({ actionName, inputs }) => `${actionName} ${String(inputs["title"])}`);

describe("a note of the audit log", () => {
  it("is a receipt of its kind, of the quest and below the receipt it came from", () => {
    const log = audit();
    log.note("vault", { title: "get A" });
    log.note("flag", { title: "B on" }, { questId: "q", parentId: "p" });
    log.note("flag", { title: "C on" }, {});
    const of = (event: string, title: string, questId: string | null, parentId: string | null) => ({
      actionType: "system",
      actionName: `security.${event}`,
      inputs: { title },
      riskTier: "T0",
      questId,
      parentId,
      status: "success",
      outputs: {},
    });
    expect(written).toEqual([of("vault", "get A", null, null), of("flag", "B on", "q", "p"), of("flag", "C on", null, null)]);
  });

  it("of the same is written once a minute for each quest; how many more came is said when the minute is over", () => {
    const log = audit();
    for (const questId of [null, "q", null, "q", "r"]) log.note("vault", { title: "get A" }, { questId });
    log.note("vault", { title: "get B" });
    expect(written.map(({ questId }) => questId)).toEqual([null, "q", "r", null]);
    clock += minute - 1;
    log.note("vault", { title: "get A" });
    expect(written).toHaveLength(4);
    clock += 1;
    log.note("vault", { title: "get A" });
    expect(titles().slice(4)).toEqual(["security.vault 3 more", "security.vault get A"]);
    expect(written[4]).toMatchObject({ outputs: { more: 3, since: "2026-11-21T12:00:00.000Z" }, questId: null, parentId: null });
  });

  it("begins a new minute too when the clock is set back", () => {
    const log = audit();
    log.note("vault", { title: "get A" });
    clock -= minute;
    log.note("vault", { title: "get A" });
    expect(titles()).toEqual(["security.vault get A", "security.vault get A"]);
  });

  it("is one of thirty of its kind in a minute, unless said otherwise", () => {
    const log = audit();
    for (let index = 0; index < 40; index += 1) log.note("rate-limited", { title: String(index) });
    log.note("too-large", { title: "other" });
    expect(written).toHaveLength(31);
    log.close();
    expect(written.at(-1)).toMatchObject({ actionName: "security.rate-limited", inputs: { title: "10 more" }, outputs: { more: 10 } });
    expect(written).toHaveLength(32);
  });

  it("of what is no JSON is written, and counts as the same", () => {
    const log = audit();
    const circular = (name: string): Record<string, unknown> => {
      const one: Record<string, unknown> = { name };
      one["self"] = one;
      return one;
    };
    log.note("soul", circular("a"));
    log.note("soul", circular("b"));
    expect(written).toHaveLength(1);
  });

  it("that cannot be written is logged, and stops nothing", () => {
    const logged: unknown[] = [];
    const fault = new Error("full");
    const log = createAudit({
      ledger: {
        record: () => {
          throw fault;
        },
        onReceipt: () => () => false,
      },
      log: (...of) => logged.push(of),
      now: () => clock,
    });
    log.note("soul", {});
    expect(logged).toEqual([["security.soul could not be recorded", fault]]);
    createAudit({
      ledger: {
        record: () => {
          throw fault;
        },
        onReceipt: () => () => false,
      },
    }).note("soul", {});
  });
});

describe("minutes that are over", () => {
  it("are told by themselves, and the others continue", () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const log = audit();
    expect(vi.getTimerCount()).toBe(0);
    log.note("vault", { title: "get A" });
    log.note("vault", { title: "get A" });
    expect(vi.getTimerCount()).toBe(1);
    clock += minute / 2;
    log.note("flag", { title: "B" });
    log.note("flag", { title: "B" });
    expect(vi.getTimerCount()).toBe(1);
    clock += minute / 2;
    vi.advanceTimersByTime(minute);
    expect(titles()).toEqual(["security.vault get A", "security.flag B", "security.vault 1 more"]);
    clock += minute / 2;
    vi.advanceTimersByTime(minute);
    expect(titles().at(-1)).toBe("security.flag 1 more");
    // A minute without more is over without a word.
    log.note("soul", { title: "x" });
    clock += minute;
    vi.advanceTimersByTime(minute);
    expect(titles().at(-1)).toBe("security.soul x");
    log.close();
    expect([vi.getTimerCount(), listening]).toEqual([0, 0]);
    expect(written).toHaveLength(5);
  });

  it("are told at the end, however long they would still take", () => {
    const log = audit();
    log.note("vault", { title: "get A" });
    log.note("vault", { title: "get A" });
    log.close();
    expect(titles()).toEqual(["security.vault get A", "security.vault 1 more"]);
    audit().close();
  });
});

describe("receipts that belong into the audit log", () => {
  it.each([
    ["governance.deny", "denied"],
    ["soul.activate", "soul"],
    ["trust.accept", "trust"],
    ["learning.suspend", "learning"],
    ["vault.set", "vault"],
    ["crusader.start", "crusader"],
    ["governance.denied", null],
    ["my.governance.deny", null],
    ["xsoul.y", null],
    ["soulful", null],
    ["mytrust.x", null],
    ["mylearning.x", null],
    ["myvault.x", null],
    ["mycrusader.x", null],
    ["read_file", null],
  ])("by their name: %s", (actionName, event) => {
    audit();
    tell({ actionName, questId: "q", status: "failure" });
    expect(written.map((one) => [one.actionName, one.inputs, one.questId, one.parentId])).toEqual(
      event === null ? [] : [[`security.${event}`, { title: actionName, receiptId: "r", status: "failure" }, "q", "r"]],
    );
    tell({ actionName, status: "pending" });
    expect(written).toHaveLength(event === null ? 0 : 1);
  });

  it.each<[string, Partial<Receipt>, string | null]>([
    ["of its inputs", { inputs: { injection: ["a", "b"] } }, "read: a, b"],
    ["of its outputs", { outputs: { injection: ["c"] } }, "read: c"],
    ["of its outputs before its inputs", { outputs: { injection: ["c"] }, inputs: { injection: ["a"] } }, "read: c"],
    ["that are none", { outputs: { injection: [] } }, null],
    ["that are no list", { outputs: { injection: "many" } }, null],
    ["of none", {}, null],
  ])("by the orders that were found in texts %s", (_, more, title) => {
    audit();
    tell({ actionName: "read", questId: "q", ...more });
    expect(written.map((one) => [one.actionName, one.inputs, one.questId, one.parentId])).toEqual(
      title === null ? [] : [["security.injection", { title, receiptId: "r" }, "q", "r"]],
    );
  });
});
