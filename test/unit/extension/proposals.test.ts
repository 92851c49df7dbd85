import { describe, expect, test } from "vitest";
import type { Change } from "../../../agent-server/contract/changes.ts";
import type { Call } from "../../../agent-server/contract/table.ts";
import { createProposals } from "../../../extension/review/proposals.ts";

function change(id: string, updatedAt: number, state: "pending" | "accepted" = "pending"): Change {
  const hunk = { index: 0, oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ["-a", "+b"], state } as const;
  const at = (n: number) => new Date(n).toISOString();
  return {
    id,
    questId: "q",
    path: `${id}.ts`,
    kind: "modify",
    status: state,
    hunks: [{ ...hunk, lines: [...hunk.lines] }],
    createdAt: at(0),
    updatedAt: at(updatedAt),
    receiptId: null,
    problem: null,
  };
}

function proposals(host: Record<string, (params: never) => unknown>) {
  const moved: (string | null)[] = [];
  const asked: string[] = [];
  const call = (async (name: string, params: never) => {
    asked.push(name);
    return host[name]?.(params);
  }) as Call;
  return { ...createProposals(call, (id) => moved.push(id)), moved, asked };
}

describe("proposed changes", () => {
  test("start with the host's changes and follow its events", async () => {
    const generated = { groups: [{ name: "dist", created: 1, modified: 0, deleted: 0 }], receiptId: null };
    const inCopy = [{ name: "node_modules", created: 3, modified: 0, deleted: 0 }];
    const { reload, handle, open, left, leftOf, decideGenerated, questTitle } = proposals({
      "changes.left": ({ questId }: { questId: string }) => ({ questId, generated, commits: [], inCopy }),
      "changes.decideGenerated": ({ questId }: { questId: string }) => ({ questId, generated: null, commits: [], inCopy }),
      "changes.list": () => ({ items: [change("b", 1), change("a", 1)] }),
      "quests.list": () => ({ items: [{ id: "q", title: "Fix it" }] }),
    });
    await reload();
    expect(open().map(({ id }) => id)).toEqual(["a", "b"]);
    expect(questTitle("q")).toBe("Fix it");
    expect(left().map(({ questId }) => questId)).toEqual(["q"]);
    await decideGenerated("q", "accept");
    // What stays in a copy waits for nothing, and is shown beside what does.
    expect([left(), leftOf("q")?.inCopy]).toEqual([[], inCopy]);
    handle({ seq: 0, topic: "task", payload: { questId: "q", generated, commits: [], inCopy } });
    expect(left()).toHaveLength(1);
    handle({ seq: 1, topic: "change", payload: change("a", 2, "accepted") });
    handle({ seq: 2, topic: "change", payload: change("c", 2) });
    expect(open().map(({ id }) => id)).toEqual(["b", "c"]);
    handle({ seq: 3, topic: "questDeleted", payload: { id: "q" } });
    expect([open(), left()]).toEqual([[], []]);
  });

  test("a late event does not restore an older state", () => {
    const { handle, open } = proposals({});
    handle({ seq: 1, topic: "change", payload: change("a", 5, "accepted") });
    handle({ seq: 2, topic: "change", payload: change("a", 4) });
    expect(open()).toEqual([]);
  });

  test("texts are read once, and again after the change moved", async () => {
    let shown = "b";
    const { handle, texts, asked } = proposals({ "changes.get": () => ({ change: change("a", 1), base: "a", proposed: shown }) });
    handle({ seq: 1, topic: "change", payload: change("a", 1) });
    const [one, two] = await Promise.all([texts("a"), texts("a")]);
    expect(one).toBe(two);
    expect(asked).toEqual(["changes.get"]);
    shown = "c";
    handle({ seq: 2, topic: "change", payload: change("a", 2) });
    expect((await texts("a")).proposed).toBe("c");
  });

  test("a read that was under way when the change moved is not kept", async () => {
    const gate = Promise.withResolvers<void>();
    let reads = 0;
    const { handle, texts, knownTexts } = proposals({
      async "changes.get"() {
        reads += 1;
        const proposed = `read ${reads}`;
        if (reads === 1) await gate.promise;
        return { change: change("a", reads), base: "a", proposed };
      },
    });
    handle({ seq: 1, topic: "change", payload: change("a", 1) });
    const early = texts("a");
    handle({ seq: 2, topic: "change", payload: change("a", 2) });
    expect((await texts("a")).proposed).toBe("read 2");
    gate.resolve();
    await early;
    expect(knownTexts("a")?.proposed).toBe("read 2");
  });

  test("a failed read is tried again", async () => {
    let fail = true;
    const { texts } = proposals({
      "changes.get"() {
        if (fail) throw new Error("host is down");
        return { change: change("a", 1), base: "a", proposed: "b" };
      },
    });
    await expect(texts("a")).rejects.toThrow("host is down");
    fail = false;
    expect((await texts("a")).proposed).toBe("b");
  });

  test("a decision names its hunks and is shown at once", async () => {
    const params: unknown[] = [];
    const { handle, decide, open, moved } = proposals({
      "changes.decide"(given: unknown) {
        params.push(given);
        return change("a", 9, "accepted");
      },
    });
    handle({ seq: 1, topic: "change", payload: change("a", 1) });
    await decide("a", "accept", [0]);
    await decide("a", "reject");
    expect(params).toEqual([
      { id: "a", decision: "accept", hunks: [0] },
      { id: "a", decision: "reject" },
    ]);
    expect(open()).toEqual([]);
    expect(moved).toContain("a");
  });
});
