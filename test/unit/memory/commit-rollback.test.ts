import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { imageOf } from "../../../agent-server/memory/item-rows.ts";
import type { Author, ItemImage, ProposedEdit } from "../../../agent-server/memory/item-types.ts";
import { agent, gated, type HostOptions, type MemoryHost, MemoryFolder, owner, proposedEdit } from "../../support/memory/memory-folder.ts";

let folder: MemoryFolder;
let host: MemoryHost;
let clock: number;
const open = (more: HostOptions = {}): MemoryHost => folder.host({ now: () => clock, ...more });
beforeEach(() => {
  folder = new MemoryFolder();
  clock = 1_000_000;
  host = open();
});
afterEach(() => folder.remove());

type Edit = Partial<ProposedEdit> & Pick<ProposedEdit, "op">;
/** One commit of these edits, a second after the one before. */
function commit(reason: string, edits: readonly Edit[], author: Author = owner): string {
  clock += 1_000;
  return host.commits.apply(
    edits.map((edit) => gated(proposedEdit({ target: "archival", ...edit }))),
    author,
    { reason, parentId: null },
  ).commitId;
}
const insert = (content: string, more: Partial<ProposedEdit> = {}): Edit => ({ op: "insert", content, ...more });
const replace = (selector: string, content: string, more: Partial<ProposedEdit> = {}): Edit => ({
  op: "replace",
  selector,
  content,
  ...more,
});
const remove = (selector: string, more: Partial<ProposedEdit> = {}): Edit => ({ op: "delete", selector, ...more });
const back = (commitId: string, itemIds?: readonly string[]) =>
  host.commits.rollback({ commitId, reason: "it was wrong", itemIds }, owner, null);
const last = (count: number) => host.commits.rollback({ last: count, reason: "all of it was wrong" }, owner, null);
/** Everything that is stored, whole. */
function state(of = host): ItemImage[] {
  return of.store
    .all(0, 1_000)
    .map(imageOf)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
function texts(): string[] {
  return host.store
    .all(0, 1_000)
    .map(({ content }) => content)
    .toSorted();
}
function idOf(content: string): string {
  return host.store.all(0, 1_000).find((item) => item.content === content)?.id ?? "";
}
function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof LancelotError && error.code === "conflict") return error.message;
    throw error;
  }
  throw new Error("It was not refused.");
}

describe("one commit", () => {
  const made: [string, Edit[]][] = [
    ["an insert", [insert("new", { tags: ["x"], namespace: "global" })]],
    ["a replacement", [replace("first", "changed", { confidence: 0.3, tags: ["y"] })]],
    ["a deletion", [remove("second")]],
    ["a rethought text", [{ op: "rethink", selector: "first", content: "thought anew", kind: "decision" }]],
    ["all of them", [insert("new"), replace("first", "changed"), remove("second"), replace("new", "newer")]],
    ["a new expiry", [replace("working", "working on", { target: "working", ttlSeconds: 600 })]],
  ];
  beforeEach(() => {
    commit("start", [insert("first", { tags: ["a"] }), insert("second"), insert("working", { target: "working" })]);
  });

  it.each(made)("with %s leaves exactly what was there, and again exactly what it made", (_what, edits) => {
    const before = state();
    const id = commit("to be undone", edits);
    const after = state();
    expect(after).not.toEqual(before);

    const undone = back(id);
    expect(state()).toEqual(before);
    expect(host.commits.get(id)).toMatchObject({ status: "rolled_back", rolledBackBy: undone.commitId });
    expect(host.commits.get(undone.commitId ?? "")).toMatchObject({
      status: "committed",
      rollbackOf: [id],
      author: "owner",
      reason: "it was wrong",
    });
    expect(undone.diff.every(({ op, reason }) => op === "restore" && reason === "it was wrong")).toBe(true);

    const redone = back(undone.commitId ?? "");
    expect(state()).toEqual(after);
    expect(host.commits.get(id)).toMatchObject({ status: "committed", rolledBackBy: null, problem: null });
    back(redone.commitId ?? "");
    expect(state()).toEqual(before);
    expect(host.commits.get(id).status).toBe("rolled_back");
  });

  it.each(made)("with %s is rolled back as exactly by another window, after a restart", (_what, edits) => {
    const before = state();
    const id = commit("to be undone", edits);
    host.storage.close();
    host = open();
    back(id);
    expect(state()).toEqual(before);
    expect([...host.index.texts.values()].every((text) => texts().includes(text))).toBe(true);
  });

  it("brings back what use had made of an item", () => {
    commit("again", [insert("first", { confidence: 0.95 })]);
    const before = host.store.get(idOf("first"));
    const id = commit("changed", [replace("first", "changed")]);
    expect(host.store.get(idOf("changed"))).toMatchObject({ weight: 0.8, reinforced: 0 });
    back(id);
    expect(host.store.get(idOf("first"))).toEqual(before);
  });

  it("has a receipt with what was restored and a pointer to take it back", () => {
    const id = commit("to be undone", [replace("first", "changed")]);
    const { commitId } = back(id);
    expect(host.ledger.get(host.commits.get(commitId ?? "").receiptId ?? "")).toMatchObject({
      actionName: "memory.commit",
      inputs: { rollbackOf: [id], reason: "it was wrong" },
      outputs: { diff: [{ op: "restore", before: "changed", after: "first" }] },
      metadata: { rollback: commitId },
    });
  });

  it("keeps later commits that have nothing to do with it", () => {
    const id = commit("to be undone", [replace("first", "changed")]);
    commit("beside it", [replace("second", "second, later"), insert("third")]);
    back(id);
    expect(texts()).toEqual(["first", "second, later", "third", "working"]);
  });

  it("is refused, with the commit that is in the way, where a later one changed the same item", () => {
    const first = commit("to be undone", [replace("first", "changed"), insert("beside")]);
    const second = commit("in the way", [replace("changed", "changed again")]);
    const third = commit("on top", [remove("changed again")]);
    const before = state();
    const refusal = refusalOf(() => back(first));
    expect(refusal).toContain(`${third}, yours ("on top"), changed "changed" since: roll that back first, or the last 3.`);
    expect(host.commits.get(first).problem).toContain(third);
    expect(state()).toEqual(before);

    back(third);
    expect(host.commits.get(first).problem).toContain(second);
    back(second);
    expect(host.commits.get(first).problem).toBeNull();
    back(first);
    expect(texts()).toEqual(["first", "second", "working"]);
  });

  it("twice is refused", () => {
    const id = commit("to be undone", [insert("new")]);
    const { commitId } = back(id);
    expect(refusalOf(() => back(id))).toContain(commitId ?? "none");
    expect(host.commits.get(id).problem).toContain("already rolled");
  });

  it.each<[string, () => string]>([
    [
      "was dropped",
      () => {
        const { commitId } = host.commits.begin(owner, "");
        host.commits.abandon(commitId, owner);
        return commitId;
      },
    ],
    ["changed nothing", () => commit("nothing", [])],
    ["only confirmed what was known", () => commit("again", [insert("first")])],
  ])("that %s cannot be rolled back", (_what, make) => {
    const id = make();
    expect(refusalOf(() => back(id))).toBe(`The commit ${id} cannot be rolled back. ${host.commits.get(id).problem ?? ""}`);
  });

  it("that is open is dropped", () => {
    const { commitId } = host.commits.begin(agent, "");
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "A" }), agent, null);
    expect(back(commitId)).toEqual({ commitId: null, rolledBack: [commitId], diff: [] });
    expect(host.commits.get(commitId).status).toBe("abandoned");
    expect(host.commits.staged(commitId).edits).toEqual([]);
  });

  it("may have inserted what has expired and is gone since", () => {
    const id = commit("a note", [insert("note", { target: "working", ttlSeconds: 60 }), insert("fact")]);
    clock += 60_000;
    host.store.put(idOf("note"), null);
    const { commitId } = back(id);
    expect(texts()).toEqual(["first", "second", "working"]);
    back(commitId ?? "");
    expect(texts()).toEqual(["fact", "first", "second", "working"]);
    expect(host.commits.get(id).status).toBe("committed");
  });

  it("is refused where a later commit changed what it inserted, expired or not", () => {
    const id = commit("a note", [insert("note", { target: "working", ttlSeconds: 60 })]);
    commit("in the way", [replace("note", "changed", { target: "working" })]);
    clock += 60_000;
    expect(refusalOf(() => back(id))).toContain("in the way");
    expect(host.commits.get(id).problem).toContain("in the way");
  });

  it("is refused where its item was removed by no commit", () => {
    const id = commit("a fact", [insert("fact")]);
    host.store.put(idOf("fact"), null);
    expect(refusalOf(() => back(id))).toContain("removed since");
  });

  it("is refused where a workspace that is not seen here changed what holds everywhere, without its words", () => {
    const id = commit("for all", [insert("rule", { target: "core:human" })]);
    const other = open({ workspace: "/projects/b" });
    other.commits.apply(
      [
        gated(proposedEdit({ op: "replace", target: "core:human", selector: "rule", content: "other rule" })),
        gated(proposedEdit({ op: "insert", target: "archival", content: "of b" })),
      ],
      owner,
      { reason: "a secret of b", parentId: null },
    );
    const refusal = refusalOf(() => back(id));
    expect(refusal).toContain("another workspace");
    expect(refusal).not.toContain("secret of b");
  });

  it("does not bring a message back that is referred to again", () => {
    const message = { target: "episodic", kind: "message", content: "", provenance: { source: "user", ref: "message:m9" } } as const;
    commit("kept", [{ op: "insert", ...message }]);
    const gone = commit("gone", [{ op: "delete", target: "episodic", selector: host.store.all(0, 9).find(({ ref }) => ref !== null)?.id }]);
    const again = commit("again", [{ op: "insert", ...message }]);
    expect(refusalOf(() => back(gone))).toContain("referred to");
    back(again);
    back(gone);
    expect(host.store.all(0, 9).filter(({ ref }) => ref !== null)).toHaveLength(1);
  });
});

describe("single items of a commit", () => {
  let id: string;
  beforeEach(() => {
    commit("start", [insert("first"), insert("second")]);
    id = commit("to be undone in part", [replace("first", "1"), remove("second"), insert("third")]);
  });

  it("are rolled back alone, then the rest, then all of it is", () => {
    const [one] = [idOf("1")];
    back(id, [one]);
    expect(texts()).toEqual(["first", "third"]);
    expect(host.commits.get(id)).toMatchObject({ status: "committed", problem: null });
    const rest = back(id);
    expect(texts()).toEqual(["first", "second"]);
    expect(host.commits.get(id)).toMatchObject({ status: "rolled_back", rolledBackBy: rest.commitId });
  });

  it("make the commit a rolled back one when none is left", () => {
    const items = host.commits.get(id).diff.map(({ itemId }) => itemId);
    expect(items).toHaveLength(3);
    const parts = items.map((item) => back(id, [item]));
    expect(texts()).toEqual(["first", "second"]);
    expect(host.commits.get(id)).toMatchObject({ status: "rolled_back", rolledBackBy: parts[2]?.commitId });
    back(parts[1]?.commitId ?? "");
    expect(host.commits.get(id).status).toBe("committed");
    expect(texts()).toEqual(["first"]);
  });

  it("may be rolled back where a later commit is in the way of the others", () => {
    commit("in the way", [replace("third", "3")]);
    expect(refusalOf(() => back(id))).toContain("in the way");
    back(id, [idOf("1")]);
    expect(texts()).toEqual(["3", "first"]);
    expect(refusalOf(() => back(id, [idOf("3")]))).toContain("in the way");
  });

  it("that hold everywhere may be brought back in another workspace", () => {
    const both = commit("one for all", [insert("rule", { target: "core:human" })]);
    const mixed = commit("of both", [replace("rule", "new rule", { target: "core:human" })]);
    const part = commit("here and everywhere", [remove("new rule", { target: "core:human" }), insert("local")]);
    const { commitId } = back(part, [host.commits.get(part).diff[0]?.itemId ?? ""]);
    back(part, [idOf("local")]);
    expect(host.commits.get(part).status).toBe("rolled_back");
    const other = open({ workspace: "/projects/b" });
    other.commits.rollback({ commitId: commitId ?? "", reason: "right after all" }, owner, null);
    expect(host.commits.get(part)).toMatchObject({ status: "committed", rolledBackBy: null });
    expect([both, mixed].map((one) => host.commits.get(one).status)).toEqual(["committed", "committed"]);
  });

  it.each<[string, () => string]>([
    ["it did not change", () => "mem_unknown"],
    [
      "were taken back already",
      () => {
        const item = idOf("1");
        back(id, [item]);
        return item;
      },
    ],
  ])("that %s are refused", (_what, item) => {
    const wanted = item();
    expect(refusalOf(() => back(id, [wanted]))).toContain(wanted);
  });
});

describe("the last commits", () => {
  it("are rolled back newest first, all of them or none, exactly", () => {
    commit("start", [insert("A")]);
    const before = state();
    const second = commit("second", [replace("A", "B"), insert("beside")]);
    const third = commit("third", [replace("B", "C")]);
    const undone = last(2);
    expect(undone.rolledBack).toEqual([third, second]);
    expect(state()).toEqual(before);
    expect([second, third].map((id) => host.commits.get(id).status)).toEqual(["rolled_back", "rolled_back"]);
    back(undone.commitId ?? "");
    expect(texts()).toEqual(["C", "beside"]);
    expect([second, third].map((id) => host.commits.get(id).status)).toEqual(["committed", "committed"]);
  });

  it("are those in force: not what was rolled back, what rolled it back, what changed nothing, nor the host's own", () => {
    const first = commit("first", [insert("A")]);
    const second = commit("second", [insert("B")]);
    back(commit("third", [insert("C")]));
    commit("nothing", []);
    commit("the host's", [insert("event", { target: "episodic" })], { by: "system", questId: null });
    expect(last(2).rolledBack).toEqual([second, first]);
    expect(texts()).toEqual(["event"]);
  });

  it("are refused when there are fewer", () => {
    commit("one", [insert("A")]);
    expect(refusalOf(() => last(2))).toMatch(/only 1 /iu);
    expect(texts()).toEqual(["A"]);
  });

  it("are refused as a whole when one of them cannot be rolled back", () => {
    commit("first", [insert("A")]);
    commit("second", [insert("B")]);
    host.store.put(idOf("A"), null);
    const before = state();
    expect(refusalOf(() => last(2))).toContain("The last 2 commits");
    expect(state()).toEqual(before);
  });

  it("do not reach those that waiting edits alone are left of", () => {
    const { commitId } = host.commits.begin(agent, "");
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:human", content: "A" }), agent, null);
    host.commits.finish(commitId, agent, null);
    expect(refusalOf(() => last(1))).toMatch(/only 0 /iu);
    expect(host.quarantine.pending()).toBe(1);
  });
});

describe("snapshots", () => {
  beforeEach(() => {
    host.storage.close();
    host = open({ settings: { snapshots: 3 } });
  });

  it("are kept of the last commits; older ones have their receipt", () => {
    const ids = ["A", "B", "C", "D"].map((content) => commit(content, [insert(content)]));
    const [oldest = "", second = ""] = ids;
    const { receiptId, problem, diff, changes } = host.commits.get(oldest);
    expect({ diff, changes }).toEqual({ diff: [], changes: 1 });
    expect(problem).toContain("last 3 commits");
    expect(problem).toContain(receiptId);
    expect(refusalOf(() => back(oldest))).toContain("last 3 commits");
    back(second);
    expect(texts()).toEqual(["A", "C", "D"]);
  });

  it("of one workspace do not push out those of another, nor the host's own those of people", () => {
    const first = commit("first", [insert("A")]);
    const other = open({ workspace: "/projects/b", settings: { snapshots: 3 } });
    for (const content of ["1", "2", "3", "4"]) {
      other.commits.apply([gated(proposedEdit({ op: "insert", target: "archival", content }))], owner, { reason: "", parentId: null });
      commit("event", [insert(content, { target: "episodic" })], { by: "system", questId: null });
      commit("nothing", []);
    }
    expect(host.commits.get(first).problem).toBeNull();
  });

  it("stay together: a commit in force in part stays known in part", () => {
    const id = commit("two", [insert("A"), insert("B")]);
    commit("three", [insert("C")]);
    commit("four", [insert("D")]);
    back(id, [idOf("A")]);
    expect(host.commits.get(id)).toMatchObject({ status: "committed", problem: null });
    back(id);
    expect(texts()).toEqual(["C", "D"]);
  });

  it("bound what is stored", () => {
    for (let number = 0; number < 12; number += 1) commit("more", [insert(`text ${String(number)}`)]);
    expect(host.storage.db.prepare("SELECT count(*) FROM memory_images").pluck().get()).toBe(3);
  });
});

describe("caps of core blocks", () => {
  const small = { block_tokens: { persona: 50, human: 50, operating_rules: 50, mission: 50, workspace_state: 50 } };
  const human = (content: string): Edit => insert(content, { target: "core:human" });

  it("are not exceeded by bringing a text back where another has taken its room", () => {
    host = open({ settings: small });
    commit("first", [human("a".repeat(30))]);
    const gone = commit("away", [remove("aaa", { target: "core:human" })]);
    const instead = commit("instead", [human("b".repeat(30))]);
    expect(refusalOf(() => back(gone))).toMatch(/human .*\b65\b.*\b50\b/u);
    expect(host.commits.get(gone).problem).toContain("65 tokens");
    back(instead);
    back(gone);
    expect(texts()).toEqual(["a".repeat(30)]);
  });

  it("may be, where exactly what was there before comes back", () => {
    commit("large", [human("a".repeat(60))]);
    const before = state();
    const shorter = commit("shorter", [replace("aaa", "a", { target: "core:human" })]);
    host = open({ settings: small });
    const between = commit("taken back in between", [human("b")]);
    back(between);
    back(shorter);
    expect(state()).toEqual(before);
  });

  it("may be, where several commits of the block are rolled back together", () => {
    commit("large", [human("a".repeat(60))]);
    const before = state();
    commit("shorter", [replace("aaa", "a", { target: "core:human" })]);
    host = open({ settings: small });
    commit("another", [human("b")]);
    last(2);
    expect(state()).toEqual(before);
  });

  it("may not be, in part of a commit, or after another commit of the block", () => {
    commit("large", [human("a".repeat(60)), human("c")]);
    const shorter = commit("shorter", [replace("aaa", "a", { target: "core:human" }), replace("c", "d", { target: "core:human" })]);
    host = open({ settings: small });
    expect(refusalOf(() => back(shorter, [idOf("a")]))).toMatch(/human .*\b50\b/u);
    commit("later", [human("b")]);
    expect(refusalOf(() => back(shorter))).toMatch(/human .*\b50\b/u);
  });
});

it("a list reports 200 changes of a commit, which itself reports them all", () => {
  const id = commit(
    "many",
    Array.from({ length: 201 }, (_, number) => insert(`text ${String(number)}`)),
  );
  expect(host.commits.list({ limit: 1 }).items).toMatchObject([{ changes: 201, diff: { length: 200 }, problem: null }]);
  expect(host.commits.get(id).diff).toHaveLength(201);
});

describe("the history of an item", () => {
  it("reports its commits, newest first, with what each changed", () => {
    commit("first", [insert("A")]);
    const id = idOf("A");
    const second = commit("second", [replace("A", "B")]);
    back(second);
    expect(host.commits.history(id).map(({ commit: of, diff }) => [of.reason, of.status, diff.before, diff.after])).toEqual([
      ["it was wrong", "committed", "B", "A"],
      ["second", "rolled_back", "A", "B"],
      ["first", "committed", null, "A"],
    ]);
  });
});
