import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { agent, gated, type MemoryHost, MemoryFolder, owner, proposedEdit } from "../../support/memory/memory-folder.ts";

const secret = "hunter2";
const changed = vi.fn<() => void>();
let folder: MemoryFolder;
let host: MemoryHost;
beforeEach(() => {
  folder = new MemoryFolder();
  changed.mockClear();
  host = folder.host({ changed, deps: { scrub: (text) => text.replaceAll(secret, "[redacted]") } });
});
afterEach(() => folder.remove());

function remember(content: string): string {
  const { commitId } = host.commits.begin(owner, "r");
  host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content }), owner, null);
  host.commits.finish(commitId, owner, null);
  return commitId;
}

describe("no secret of a reason is stored", () => {
  it("with the commit, its rollback, its diff or its receipts", () => {
    const { commitId } = host.commits.begin(owner, `because of ${secret}`);
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "one" }), owner, null);
    host.commits.finish(commitId, owner, null);
    const { commitId: rollback } = host.commits.rollback({ commitId, reason: `no more ${secret}` }, owner, null);
    expect(host.commits.get(commitId).reason).toBe("because of [redacted]");
    const made = host.commits.get(rollback ?? "");
    expect([made.reason, made.diff.map(({ reason }) => reason)]).toEqual(["no more [redacted]", ["no more [redacted]"]]);
    host.ledger.flush();
    expect(host.storage.db.prepare<[], string>("SELECT body FROM ledger").pluck().all().join("\n")).not.toContain(secret);
    expect(host.storage.db.prepare<[], string>("SELECT reason FROM memory_commits").pluck().all().join("\n")).not.toContain(secret);
  });
});

describe("every change is announced once", () => {
  const open = (): string => host.commits.begin(owner, "r").commitId;
  it.each<[string, () => () => unknown]>([
    ["a finished commit", () => () => remember("one")],
    [
      "a rollback",
      () =>
        (
          (id) => () =>
            host.commits.rollback({ commitId: id, reason: "r" }, owner, null)
        )(remember("one")),
    ],
    [
      "a rollback of an open commit",
      () =>
        (
          (id) => () =>
            host.commits.rollback({ commitId: id, reason: "r" }, owner, null)
        )(open()),
    ],
    [
      "an abandoned commit",
      () =>
        (
          (id) => () =>
            host.commits.abandon(id, owner)
        )(open()),
    ],
    [
      "a commit of accepted edits",
      () => () =>
        host.commits.apply([gated(proposedEdit({ op: "insert", target: "archival", content: "one" }))], owner, {
          reason: "r",
          parentId: null,
        }),
    ],
  ])("%s", (_name, prepare) => {
    const work = prepare();
    changed.mockClear();
    work();
    expect(changed).toHaveBeenCalledTimes(1);
  });
});

describe("the receipt of a commit", () => {
  const parentsOf = (): unknown[] => {
    host.ledger.flush();
    return host.storage.db
      .prepare<[], string>(
        "SELECT json_extract(body, '$.parentId') FROM ledger WHERE kind = 'open' AND json_extract(body, '$.actionName') = 'memory.commit' ORDER BY rowid",
      )
      .pluck()
      .all();
  };
  it("is a child of the action that finished it or rolled it back", () => {
    const parent = (name: string): string =>
      host.ledger.open({ actionType: "system", actionName: name, inputs: {}, riskTier: "T1", parentId: null, questId: null });
    const [finish, rollback] = [parent("finish"), parent("rollback")];
    const { commitId } = host.commits.begin(owner, "r");
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "archival", content: "one" }), owner, null);
    host.commits.finish(commitId, owner, finish);
    host.commits.rollback({ commitId, reason: "r" }, owner, rollback);
    remember("two");
    expect(parentsOf()).toEqual([finish, rollback, null]);
  });
});

describe("a referenced message", () => {
  const reference = {
    op: "insert",
    target: "episodic",
    kind: "message",
    content: "",
    provenance: { source: "user", ref: "message:m9" },
  } as const;
  const referring = (): string[] => host.store.all(0, 9).flatMap(({ id, ref }) => (ref === null ? [] : [id]));
  const apply = (...edits: Parameters<typeof proposedEdit>[0][]): string =>
    host.commits.apply(
      edits.map((edit) => gated(proposedEdit(edit))),
      owner,
      { reason: "r", parentId: null },
    ).commitId;
  const removal = (id: string) => ({ op: "delete", target: "episodic", selector: id }) as const;

  it("moves to another item and back in one commit", () => {
    apply(reference);
    const [first = ""] = referring();
    const moved = apply(removal(first), reference);
    expect(referring()).toHaveLength(1);
    expect(referring()).not.toEqual([first]);
    host.commits.rollback({ commitId: moved, reason: "r" }, owner, null);
    expect(referring()).toEqual([first]);
  });

  it("comes back when the commits that moved it are rolled back together", () => {
    apply(reference);
    const [first = ""] = referring();
    apply(removal(first));
    apply(reference);
    host.commits.rollback({ last: 2, reason: "r" }, owner, null);
    expect(referring()).toEqual([first]);
  });
});

describe("a commit without changes", () => {
  it("stays in its workspace", () => {
    const { commitId } = host.commits.begin(agent, "r");
    host.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:human", content: "I prefer tabs" }), agent, null);
    host.commits.finish(commitId, agent, null);
    const elsewhere = folder.host({ workspace: "/projects/b" });
    expect(host.commits.list({ limit: 10 }).items.map(({ id }) => id)).toEqual([commitId]);
    expect(elsewhere.commits.list({ limit: 10 }).items).toEqual([]);
  });

  it("has no rollback problem while it is open", () => {
    const { commitId } = host.commits.begin(owner, "r");
    expect(host.commits.get(commitId).problem).toBeNull();
  });
});
