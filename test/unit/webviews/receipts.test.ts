// @vitest-environment jsdom
import { signal } from "@preact/signals";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Receipt, TraceNode } from "../../../agent-server/contract/receipts.ts";
import { withReceipt } from "../../../webviews/war-room/receipts/receipt-detail.tsx";
import { createReceiptsState, dayStart, matches, searchOf } from "../../../webviews/war-room/receipts/receipts-state.ts";
import { barOf, spanOf, treeKey, visibleLines } from "../../../webviews/war-room/receipts/trace.ts";
import { actionTypesOfActions } from "../../../agent-server/contract/receipts.ts";
import { emptyWarRoom, type Filters, noFilters } from "../../../webviews/war-room/war-room-types.ts";
import { createFakeView, settled } from "../../support/fake-view.ts";
import { sampleReceipt, sampleTrace } from "../../support/webview-harness/samples.ts";

function later(seconds: number): string {
  return new Date(Date.UTC(2030, 0, 1, 0, 0, seconds)).toISOString();
}

async function opened(total: number, filters: Filters = noFilters) {
  const view = createFakeView();
  const all = Array.from({ length: total }, (_, index) => sampleReceipt(index));
  view.answer("receipts.search", ({ limit, cursor }) => {
    const start = Number(cursor ?? 0);
    const end = start + Number(limit);
    return { items: all.slice(start, end), ...(end < total ? { nextCursor: String(end) } : {}) };
  });
  const generation = signal(0);
  const state = createReceiptsState(view.bridge, { generation }, { ...emptyWarRoom, filters });
  generation.value = 1;
  await settled();
  return { view, state, generation };
}

describe("list of receipts", () => {
  it("fetches the next page when its last rows come near, each page once", async () => {
    const { view, state } = await opened(1000);
    expect(state.rows.value).toHaveLength(200);
    state.needRow(20);
    expect(view.calls("receipts.search")).toHaveLength(1);
    state.needRow(150);
    state.needRow(151);
    await settled();
    expect(view.calls("receipts.search").map(({ cursor }) => cursor)).toEqual([undefined, "200"]);
    expect(state.rows.value.map(({ id }) => id)).toEqual(Array.from({ length: 400 }, (_, index) => `receipt-${index}`));
  });

  it("comes to an end", async () => {
    const { view, state } = await opened(250);
    state.needRow(199);
    await settled();
    state.needRow(249);
    await settled();
    expect(state.rows.value).toHaveLength(250);
    expect(view.calls("receipts.search")).toHaveLength(2);
  });

  it("shows a receipt at once when the newest are on screen, and closes it in its place", async () => {
    const { view, state } = await opened(3);
    view.event("receipt", sampleReceipt(100, { id: "new", timestamp: later(1), status: "pending", durationMs: null }));
    view.event("receipt", sampleReceipt(100, { id: "newer", timestamp: later(2) }));
    view.event("receipt", sampleReceipt(100, { id: "new", timestamp: later(1), status: "success" }));
    expect(state.rows.value.slice(0, 2).map(({ id, status }) => `${id} ${status}`)).toEqual([
      expect.stringMatching(/^newer /),
      "new success",
    ]);
    expect(state.rows.value).toHaveLength(5);
  });

  it("holds still and counts while the owner reads further down", async () => {
    const { view, state } = await opened(3);
    state.atTop.value = false;
    view.event("receipt", sampleReceipt(100, { id: "new", timestamp: later(1), status: "pending" }));
    view.event("receipt", sampleReceipt(100, { id: "new", timestamp: later(1), status: "success" }));
    expect(state.rows.value).toHaveLength(3);
    expect(state.fresh.value).toBe(1);
    state.reload();
    await settled();
    expect(state.fresh.value).toBe(0);
  });

  it("takes a receipt out that no longer fits the filter, and none in that does not", async () => {
    const { view, state } = await opened(1, { ...noFilters, status: "success" });
    view.event("receipt", sampleReceipt(0, { status: "failure" }));
    view.event("receipt", sampleReceipt(9, { id: "other", timestamp: later(1), status: "failure" }));
    expect(state.rows.value).toEqual([]);
  });

  it("searches again for other filters, and drops the answer to the old ones", async () => {
    const { view, state } = await opened(5);
    view.hold("receipts.search");
    state.filters.value = { ...noFilters, query: "a" };
    state.filters.value = { ...noFilters, query: "ab" };
    view.answer("receipts.search", ({ query }) => ({ items: [sampleReceipt(0, { id: String(query) })] }));
    await view.release("receipts.search");
    expect(state.rows.value.map(({ id }) => id)).toEqual(["ab"]);
    expect(state.loading.value).toBe(false);
  });

  it("says what went wrong and recovers", async () => {
    const { view, state } = await opened(5);
    const works = () => ({ items: [] });
    view.answer("receipts.search", () => {
      throw { code: "unavailable", message: "The agent host is not running." };
    });
    state.reload();
    await settled();
    expect(state.problem.value).toBe("The agent host is not running.");
    view.answer("receipts.search", works);
    state.reload();
    await settled();
    expect(state.problem.value).toBeNull();
  });
});

describe("filters", () => {
  it("ask the host for what is set and nothing else", () => {
    expect(searchOf({ ...noFilters, actionType: null })).toEqual({});
    expect(searchOf(noFilters)).toEqual({ actionTypes: [...actionTypesOfActions] });
    expect(searchOf({ query: " x ", questId: "q", actionType: "file_op", status: "failure", tier: "T3", from: "", to: "" })).toEqual({
      query: "x",
      questId: "q",
      actionType: "file_op",
      status: "failure",
      tier: "T3",
    });
  });

  it("take whole local days, the last one included", () => {
    const { from, to } = searchOf({ ...noFilters, from: "2026-03-04", to: "2026-03-04" });
    expect(from).toBe(new Date(2026, 2, 4).toISOString());
    expect(to).toBe(new Date(2026, 2, 4, 23, 59, 59, 999).toISOString());
    expect(dayStart("odd")).toBeNull();
  });

  it("know when only the host can tell", () => {
    const receipt = sampleReceipt(0, { actionType: "tool_call" });
    expect(matches(receipt, noFilters)).toBe(true);
    expect(matches(receipt, { ...noFilters, actionType: "llm_call" })).toBe(false);
    expect(matches(sampleReceipt(0, { actionType: "llm_call" }), noFilters)).toBe(false);
    expect(matches(receipt, { ...noFilters, tier: "T3" })).toBe(false);
    expect(matches(receipt, { ...noFilters, query: "x" })).toBeNull();
    expect(matches(receipt, { ...noFilters, query: "x", tier: "T3" })).toBe(false);
  });
});

const tree: fc.Arbitrary<TraceNode[]> = fc
  .array(
    fc.record({
      parent: fc.nat(),
      root: fc.boolean(),
      second: fc.nat(10_000),
      durationMs: fc.option(fc.nat(100_000)),
    }),
    { minLength: 1, maxLength: 25 },
  )
  .map((items) => {
    const nodes: TraceNode[] = [];
    const roots: TraceNode[] = [];
    items.forEach(({ parent, root, second, durationMs }, index) => {
      const node: TraceNode = { receipt: sampleReceipt(index, { timestamp: later(second), durationMs }), children: [] };
      const target = root ? undefined : nodes[parent % Math.max(1, nodes.length)];
      if (target === undefined) roots.push(node);
      else target.children.push(node);
      nodes.push(node);
    });
    return roots;
  });

describe("trace", () => {
  it("puts every bar inside the timeline, wide enough to be seen", () => {
    fc.assert(
      fc.property(tree, (roots) => {
        const span = spanOf(roots);
        for (const { node } of visibleLines(roots, new Set())) {
          const { left, width } = barOf(node, span);
          expect(left).toBeGreaterThanOrEqual(0);
          expect(width).toBeGreaterThanOrEqual(1);
          expect(left + width).toBeLessThanOrEqual(100.0001);
        }
      }),
    );
  });

  it("hides what is below a folded node and nothing else", () => {
    fc.assert(
      fc.property(tree, fc.nat(), (roots, pick) => {
        const all = visibleLines(roots, new Set());
        const folded = all[pick % all.length];
        const id = folded?.node.receipt.id ?? "";
        const below = folded === undefined ? 0 : visibleLines(folded.node.children, new Set()).length;
        expect(visibleLines(roots, new Set([id]))).toHaveLength(all.length - below);
      }),
    );
  });

  it("is walked by arrows from the first line to the last and back", () => {
    fc.assert(
      fc.property(tree, (roots) => {
        const lines = visibleLines(roots, new Set());
        const ids = lines.map((line) => line.node.receipt.id);
        let id = ids[0] ?? "";
        for (const expected of ids.slice(1)) {
          const move = treeKey("ArrowDown", lines, id, new Set());
          expect(move).toEqual({ kind: "go", id: expected });
          id = expected;
        }
        expect(treeKey("ArrowDown", lines, id, new Set())).toBeNull();
        expect(treeKey("Home", lines, id, new Set())).toEqual({ kind: "go", id: ids[0] });
      }),
    );
  });

  it.each([
    ["ArrowRight", "receipt-0", [], { kind: "go", id: "receipt-1" }],
    ["ArrowRight", "receipt-0", ["receipt-0"], { kind: "open", id: "receipt-0" }],
    ["ArrowRight", "receipt-1", [], null],
    ["ArrowLeft", "receipt-0", [], { kind: "close", id: "receipt-0" }],
    ["ArrowLeft", "receipt-0", ["receipt-0"], null],
    ["ArrowLeft", "receipt-5", [], { kind: "go", id: "receipt-4" }],
    ["End", "receipt-0", [], { kind: "go", id: "receipt-6" }],
    ["x", "receipt-0", [], null],
  ])("%s on %s with %j folded", (key, id, folded, move) => {
    const closed = new Set<string>(folded);
    expect(treeKey(key, visibleLines(sampleTrace(), closed), id, closed)).toEqual(move);
  });

  it("takes in a receipt that closes, and one that is new", () => {
    const roots = sampleTrace();
    const closed: Receipt = sampleReceipt(5, { status: "success", durationMs: 7 });
    const added: Receipt = sampleReceipt(50, { parentId: "receipt-4" });
    const next = withReceipt(withReceipt(roots, closed), added);
    const lines = visibleLines(next, new Set());
    expect(lines.find(({ node }) => node.receipt.id === "receipt-5")?.node.receipt.status).toBe("success");
    expect(lines.find(({ node }) => node.receipt.id === "receipt-50")?.parentId).toBe("receipt-4");
    expect(visibleLines(roots, new Set())).toHaveLength(lines.length - 1);
  });
});
