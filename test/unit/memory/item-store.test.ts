import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { imageOf } from "../../../agent-server/memory/item-rows.ts";
import { foldText, textKey } from "../../../agent-server/memory/text-key.ts";
import type { ItemImage } from "../../../agent-server/memory/item-types.ts";
import { type MemoryHost, MemoryFolder } from "../../support/memory/memory-folder.ts";

let folder: MemoryFolder;
let host: MemoryHost;
beforeEach(() => {
  folder = new MemoryFolder();
  host = folder.host({ textOf: ({ ref, content }) => (ref === null ? content : `words of ${ref}`) });
});
afterEach(() => folder.remove());

function image(id: string, more: Partial<ItemImage> = {}): ItemImage {
  return {
    ...{
      id,
      tier: "archival",
      block: null,
      namespace: "workspace",
      workspace: "/projects/a",
      kind: "fact",
      content: `text of ${id}`,
      ref: null,
    },
    ...{ confidence: 0.8, tags: ["b", "a"], provenance: { source: "user", ref: "message:m1" }, questId: null, commitId: "commit_1" },
    ...{ version: 1, createdAt: 10, updatedAt: 20, expiresAt: null, ...more },
  };
}
function put(...images: ItemImage[]): void {
  for (const one of images) host.store.put(one.id, one);
}
const everyTier = ["core", "working", "episodic", "archival"] as const;

describe("an item", () => {
  it.each([
    image("a"),
    image("b", { tier: "core", block: "human", namespace: "global", workspace: "", questId: "q1", tags: [] }),
    image("c", { tier: "working", namespace: "quest:q1", expiresAt: 99, kind: "note", content: 'ünï – 日本\n"x"' }),
    image("d", { tier: "episodic", ref: "message:m2", content: "", confidence: 1, provenance: { source: "tool" } }),
  ])("comes back as it was written: $id", (one) => {
    put(one);
    const stored = host.store.get(one.id);
    expect(stored === null ? null : imageOf(stored)).toEqual(one);
    expect(stored).toMatchObject({ weight: one.confidence, reinforcedAt: 20, reinforced: 0 });
    expect(host.index.texts.get(stored?.seq ?? 0)).toBe(one.ref === null ? one.content : "words of message:m2");
    host.store.put(one.id, null);
    expect(host.store.get(one.id)).toBeNull();
    expect(host.index.texts.size).toBe(0);
  });

  it.each<[string, Partial<ItemImage>, Record<string, unknown>]>([
    [
      "keeps what use made of it while its text and confidence stay",
      { tags: [], version: 2 },
      { weight: 0.5, reinforced: 4, reinforcedAt: 70 },
    ],
    ["starts anew with another text", { content: "other" }, { weight: 0.8, reinforced: 0, reinforcedAt: 20 }],
    ["starts anew with another confidence", { confidence: 0.3 }, { weight: 0.3, reinforced: 0, reinforcedAt: 20 }],
  ])("%s", (_what, change, expected) => {
    put(image("a"));
    const seq = host.store.get("a")?.seq;
    host.store.derive("a", { weight: 0.5, reinforced: 4, reinforcedAt: 70 });
    put(image("a", change));
    expect(host.store.get("a")).toMatchObject({ ...expected, seq });
  });

  it("is derived in part, and not at all when it is gone", () => {
    put(image("a"));
    host.store.derive("a", { weight: 0.1 });
    expect(host.store.get("a")).toMatchObject({ weight: 0.1, reinforced: 0 });
    expect(() => host.store.derive("none", { weight: 0.1 })).not.toThrow();
    expect(() => host.store.put("none", null)).not.toThrow();
  });

  it("is not written where its index is not", () => {
    vi.spyOn(host.index, "put").mockImplementationOnce(() => {
      throw new Error("no index");
    });
    expect(() => put(image("a"))).toThrow("no index");
    expect(host.store.get("a")).toBeNull();
  });

  it("is not written under another id", () => {
    expect(() => host.store.put("b", image("a"))).toThrow("another id");
  });
});

describe("what is seen", () => {
  beforeEach(() => {
    put(
      image("mine"),
      image("global", { namespace: "global", workspace: "" }),
      image("theirs", { workspace: "/projects/b" }),
      image("core", { tier: "core", block: "human", namespace: "global", workspace: "", content: "z" }),
      image("core-theirs", { tier: "core", block: "human", workspace: "/projects/b" }),
      image("over", { tier: "working", namespace: "workspace", expiresAt: 100 }),
      image("q1", { tier: "working", namespace: "quest:q1", expiresAt: 101, kind: "note" }),
      image("q2", { tier: "working", namespace: "quest:q2", expiresAt: 200 }),
    );
  });
  const list = (more: Partial<Parameters<MemoryHost["store"]["list"]>[0]> = {}): string[] =>
    host.store.list({ tiers: everyTier, now: 100, limit: 10, ...more }).map(({ id }) => id);

  it.each<[string, Partial<Parameters<MemoryHost["store"]["list"]>[0]>, string[]]>([
    ["of this workspace and of all, not expired, newest first", {}, ["q2", "q1", "core", "global", "mine"]],
    ["of some tiers", { tiers: ["working", "core"] }, ["q2", "q1", "core"]],
    ["of one namespace", { namespace: "global" }, ["core", "global"]],
    ["with the working memory of one task", { questId: "q1" }, ["q1", "core", "global", "mine"]],
    ["of one kind", { kind: "note" }, ["q1"]],
    ["at an earlier time", { now: 99, tiers: ["working"] }, ["q2", "q1", "over"]],
    ["some", { limit: 2 }, ["q2", "q1"]],
  ])("is a list %s", (_what, more, expected) => {
    expect(list(more)).toEqual(expected);
  });

  it("comes in pages", () => {
    const { seq } = host.store.get("core") ?? { seq: 0 };
    expect(list({ before: seq })).toEqual(["global", "mine"]);
  });

  it.each([
    ["mine", true],
    ["global", true],
    ["theirs", false],
    ["core-theirs", false],
  ])("has the item %s: %s", (id, seen) => {
    expect(host.store.get(id) !== null).toBe(seen);
    const seqs = host.store.all(0, 100).flatMap((item) => (item.id === id ? [item.seq] : []));
    expect(host.store.bySeq(seqs)).toHaveLength(seen ? 1 : 0);
  });

  it("is counted by tier", () => {
    expect(host.store.counts(100)).toEqual({ core: 1, working: 2, episodic: 0, archival: 2 });
    expect(host.store.counts(150)).toMatchObject({ working: 1 });
  });

  it("is a block in the order of its entries", () => {
    put(image("early", { tier: "core", block: "human", namespace: "global", workspace: "", createdAt: 1 }));
    put(image("sure", { tier: "core", block: "human", confidence: 0.9 }));
    put(image("mission", { tier: "core", block: "mission" }));
    expect(host.store.block("human").map(({ id }) => id)).toEqual(["sure", "early", "core"]);
  });

  it("is not what jobs read: that is every workspace's", () => {
    expect(host.store.all(0, 100)).toHaveLength(8);
    const [first, second] = host.store.all(0, 2);
    expect(host.store.all(second?.seq ?? 0, 1)).toMatchObject([{ id: "theirs" }]);
    expect(first?.id).toBe("mine");
    expect(host.store.expired(101, 10).map(({ id }) => id)).toEqual(["over", "q1"]);
    expect(host.store.expired(99, 10)).toEqual([]);
    expect(host.store.expired(500, 1).map(({ id }) => id)).toEqual(["over"]);
  });
});

describe("the same text", () => {
  const same = (content: string, more: { target?: "archival" | "core:human" | "core:mission"; namespace?: string } = {}): string | null =>
    host.store.same({ target: "archival", namespace: "workspace", ...more, content })?.id ?? null;

  it.each([
    ["The Port\n is  8080", true],
    ["the port is 8080.", false],
    ["ＴＨＥ port is ８０８０", true],
    ["", false],
    ["  ", false],
  ])("but for case and white space: %j is it: %s", (content, is) => {
    put(image("a", { content: "the port is 8080" }), image("empty", { content: "", ref: "message:m1" }));
    expect(same(content)).toBe(is ? "a" : null);
  });

  it("is looked for in its own place alone", () => {
    put(
      image("theirs", { content: "x", workspace: "/projects/b" }),
      image("core", { content: "x", tier: "core", block: "human", namespace: "global", workspace: "" }),
    );
    expect(same("x")).toBeNull();
    expect(same("x", { target: "core:human", namespace: "global" })).toBe("core");
    expect(same("x", { target: "core:mission", namespace: "global" })).toBeNull();
  });

  it("is that which lives longest", () => {
    put(image("b", { content: "x", expiresAt: 5 }), image("c", { content: "x", expiresAt: 9 }));
    expect(same("x")).toBe("c");
    put(image("d", { content: "x" }), image("e", { content: "x" }));
    expect(same("x")).toBe("d");
  });

  it("is found through its index, however many items there are", () => {
    const plan = host.storage.db
      .prepare<[], { detail: string }>(
        "EXPLAIN QUERY PLAN SELECT * FROM memory_items INDEXED BY memory_items_text WHERE text_key = 'x' AND text_key <> ''",
      )
      .all();
    expect(plan.map(({ detail }) => detail).join()).toContain("memory_items_text (text_key=?)");
  });

  it("folds as it says", () => {
    expect(foldText("  Ünï\t\nﬁn ")).toBe("ünï fin");
    expect(textKey("A b")).toBe(textKey("a\u00a0B"));
    expect(textKey("a")).not.toBe(textKey("b"));
    expect(textKey("\u2003")).toBe("");
  });
});
