import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Verification } from "../../../agent-server/contract/receipts.ts";
import { receiptsHandlers } from "../../../agent-server/receipts/handlers.ts";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import { LedgerFolder, opening } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let ledger: Ledger;
beforeEach(() => {
  folder = new LedgerFolder();
  ({ ledger } = folder.host());
});
afterEach(() => folder.remove());

const call = { owner: false, signal: new AbortController().signal };

describe("the contract's methods on receipts", () => {
  it("find, show and trace what the ledger holds", async () => {
    const handlers = receiptsHandlers({ ledger, emit: () => undefined });
    const parent = ledger.open(opening("parent", { questId: "q" }));
    const child = ledger.open(opening("child", { questId: "q", parentId: parent }));
    expect(await handlers["receipts.search"]({ query: "child", limit: 5 }, call)).toEqual(ledger.search({ query: "child", limit: 5 }));
    expect(await handlers["receipts.get"]({ id: child }, call)).toEqual(ledger.get(child));
    const roots = [{ receipt: ledger.get(parent), children: [{ receipt: ledger.get(child), children: [] }] }];
    expect(await handlers["receipts.trace"]({ id: child }, call)).toEqual({ roots });
    expect(await handlers["receipts.trace"]({ questId: "q" }, call)).toEqual({ roots });
    expect(await handlers["receipts.trace"]({ questId: "gone" }, call)).toEqual({ roots: [] });
    expect(await handlers["receipts.trace"]({ id: "gone" }, call)).toEqual({ roots: [] });
    await expect(handlers["receipts.get"]({ id: "gone" }, call)).rejects.toMatchObject({
      code: "not_found",
      message: "There is no receipt gone.",
    });
  });

  it("tell how far a verification is every 150 ms at most, and its end", async () => {
    const steps: [at: number, done: number][] = [
      [149, 10],
      [150, 20],
      [299, 30],
      [300, 40],
      [301, 100],
    ];
    let clock = 0;
    const answer = await ledger.verify();
    const stepping: Pick<Ledger, "verify"> = {
      verify: (signal, progress): Promise<Verification> => {
        expect(signal).toBe(call.signal);
        for (const [at, done] of steps) {
          clock = at;
          progress?.(done, 100);
        }
        return Promise.resolve(answer);
      },
    };
    const reported: unknown[] = [];
    const handlers = receiptsHandlers({
      ledger: { ...ledger, ...stepping },
      emit: (topic, payload) => reported.push([topic, payload]),
      now: () => clock,
    });
    expect(await handlers["receipts.verify"]({}, call)).toBe(answer);
    expect(reported).toEqual([20, 40, 100].map((done) => ["verifying", { done, total: 100 }]));
  });

  it("leave a receipt of an export", async () => {
    const handlers = receiptsHandlers({ ledger, emit: () => undefined });
    await handlers["receipts.export"]({ format: "receipts" }, call);
    expect(ledger.search({ limit: 1 }).items[0]).toMatchObject({
      actionType: "system",
      actionName: "receipts.export",
      inputs: { format: "receipts" },
      riskTier: "T1",
      status: "success",
    });
  });
});
