import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyDelta, positionOf } from "../../../webviews/shared/message-log.ts";
import { sampleMessage } from "../../support/webview-harness/samples.ts";

const open = sampleMessage({ id: "m", role: "assistant", open: true, parts: [] });

function delta(offset: number, text: string, partIndex = 0) {
  return { questId: "quest-1", messageId: "m", partIndex, kind: "text" as const, offset, text };
}

describe("applyDelta", () => {
  it.each([
    ["starts a part that was not there", "", delta(0, "ab"), "ab"],
    ["appends at the end", "ab", delta(2, "c"), "abc"],
    ["adds only the rest of an overlap", "abc", delta(1, "bcd"), "abcd"],
  ])("%s", (_, before, change, after) => {
    const parts = before === "" ? [] : [{ type: "text" as const, text: before }];
    expect(applyDelta({ ...open, parts }, change)).toMatchObject({ kind: "applied", message: { parts: [{ type: "text", text: after }] } });
  });

  it.each([
    ["a part in between is missing", delta(0, "x", 2), "gap"],
    ["text before it is missing", delta(5, "x"), "gap"],
    ["the overlap is another text", delta(1, "XX"), "gap"],
    ["it is a repeat", delta(0, "ab"), "repeat"],
    ["the part is of another kind", { ...delta(3, "x"), kind: "thinking" as const }, "gap"],
  ])("sees when %s", (_, change, kind) => {
    expect(applyDelta({ ...open, parts: [{ type: "text", text: "abc" }] }, change).kind).toBe(kind);
  });

  it("leaves the message it was given as it was", () => {
    const before = { ...open, parts: [{ type: "text" as const, text: "a" }] };
    applyDelta(before, delta(1, "b"));
    expect(before.parts).toEqual([{ type: "text", text: "a" }]);
  });

  it("gives the same text however a stream is cut and whichever deltas are repeated", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.nat()), fc.array(fc.boolean()), (text, cuts, repeats) => {
        const edges = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
        const deltas = edges.slice(1).map((end, index) => delta(edges[index] ?? 0, text.slice(edges[index], end)));
        let message = open;
        deltas.forEach((change, index) => {
          for (let times = repeats[index] ? 2 : 1; times > 0; times -= 1) {
            const outcome = applyDelta(message, change);
            expect(outcome.kind).not.toBe("gap");
            if (outcome.kind === "applied") message = outcome.message;
          }
        });
        expect(message.parts).toEqual(text === "" ? [] : [{ type: "text", text }]);
      }),
    );
  });

  it("never takes a delta after a lost one for its neighbour", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (first, lost, last) => {
        const message = { ...open, parts: [{ type: "text" as const, text: first }] };
        expect(applyDelta(message, delta(first.length + lost.length, last)).kind).toBe("gap");
      }),
    );
  });
});

it("positionOf keeps a list ordered by seq", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(1000)), (seqs) => {
      const list: number[] = [];
      for (const seq of seqs) list.splice(positionOf(list, seq), 0, seq);
      expect(list).toEqual(seqs.toSorted((a, b) => a - b));
    }),
  );
});
