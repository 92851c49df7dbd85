import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createRequestQueue } from "../../../../agent-server/models/local/request-queue.ts";

const never = () => new AbortController().signal;
const settle = () => new Promise((resolve) => setImmediate(resolve));

it("lets one in at a time, in the order they came, whoever leaves the queue", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 12 }), async (leaves) => {
      const turns = createRequestQueue(20);
      const first = await turns.take(never());
      const order: number[] = [];
      let inside = 1;
      const stops = leaves.map(() => new AbortController());
      const waiting = leaves.map(async (_, index) => {
        const release = await turns.take(stops[index]?.signal ?? never()).catch(() => null);
        if (release === null) return;
        order.push(index);
        inside++;
        expect(inside).toBe(1);
        await settle();
        inside--;
        release();
        // A second time it ends nobody's turn.
        release();
      });
      expect(turns.waiting()).toBe(leaves.length);
      for (const [index, leaving] of leaves.entries()) if (leaving) stops[index]?.abort();
      expect(turns.waiting()).toBe(leaves.filter((leaving) => !leaving).length);
      inside--;
      first();
      await Promise.all(waiting);
      expect(order).toEqual(leaves.flatMap((leaving, index) => (leaving ? [] : [index])));
      (await turns.take(never()))();
    }),
  );
});

it("lets so many wait and no more", async () => {
  const turns = createRequestQueue(1);
  const release = await turns.take(never());
  const second = turns.take(never());
  await expect(turns.take(never())).rejects.toMatchObject({ code: "rate_limited", data: { retryable: true } });
  release();
  (await second)();
  expect(turns.waiting()).toBe(0);
});

it("gives no turn to who has stopped already", async () => {
  await expect(createRequestQueue(1).take(AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
});
