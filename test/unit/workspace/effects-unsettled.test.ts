import { existsSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createEffectsFixture, type EffectsFixture } from "../../support/tools/effects-fixture.ts";

let fixture: EffectsFixture;
beforeEach(() => {
  fixture = createEffectsFixture();
});
afterEach(() => fixture.close());

/** Runs a command that may go on after its action is over. @returns ends it */
async function lose(questId: string): Promise<{ receiptId: string; end: () => void }> {
  const { promise: stillRunning, resolve: end } = Promise.withResolvers<void>();
  const { receiptId } = await fixture.sh("", {
    questId,
    run: () => {
      fixture.write("early.txt", "1\n");
      return Promise.resolve({ stillRunning });
    },
  });
  return { receiptId, end };
}
const recorded = () => fixture.ledger.search({ query: "effects.recover", limit: 5 }).items;

it("a command that may still run keeps its changes, early and late ones, and others wait for its end", async () => {
  const { receiptId, end } = await lose("q1");
  expect(fixture.ledger.get(receiptId)).toMatchObject({ outputs: { changesPending: true } });
  const order: string[] = [];
  const waiting = fixture.sh("", {
    questId: "q2",
    run: () => {
      order.push("next");
      fixture.write("next.txt", "2\n");
      return Promise.resolve();
    },
  });
  await fixture.effects?.share(new AbortController().signal, () => Promise.resolve(order.push("tool")));
  fixture.write("late.txt", "1\n");
  order.push("end");
  end();
  const { touched } = await waiting;
  expect(order.at(-1)).toBe("next");
  expect(touched.files.map(({ path }) => path)).toEqual(["next.txt"]);
  expect(recorded()).toMatchObject([{ status: "success", questId: "q1", parentId: receiptId, outputs: { changedTotal: 2 } }]);
  expect((await fixture.restore.restore({ questId: "q1" })).restored.toSorted()).toEqual(["early.txt", "late.txt"]);
  expect(existsSync(fixture.path("next.txt"))).toBe(true);
});

it("while it does not end, other commands are refused, and one that is stopped does not wait", async () => {
  const { end } = await lose("q1");
  const stopping = new AbortController();
  const stopped = fixture.sh("echo x > x.txt", { questId: "q2", signal: stopping.signal });
  stopping.abort();
  await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
  await expect(fixture.sh("echo x > x.txt", { questId: "q2" })).rejects.toMatchObject({ code: "unavailable" });
  expect(existsSync(fixture.path("x.txt"))).toBe(false);
  expect(recorded()).toEqual([]);
  end();
  expect((await fixture.sh("echo x > x.txt", { questId: "q2" })).touched.total).toBe(1);
});
