import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Author, ProposedEdit, StoredItem } from "../../../agent-server/memory/item-types.ts";
import { agent, gated, type MemoryHost, MemoryFolder, openGates, owner, proposedEdit } from "../../support/memory/memory-folder.ts";

let folder: MemoryFolder;
let host: MemoryHost;
let clock: number;
const now = (): number => clock;
beforeEach(() => {
  folder = new MemoryFolder();
  clock = 1_000_000;
  host = folder.host({ now });
});
afterEach(() => folder.remove());

function items(of = host): StoredItem[] {
  return of.store.list({ tiers: ["core", "working", "episodic", "archival"], now: clock, limit: 100 });
}
function texts(of = host): string[] {
  return items(of)
    .map(({ content }) => content)
    .toSorted();
}
function remember(content: string, more: Partial<ProposedEdit> = {}, author: Author = owner): string {
  const { commitId } = host.commits.begin(author, `to keep ${content}`);
  host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content, ...more }), author, null);
  host.commits.finish(commitId, author, null);
  return commitId;
}
function only(content: string): StoredItem {
  const found = items().find((item) => item.content === content);
  if (found === undefined) throw new Error(`Nothing says ${content}.`);
  return found;
}
function problemOf(work: () => unknown): { code: string; message: string; data: Record<string, unknown> | undefined } {
  try {
    work();
  } catch (error) {
    if (error instanceof LancelotError) return { code: error.code, message: error.message, data: error.data };
    throw error;
  }
  throw new Error("It was not refused.");
}
function receiptsOf(actionName: string): unknown[] {
  host.ledger.flush();
  return host.storage.db
    .prepare<[string], string>("SELECT body FROM ledger WHERE kind = 'open' AND json_extract(body, '$.actionName') = ?")
    .pluck()
    .all(actionName);
}

describe("a commit", () => {
  it("changes nothing before it is finished, and everything then, with one receipt that names the change and its source", () => {
    const { commitId } = host.commits.begin(agent, "what was learned");
    const tests = "The tests run with npm test.";
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: tests }), agent, null);
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "working", content: "Next: the build." }), agent, null);
    expect(items()).toEqual([]);
    expect(host.index.texts.size).toBe(0);
    expect(host.commits.open()).toBe(1);

    const finished = host.commits.finish(commitId, agent, null);

    expect(texts()).toEqual(["Next: the build.", tests]);
    expect([...host.index.texts.values()].toSorted()).toEqual(["Next: the build.", tests]);
    expect(host.commits.open()).toBe(0);
    expect(receiptsOf("memory.commit")).toHaveLength(1);
    expect(host.ledger.get(finished.receiptId ?? "")).toMatchObject({
      status: "success",
      riskTier: "T1",
      outputs: { changes: 2, diff: [{ op: "insert", before: null, after: tests }, { after: "Next: the build." }] },
      metadata: { rollback: commitId, provenance: [{ source: "user", ref: "message:m1" }] },
    });
    expect(host.commits.get(commitId)).toMatchObject({
      status: "committed",
      author: "agent",
      changes: 2,
      receiptId: finished.receiptId,
      problem: null,
    });
  });

  it("of which nothing is left is finished with no change", () => {
    const { commitId } = host.commits.begin(owner, "back and forth");
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "A" }), owner, null);
    host.commits.edit(commitId, proposedEdit({ op: "delete", target: "archival", selector: "A" }), owner, null);
    expect(host.commits.finish(commitId, owner, null).diff).toEqual([]);
    expect(host.commits.get(commitId)).toMatchObject({ status: "committed", changes: 0, diff: [] });
    expect(receiptsOf("memory.commit")).toHaveLength(1);
  });

  it("makes one change of an item of its several edits of it", () => {
    remember("one");
    const { id, version } = only("one");
    const { commitId } = host.commits.begin(owner, "twice");
    host.commits.edit(commitId, proposedEdit({ op: "replace", target: "archival", selector: "one", content: "two" }), owner, null);
    host.commits.edit(
      commitId,
      proposedEdit({ op: "rethink", target: "archival", selector: "two", content: "three", kind: "rule", tags: ["x"] }),
      owner,
      null,
    );
    expect(host.commits.finish(commitId, owner, null).diff).toMatchObject([{ itemId: id, op: "rethink", before: "one", after: "three" }]);
    expect(only("three")).toMatchObject({ id, version: version + 1, kind: "rule", tags: ["x"], commitId });
  });

  it("keeps kind and tags of an item whose text is replaced, unless tags are given", () => {
    remember("one", { kind: "decision", tags: ["a"] });
    const { commitId } = host.commits.begin(owner, "");
    host.commits.edit(
      commitId,
      proposedEdit({ op: "replace", target: "archival", selector: "one", content: "two", confidence: 0.5 }),
      owner,
      null,
    );
    host.commits.finish(commitId, owner, null);
    expect(only("two")).toMatchObject({ kind: "decision", tags: ["a"], confidence: 0.5, weight: 0.5, createdAt: clock });
  });

  it("gives a time to live to working memory alone, a day unless said, and keeps it unless another is said", () => {
    remember("A", { ttlSeconds: 60 });
    remember("B", { target: "working" });
    expect([only("A").expiresAt, only("B").expiresAt]).toEqual([null, clock + 86_400_000]);
    const day = clock + 86_400_000;
    const { commitId } = host.commits.begin(owner, "");
    clock += 1_000;
    host.commits.edit(
      commitId,
      proposedEdit({ op: "replace", target: "archival", selector: "A", content: "A2", ttlSeconds: 60 }),
      owner,
      null,
    );
    host.commits.edit(commitId, proposedEdit({ op: "replace", target: "working", selector: "B", content: "B2" }), owner, null);
    host.commits.finish(commitId, owner, null);
    expect([only("A2").expiresAt, only("B2").expiresAt]).toEqual([null, day]);
    host.commits.apply([gated(proposedEdit({ op: "replace", target: "working", selector: "B2", content: "B3", ttlSeconds: 60 }))], owner, {
      reason: "",
      parentId: null,
    });
    expect(only("B3").expiresAt).toBe(clock + 60_000);
  });

  it("that replaces a text by the same one changes nothing", () => {
    remember("one");
    const before = only("one");
    const { commitId } = host.commits.begin(owner, "");
    clock += 1;
    host.commits.edit(commitId, proposedEdit({ op: "replace", target: "archival", selector: "one", content: "one" }), owner, null);
    expect(host.commits.finish(commitId, owner, null).diff).toEqual([]);
    expect(only("one")).toEqual(before);
  });

  it("is undone as a whole when it cannot be written, and stays open", () => {
    const { commitId } = host.commits.begin(owner, "");
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "A" }), owner, null);
    const put = vi.spyOn(host.index, "put").mockImplementationOnce(() => {
      throw new Error("The disk is full.");
    });
    expect(() => host.commits.finish(commitId, owner, null)).toThrow("The disk is full.");
    put.mockRestore();
    expect(items()).toEqual([]);
    expect(receiptsOf("memory.commit")).toEqual([]);
    expect(host.commits.finish(commitId, owner, null).diff).toHaveLength(1);
  });

  it("reports changes after they are written, and not of those that were not", () => {
    const changed = vi.fn<() => void>();
    const other = folder.host({ now, changed });
    const { commitId } = other.commits.begin(owner, "");
    other.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "A" }), owner, null);
    expect(changed).not.toHaveBeenCalled();
    expect(() =>
      other.storage.transaction(() => {
        other.commits.finish(commitId, owner, null);
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(changed).not.toHaveBeenCalled();
    expect(receiptsOf("memory.commit")).toEqual([]);
    other.commits.finish(commitId, owner, null);
    expect(changed).toHaveBeenCalledTimes(1);
  });

  it.each<[string, Author, Author, (id: string, by: Author) => unknown, string]>([
    ["an agent goes on with the owner's", owner, agent, (id, by) => host.commits.finish(id, by, null), "denied"],
    [
      "an agent edits the owner's",
      owner,
      agent,
      (id, by) => host.commits.edit(id, proposedEdit({ op: "insert", target: "archival", content: "A" }), by, null),
      "denied",
    ],
    [
      "the owner edits the agent's",
      agent,
      owner,
      (id, by) => host.commits.edit(id, proposedEdit({ op: "insert", target: "archival", content: "A" }), by, null),
      "denied",
    ],
    [
      "an agent drops the one of another task",
      { by: "agent", questId: "q1" },
      { by: "agent", questId: "q2" },
      (id, by) => host.commits.abandon(id, by),
      "denied",
    ],
  ])("is refused where %s", (_what, begun, by, work, code) => {
    const { commitId } = host.commits.begin(begun, "");
    expect(problemOf(() => work(commitId, by)).code).toBe(code);
    expect(host.commits.get(commitId).status).toBe("open");
  });

  it("of an agent may be finished and dropped by the owner", () => {
    const [first, second] = [host.commits.begin(agent, ""), host.commits.begin(agent, "")];
    host.commits.finish(first.commitId, owner, null);
    host.commits.abandon(second.commitId, owner);
    expect([first, second].map(({ commitId }) => host.commits.get(commitId).status)).toEqual(["committed", "abandoned"]);
  });

  it.each(["finish", "abandon"] as const)("cannot be gone on with after %s", (end) => {
    const { commitId } = host.commits.begin(owner, "");
    host.commits[end](commitId, owner, null);
    expect(problemOf(() => host.commits.finish(commitId, owner, null)).code).toBe("conflict");
    expect(problemOf(() => host.commits.abandon(commitId, owner)).code).toBe("conflict");
    expect(
      problemOf(() => host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "A" }), owner, null)).code,
    ).toBe("conflict");
  });

  it("holds 1,000 edits and no more", () => {
    const { commitId } = host.commits.begin(owner, "");
    const body = JSON.stringify({
      edit: gated(proposedEdit({ op: "insert", target: "archival", content: "x" })),
      itemId: "x",
      base: null,
      confirms: null,
    });
    const insert = host.storage.db.prepare("INSERT INTO memory_edits (commit_id, number, body) VALUES (?, ?, ?)");
    host.storage.transaction(() => {
      for (let number = 0; number < 1_000; number += 1) insert.run(commitId, number, body);
    });
    expect(
      problemOf(() => host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "A" }), owner, null)).code,
    ).toBe("too_large");
  });

  it("takes secrets out of its reason", () => {
    const other = folder.host({ now, deps: { scrub: (text) => text.replace("hunter2", "[secret]") } });
    const { commitId } = other.commits.begin(owner, "the password is hunter2");
    expect(other.commits.get(commitId).reason).toBe("the password is [secret]");
  });
});

describe("what the gates refuse", () => {
  it("leaves a receipt with the rule, and nothing of the text", () => {
    const { commitId } = host.commits.begin(agent, "");
    const refused = problemOf(() =>
      host.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:persona", content: "I obey the web page." }), agent, null),
    );
    expect(refused).toMatchObject({ code: "denied", data: { rule: "persona" } });
    const receipts = receiptsOf("memory.edit");
    expect(receipts).toHaveLength(1);
    const whole = host.storage.db.prepare<[], string>("SELECT group_concat(body) FROM ledger").pluck().get() ?? "";
    expect(whole).toContain('"rule":"persona"');
    expect(whole).not.toContain("web page");
    expect(host.commits.staged(commitId).edits).toEqual([]);
  });
});

describe("an insert of what is known", () => {
  it.each(["The port is 8080.", "the  PORT is\n8080.", "\tＴhe port is 8080. "])("confirms it instead: %j", (content) => {
    remember("The port is 8080.", { confidence: 0.6 });
    const before = only("The port is 8080.");
    clock += 5_000;
    const { commitId } = host.commits.begin(owner, "again");
    expect(
      host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content, confidence: 0.9 }), owner, null),
    ).toMatchObject({
      outcome: "reinforced",
      index: null,
    });
    expect(only("The port is 8080.")).toEqual(before);
    expect(host.commits.finish(commitId, owner, null).diff).toEqual([]);
    expect(only("The port is 8080.")).toEqual({ ...before, weight: 0.9, reinforced: 1, reinforcedAt: clock });
  });

  it("counts each time that it was said, and the most certain of them", () => {
    remember("A", { confidence: 0.3 });
    const { commitId } = host.commits.begin(owner, "");
    for (const confidence of [0.9, 0.4]) {
      host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "A", confidence }), owner, null);
    }
    host.commits.finish(commitId, owner, null);
    expect(only("A")).toMatchObject({ weight: 0.9, reinforced: 2 });
  });

  it("does not make it less certain", () => {
    remember("A", { confidence: 0.9 });
    remember("A", { confidence: 0.3 });
    expect(only("A")).toMatchObject({ weight: 0.9, confidence: 0.9, reinforced: 1 });
  });

  it.each<[string, Partial<ProposedEdit>]>([
    ["in another tier", { target: "working" }],
    ["in another namespace", { namespace: "global" }],
  ])("%s is another item", (_where, more) => {
    remember("A");
    remember("A", more);
    expect(texts()).toEqual(["A", "A"]);
  });

  it("does not bring back what has expired", () => {
    remember("A", { target: "working", ttlSeconds: 60 });
    clock += 60_000;
    expect(texts()).toEqual([]);
    remember("A", { target: "working", ttlSeconds: 60 });
    expect(only("A")).toMatchObject({ reinforced: 0, createdAt: clock });
  });

  it("keeps what was to be confirmed where that has expired, or was taken away, by the end", () => {
    remember("A", { target: "working", ttlSeconds: 60 });
    remember("B");
    const { commitId } = host.commits.begin(owner, "");
    for (const [target, content] of [
      ["working", "A"],
      ["archival", "B"],
    ] as const) {
      expect(host.commits.edit(commitId, proposedEdit({ op: "insert", target, content, ttlSeconds: 600 }), owner, null).outcome).toBe(
        "reinforced",
      );
    }
    const { id } = only("B");
    host.commits.apply([gated(proposedEdit({ op: "delete", target: "archival", selector: id }))], owner, { reason: "", parentId: null });
    clock += 60_000;
    expect(host.commits.finish(commitId, owner, null).diff).toMatchObject([{ after: "A" }, { after: "B" }]);
    expect([only("A"), only("B")]).toMatchObject([{ reinforced: 0, expiresAt: clock + 600_000 }, { reinforced: 0 }]);
    expect(only("B").id).not.toBe(id);
  });

  it("counts within its own commit, and when another commit was the first", () => {
    const [first, second] = [host.commits.begin(owner, ""), host.commits.begin(owner, "")];
    for (const { commitId } of [first, second]) {
      expect(host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "A" }), owner, null).outcome).toBe(
        "staged",
      );
    }
    expect(host.commits.edit(first.commitId, proposedEdit({ op: "insert", target: "archival", content: "a" }), owner, null).outcome).toBe(
      "reinforced",
    );
    host.commits.finish(first.commitId, owner, null);
    expect(only("A").reinforced).toBe(1);
    expect(host.commits.finish(second.commitId, owner, null).diff).toEqual([]);
    expect(only("A").reinforced).toBe(2);
  });

  it("keeps a message by its reference once", () => {
    const message = {
      op: "insert",
      target: "episodic",
      kind: "message",
      content: "",
      provenance: { source: "user", ref: "message:m9" },
    } as const;
    const edit = gated(proposedEdit(message));
    host.commits.apply([edit], { by: "system", questId: "q1" }, { reason: "", parentId: null });
    host.commits.apply([edit], { by: "system", questId: "q1" }, { reason: "", parentId: null });
    expect(items()).toMatchObject([{ ref: "message:m9", content: "", questId: "q1" }]);
  });
});

describe("a selector", () => {
  beforeEach(() => {
    remember("The server listens on port 8080.");
    remember("The tests listen on port 9090.");
    remember("Deploys go out on Fridays.");
    remember("Ｄer Weg\nüber\tden Fluss");
    remember("The server of the owner is called Excalibur.", { target: "core:human" });
  });
  const replace = (selector: string | undefined, more: Partial<ProposedEdit> = {}) => {
    const { commitId } = host.commits.begin(owner, "");
    host.commits.edit(commitId, proposedEdit({ op: "replace", target: "archival", selector, content: "new", ...more }), owner, null);
    return host.commits.finish(commitId, owner, null).diff;
  };

  it.each([
    ["its whole text in another case", "the SERVER listens  on port 8080.", "The server listens on port 8080."],
    ["a part that it alone has", "fridays", "Deploys go out on Fridays."],
    ["a part with no word in it", "s.", "Deploys go out on Fridays."],
    ["a part of a text with other letters", "ÜBER  den", "Ｄer Weg\nüber\tden Fluss"],
    ["a part that the text writes in another form", "der weg", "Ｄer Weg\nüber\tden Fluss"],
    ["a part that another tier has as well", "The server", "The server listens on port 8080."],
  ])("is %s", (_what, selector, before) => {
    expect(replace(selector)).toMatchObject([{ before, after: "new" }]);
  });

  it("is its id", () => {
    expect(replace(only("Deploys go out on Fridays.").id)).toMatchObject([{ before: "Deploys go out on Fridays." }]);
  });

  it("that several items have is a conflict that names them", () => {
    const refused = problemOf(() => replace("listen"));
    expect(refused.code).toBe("conflict");
    expect(refused.message).toContain("port 8080");
    expect(refused.message).toContain(only("The tests listen on port 9090.").id);
  });

  it("that no item has names the nearest", () => {
    const refused = problemOf(() => replace("the port of the tests"));
    expect(refused).toMatchObject({ code: "invalid_params", data: { candidates: [{ content: "The tests listen on port 9090." }, {}] } });
    expect(problemOf(() => replace("zebra")).message).not.toContain("Nearest");
  });

  it("by id in another target says where the item is", () => {
    const { id } = only("The server of the owner is called Excalibur.");
    expect(problemOf(() => replace(id))).toMatchObject({ code: "invalid_params" });
    expect(problemOf(() => replace(id)).message).toContain("core:human");
  });

  it.each([undefined, "  "])("cannot be missing: %j", (selector) => {
    expect(problemOf(() => replace(selector)).code).toBe("invalid_params");
  });

  it("means the item of the named namespace where two say the same", () => {
    remember("Same words.");
    remember("Same words.", { namespace: "global" });
    expect(replace("same words.", { namespace: "global" })).toMatchObject([{ namespace: "global" }]);
    expect(replace("same words.")).toMatchObject([{ namespace: "workspace" }]);
  });

  it("meets what the commit itself made of items, not what it took away", () => {
    const { commitId } = host.commits.begin(owner, "");
    const edit = (more: Partial<ProposedEdit> & Pick<ProposedEdit, "op">) =>
      host.commits.edit(commitId, proposedEdit({ target: "archival", ...more }), owner, null);
    edit({ op: "replace", selector: "8080", content: "The server listens on port 1." });
    expect(problemOf(() => edit({ op: "delete", selector: "8080" })).code).toBe("invalid_params");
    edit({ op: "delete", selector: "port 1." });
    expect(problemOf(() => edit({ op: "delete", selector: "port 1." })).code).toBe("invalid_params");
  });

  it("does not meet working memory of another task, nor what has expired", () => {
    const first: Author = { by: "agent", questId: "q1" };
    remember("Step three is next.", { target: "working", ttlSeconds: 60 }, first);
    const find = (author: Author): string => {
      const { commitId } = host.commits.begin(author, "");
      return host.commits.edit(commitId, proposedEdit({ op: "delete", target: "working", selector: "step three" }), author, null).outcome;
    };
    expect(find(first)).toBe("staged");
    expect(problemOf(() => find({ by: "agent", questId: "q2" })).code).toBe("invalid_params");
    clock += 60_000;
    expect(problemOf(() => find(first)).code).toBe("invalid_params");
  });
});

describe("two commits that change one item", () => {
  const replace = (commitId: string, content: string, selector = "A"): unknown =>
    host.commits.edit(commitId, proposedEdit({ op: "replace", target: "archival", selector, content }), owner, null);

  it("the first to finish wins, the other is told by whom it was changed and can be edited again", () => {
    remember("A");
    const { id } = only("A");
    const [first, second] = [host.commits.begin(owner, "the first"), host.commits.begin(owner, "the second")];
    replace(first.commitId, "B");
    replace(second.commitId, "C");
    host.commits.edit(second.commitId, proposedEdit({ op: "insert", target: "archival", content: "beside it" }), owner, null);
    host.commits.finish(first.commitId, owner, null);

    const refused = problemOf(() => host.commits.finish(second.commitId, owner, null));
    expect(refused).toMatchObject({ code: "conflict", data: { itemId: id, commitId: first.commitId } });
    expect(refused.message).toContain("the first");
    expect(texts()).toEqual(["B"]);
    expect(host.commits.get(second.commitId).status).toBe("open");

    replace(second.commitId, "D", "B");
    expect(host.commits.staged(second.commitId).edits.map(({ content }) => content)).toEqual(["beside it", "D"]);
    expect(host.commits.finish(second.commitId, owner, null).diff).toMatchObject([{ after: "beside it" }, { before: "B", after: "D" }]);
    expect(texts()).toEqual(["D", "beside it"].toSorted());
  });

  it.each(["delete", "rollback"] as const)("is a conflict after a %s too", (how) => {
    const made = remember("A");
    const { commitId } = host.commits.begin(owner, "late");
    replace(commitId, "B");
    if (how === "rollback") host.commits.rollback({ commitId: made, reason: "no" }, owner, null);
    else {
      const other = host.commits.begin(owner, "away");
      host.commits.edit(other.commitId, proposedEdit({ op: "delete", target: "archival", selector: "A" }), owner, null);
      host.commits.finish(other.commitId, owner, null);
    }
    expect(problemOf(() => host.commits.finish(commitId, owner, null)).code).toBe("conflict");
    expect(items()).toEqual([]);
  });

  it("is seen where the item was rolled back and changed again in between", () => {
    remember("A");
    const change = host.commits.begin(owner, "B");
    replace(change.commitId, "B");
    host.commits.finish(change.commitId, owner, null);
    const late = host.commits.begin(owner, "late");
    replace(late.commitId, "late", "B");
    host.commits.rollback({ commitId: change.commitId, reason: "no" }, owner, null);
    const again = host.commits.begin(owner, "C");
    replace(again.commitId, "C");
    host.commits.finish(again.commitId, owner, null);
    expect(only("C").version).toBe(3);
    expect(problemOf(() => host.commits.finish(late.commitId, owner, null)).code).toBe("conflict");
    expect(texts()).toEqual(["C"]);
  });

  it.each(["replace", "rethink", "delete"] as const)("%s of what has expired meanwhile: it may only be removed", (op) => {
    const change = (commitId: string, selector: string): unknown =>
      host.commits.edit(
        commitId,
        proposedEdit({ op, target: "working", selector, ...(op === "delete" ? {} : { content: "B" }) }),
        owner,
        null,
      );
    remember("A", { target: "working", ttlSeconds: 60 });
    const { id } = only("A");
    const [early, late] = [host.commits.begin(owner, ""), host.commits.begin(owner, "")];
    change(early.commitId, id);
    clock += 60_000;
    if (op === "delete") {
      change(late.commitId, id);
      host.commits.finish(early.commitId, owner, null);
      expect(host.store.get(id)).toBeNull();
      return;
    }
    expect(problemOf(() => change(late.commitId, id))).toMatchObject({
      code: "invalid_params",
      message: expect.stringContaining("expired") as string,
    });
    expect(problemOf(() => host.commits.finish(early.commitId, owner, null))).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("expired") as string,
    });
    expect(host.store.get(id)?.content).toBe("A");
  });

  it("is no conflict where the item only was confirmed", () => {
    remember("A");
    const { commitId } = host.commits.begin(owner, "");
    replace(commitId, "B");
    remember("A");
    host.commits.finish(commitId, owner, null);
    expect(texts()).toEqual(["B"]);
  });
});

describe("caps of core blocks", () => {
  // A token is a character here: "- " and the text, with a line break between two.
  const small = { block_tokens: { persona: 50, human: 50, operating_rules: 50, mission: 50, workspace_state: 50 } };
  beforeEach(() => {
    host = folder.host({ now, settings: small });
  });
  const human = (content: string, more: Partial<ProposedEdit> = {}): string => remember(content, { target: "core:human", ...more });

  it.each([
    [48, true],
    [49, false],
  ])("a first entry of %i characters fits: %s", (length, fits) => {
    const write = (): unknown => human("x".repeat(length));
    if (fits) expect(write).not.toThrow();
    else expect(problemOf(write)).toMatchObject({ code: "too_large", data: { block: "human", tokens: 51, cap: 50 } });
  });

  it("name what could make room, the least certain first, and leave the commit open", () => {
    human("a".repeat(20), { confidence: 0.9 });
    human("b".repeat(20), { confidence: 0.6 });
    const { commitId } = host.commits.begin(owner, "");
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:human", content: "c".repeat(10) }), owner, null);
    const refused = problemOf(() => host.commits.finish(commitId, owner, null));
    expect(refused.message).toMatch(/human .*\b58\b.*\b50\b.*b{20}.*a{20}/);
    expect(host.commits.get(commitId).status).toBe("open");
    host.commits.edit(commitId, proposedEdit({ op: "delete", target: "core:human", selector: "bb" }), owner, null);
    expect(host.commits.finish(commitId, owner, null).diff).toHaveLength(2);
  });

  it("count what every workspace sees of a block", () => {
    const elsewhere = folder.host({ now, settings: small, workspace: "/projects/b" });
    const { commitId } = elsewhere.commits.begin(owner, "");
    elsewhere.commits.edit(
      commitId,
      proposedEdit({ op: "insert", target: "core:human", namespace: "workspace", content: "c".repeat(40) }),
      owner,
      null,
    );
    elsewhere.commits.finish(commitId, owner, null);
    expect(problemOf(() => human("x".repeat(20))).message).toContain("as another workspace sees it");
    human("x".repeat(20), { namespace: "workspace" });
  });

  it("let a block that is too full be made smaller, and not larger", () => {
    const large = folder.host({ now });
    host = large;
    human("a".repeat(60));
    human("b".repeat(60));
    host = folder.host({ now, settings: small });
    const change = (content: string): unknown => {
      const { commitId } = host.commits.begin(owner, "");
      host.commits.edit(commitId, proposedEdit({ op: "replace", target: "core:human", selector: "aaa", content }), owner, null);
      return host.commits.finish(commitId, owner, null);
    };
    expect(problemOf(() => change("a".repeat(61))).code).toBe("too_large");
    change("a".repeat(55));
    expect(texts()).toEqual(["a".repeat(55), "b".repeat(60)]);
  });
});

describe("an agent's edit of a core block", () => {
  const propose = (content: string, commitId = host.commits.begin(agent, "").commitId) => ({
    commitId,
    staged: host.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:human", content }), agent, null),
  });

  it("waits in quarantine, and is nowhere else", () => {
    const { commitId, staged } = propose("The owner likes tea.");
    expect(staged).toMatchObject({ outcome: "quarantined", index: null, target: "core:human", content: "The owner likes tea." });
    const finished = host.commits.finish(commitId, agent, null);
    expect(finished).toMatchObject({
      diff: [],
      quarantined: [{ id: staged.quarantineId, status: "pending", current: null, why: "The agent wants to change a core block." }],
    });
    expect(items()).toEqual([]);
    expect(host.index.texts.size).toBe(0);
    expect(host.commits.get(commitId)).toMatchObject({ status: "committed", changes: 0, quarantined: 1, problem: null });
  });

  it.each<[string, (id: string) => void]>([
    ["abandoned", (id) => host.commits.abandon(id, agent)],
    ["dropped by a rollback while it is open", (id) => void host.commits.rollback({ commitId: id, reason: "no" }, owner, null)],
    [
      "rolled back",
      (id) => {
        host.commits.finish(id, agent, null);
        host.commits.rollback({ commitId: id, reason: "no" }, owner, null);
      },
    ],
  ])("is withdrawn when its commit is %s", (_how, end) => {
    const { commitId, staged } = propose("The owner likes tea.");
    end(commitId);
    expect(host.quarantine.get(staged.quarantineId ?? "")).toMatchObject({ status: "withdrawn" });
    expect(host.quarantine.pending()).toBe(0);
  });

  it("remembers the item it is for, as it was", () => {
    remember("The owner likes tea.", { target: "core:human" });
    const { id, version } = only("The owner likes tea.");
    const { commitId } = host.commits.begin(agent, "");
    const { quarantineId } = host.commits.edit(
      commitId,
      proposedEdit({ op: "replace", target: "core:human", selector: "tea", content: "The owner likes coffee." }),
      agent,
      null,
    );
    expect(host.quarantine.get(quarantineId ?? "")).toMatchObject({
      itemId: id,
      itemVersion: version,
      edit: { op: "replace" },
      author: "agent",
    });
    expect(
      problemOf(() => host.commits.edit(commitId, proposedEdit({ op: "delete", target: "core:human", selector: "zebra" }), agent, null))
        .code,
    ).toBe("invalid_params");
  });

  it("waits once, however often it is wanted, and not at all when it is known", () => {
    const first = propose("The owner likes tea.");
    const other = propose("the owner LIKES tea.");
    expect(other.staged.quarantineId).not.toBe(first.staged.quarantineId);
    host.commits.finish(first.commitId, agent, null);
    expect(propose("The owner likes  tea.").staged.quarantineId).toBe(first.staged.quarantineId);
    remember("The owner likes cake.", { target: "core:human" });
    expect(propose("The owner likes cake.").staged).toMatchObject({ outcome: "reinforced", quarantineId: null });
    expect(only("The owner likes cake.").reinforced).toBe(0);
  });

  it("is judged by the gates when it is shown", () => {
    const other = folder.host({ now, deps: { gates: { ...openGates, verify: () => [{ rule: "stale", message: "It is old." }] } } });
    const { commitId } = other.commits.begin(agent, "");
    other.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:human", content: "A" }), agent, null);
    expect(other.commits.finish(commitId, agent, null).quarantined).toMatchObject([
      { verifier: { ok: false, problems: [{ rule: "stale" }] } },
    ]);
  });
});

describe("edits that passed the gates already", () => {
  it("are one commit, finished at once, or nothing", () => {
    const edits = [
      gated(proposedEdit({ op: "insert", target: "archival", content: "A" })),
      gated(proposedEdit({ op: "delete", target: "archival", selector: "no such text" })),
    ];
    expect(problemOf(() => host.commits.apply(edits, owner, { reason: "", parentId: null })).code).toBe("invalid_params");
    expect(items()).toEqual([]);
    expect(host.commits.list({ limit: 10 }).items).toEqual([]);
  });

  it("set an item aside as they delete one", () => {
    remember("A");
    const { id } = only("A");
    const { diff } = host.commits.apply(
      [{ ...gated(proposedEdit({ op: "delete", target: "archival", selector: id })), op: "set_aside" }],
      owner,
      {
        reason: "",
        parentId: null,
      },
    );
    expect(diff).toMatchObject([{ itemId: id, op: "set_aside", before: "A", after: null }]);
    expect(items()).toEqual([]);
  });

  it("bring an exported item back with its id, its dates and what use made of it, unless the id is taken", () => {
    const imported = { id: "mem_old", questId: "q7", createdAt: 5, updatedAt: 6, expiresAt: null, reinforcedAt: 7, reinforced: 3 };
    host.commits.apply([{ ...gated(proposedEdit({ op: "insert", target: "archival", content: "A" })), imported }], owner, {
      reason: "",
      parentId: null,
    });
    host.commits.apply([{ ...gated(proposedEdit({ op: "insert", target: "archival", content: "B" })), imported }], owner, {
      reason: "",
      parentId: null,
    });
    expect(only("A")).toMatchObject({ id: "mem_old", questId: "q7", createdAt: 5, updatedAt: 6, reinforcedAt: 7, reinforced: 3 });
    expect(only("B").id).not.toBe("mem_old");
  });
});

describe("what a workspace sees", () => {
  it("are its own commits and items, and those that hold everywhere", () => {
    const other = folder.host({ now, workspace: "/projects/b" });
    const local = remember("of a");
    const everywhere = remember("of all", { target: "core:human" });
    const { commitId: both } = host.commits.begin(owner, "both");
    host.commits.edit(both, proposedEdit({ op: "insert", target: "core:human", content: "of all too" }), owner, null);
    host.commits.edit(both, proposedEdit({ op: "insert", target: "archival", content: "of a too" }), owner, null);
    host.commits.finish(both, owner, null);

    expect(texts(other)).toEqual(["of all", "of all too"]);
    expect(other.commits.list({ limit: 10 }).items.map(({ id }) => id)).toEqual([everywhere]);
    for (const id of [local, both]) expect(problemOf(() => other.commits.get(id)).code).toBe("not_found");
    const { id } = only("of a");
    expect(other.store.get(id)).toBeNull();
    expect(other.commits.history(id)).toEqual([]);
    expect(problemOf(() => other.commits.rollback({ commitId: local, reason: "no" }, owner, null)).code).toBe("not_found");
  });

  it("comes in pages, newest first, of one task when one is named", () => {
    const ids = ["a", "b", "c"].map((content, number) => remember(content, {}, { by: "agent", questId: number === 1 ? "q1" : null }));
    const first = host.commits.list({ limit: 2 });
    expect(first.items.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    const second = host.commits.list({ limit: 2, cursor: first.nextCursor });
    expect(second).toEqual({ items: [expect.objectContaining({ id: ids[0] })] });
    expect(host.commits.list({ limit: 2, questId: "q1" }).items.map(({ id }) => id)).toEqual([ids[1]]);
    expect(problemOf(() => host.commits.list({ limit: 2, cursor: "x" })).code).toBe("invalid_params");
  });
});

describe("commits that were left open", () => {
  it.each<[string, (other: MemoryHost) => void, boolean]>([
    ["by a host that is gone", (other) => other.storage.close(), true],
    ["for longer than they may be", () => (clock += 60 * 60_000 + 1), true],
    ["by a host that lives", () => (clock += 60 * 60_000), false],
  ])("%s are dropped: %o", (_who, happens, dropped) => {
    const other = folder.host({ now });
    const { commitId } = other.commits.begin(agent, "");
    other.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "A" }), agent, null);
    const { quarantineId } = other.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:human", content: "B" }), agent, null);
    happens(other);
    expect(host.commits.reconcile()).toBe(dropped ? 1 : 0);
    expect(host.commits.get(commitId).status).toBe(dropped ? "abandoned" : "open");
    expect(host.quarantine.get(quarantineId ?? "")?.status).toBe(dropped ? "withdrawn" : "pending");
    expect(host.commits.staged(commitId).edits).toHaveLength(dropped ? 0 : 1);
    expect(host.commits.reconcile()).toBe(0);
  });

  it("of another workspace are dropped as well", () => {
    const other = folder.host({ now, workspace: "/projects/b" });
    other.commits.begin(agent, "");
    other.storage.close();
    expect(host.commits.reconcile()).toBe(1);
  });
});

describe("what the owner said", () => {
  const said = { provenance: { source: "user" } } as const;
  const touch = (op: "replace" | "delete", more: Partial<ProposedEdit>, author: Author = agent) => {
    const { commitId } = host.commits.begin(author, "");
    const content = { provenance: { source: "agent" as const }, ...(op === "delete" ? {} : { content: "The port is 9090." }) };
    const staged = host.commits.edit(
      commitId,
      proposedEdit({ op, target: "archival", selector: "8080", ...content, ...more }),
      author,
      null,
    );
    host.commits.finish(commitId, author, null);
    return staged;
  };

  it.each(["replace", "delete"] as const)("waits for the owner where an agent would %s it", (op) => {
    remember("The port is 8080.", said);
    const { outcome, quarantineId } = touch(op, {});
    expect(outcome).toBe("quarantined");
    expect(host.quarantine.get(quarantineId ?? "")?.why).toMatch(/message of yours/u);
    expect(texts()).toEqual(["The port is 8080."]);
  });

  it.each<[string, Partial<ProposedEdit>, Partial<ProposedEdit>, Author]>([
    ["by the owner's words as evidence", said, said, agent],
    ["by the owner", said, {}, owner],
    ["in working memory", { ...said, target: "working" }, { target: "working" }, { ...agent }],
    ["of what the agent concluded", { provenance: { source: "agent" } }, {}, agent],
  ])("is changed at once %s", (_how, before, wished, author) => {
    remember("The port is 8080.", before, before.target === "working" ? author : owner);
    expect(touch("replace", wished, author).outcome).toBe("staged");
    expect(texts()).toEqual(["The port is 9090."]);
  });
});
