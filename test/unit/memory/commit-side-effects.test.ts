import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { gated, type MemoryHost, MemoryFolder, owner, wish } from "../../support/memory/memory-folder.ts";

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
  host.commits.edit(commitId, wish({ op: "insert", target: "archival", content }), owner, null);
  host.commits.finish(commitId, owner, null);
  return commitId;
}

describe("no secret of a reason is stored", () => {
  it("with the commit, its rollback, its diff or its receipts", () => {
    const { commitId } = host.commits.begin(owner, `because of ${secret}`);
    host.commits.edit(commitId, wish({ op: "insert", target: "archival", content: "one" }), owner, null);
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
        host.commits.apply([gated(wish({ op: "insert", target: "archival", content: "one" }))], owner, { reason: "r", parentId: null }),
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
    host.commits.edit(commitId, wish({ op: "insert", target: "archival", content: "one" }), owner, null);
    host.commits.finish(commitId, owner, finish);
    host.commits.rollback({ commitId, reason: "r" }, owner, rollback);
    remember("two");
    expect(parentsOf()).toEqual([finish, rollback, null]);
  });
});
