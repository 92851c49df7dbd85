import { afterEach, beforeEach, expect, it } from "vitest";
import type { StoredQuarantine } from "../../../agent-server/memory/commit-types.ts";
import type { ItemImage } from "../../../agent-server/memory/item-types.ts";
import { toQuarantineEntry } from "../../../agent-server/memory/quarantine-entry-view.ts";
import { gated, type MemoryHost, MemoryFolder, owner, proposedEdit } from "../../support/memory/memory-folder.ts";

let folder: MemoryFolder;
let host: MemoryHost;
let clock = 5_000;
beforeEach(() => {
  folder = new MemoryFolder();
  clock = 5_000;
  host = folder.host({ now: () => clock });
});
afterEach(() => folder.remove());

function entry(content: string, more: Partial<Parameters<MemoryHost["quarantine"]["put"]>[0]> = {}, of = host): StoredQuarantine {
  const { commitId } = of.commits.begin(owner, "");
  return of.quarantine.put({
    ...{ commitId, questId: null, author: "agent", itemId: null, itemVersion: null, image: null, why: "It waits." },
    edit: gated(proposedEdit({ op: "insert", target: "core:mission", content })),
    ...more,
  });
}

it("gives an entry back as it was put", () => {
  const put = entry("A", { questId: "q1", itemId: "mem_1", itemVersion: 3 });
  expect(put).toMatchObject({ status: "pending", createdAt: 5_000, decidedAt: null, promotedBy: null, decidedReason: null });
  expect(host.quarantine.get(put.id)).toEqual(put);
  expect(host.quarantine.ofCommit(put.commitId)).toEqual([put]);
});

it("lists by status, newest first, so many", () => {
  const [a, b, c] = [entry("A"), entry("B"), entry("C")];
  host.quarantine.settle(b.id, { status: "denied", reason: "no" });
  const ids = (status: StoredQuarantine["status"], limit = 10): string[] => host.quarantine.list({ status, limit }).map(({ id }) => id);
  expect(ids("pending")).toEqual([c.id, a.id]);
  expect(ids("pending", 1)).toEqual([c.id]);
  expect(ids("denied")).toEqual([b.id]);
  expect(ids("promoted")).toEqual([]);
  expect(host.quarantine.pending()).toBe(2);
});

it.each(["promoted", "denied", "withdrawn"] as const)("is settled once: %s", (status) => {
  const { id } = entry("A");
  clock = 9_000;
  const promotedBy = status === "promoted" ? { promotedBy: "commit_2" } : {};
  expect(host.quarantine.settle(id, { status, reason: "so", ...promotedBy })).toBe(true);
  const settled = { status, decidedAt: 9_000, decidedReason: "so", promotedBy: status === "promoted" ? "commit_2" : null };
  expect(host.quarantine.get(id)).toMatchObject(settled);
  clock = 10_000;
  for (const other of ["promoted", "denied", "withdrawn"] as const) {
    expect(host.quarantine.settle(id, { status: other, reason: "else" })).toBe(false);
  }
  expect(host.quarantine.get(id)).toMatchObject(settled);
  expect(host.quarantine.pending()).toBe(0);
});

it("is not settled where there is none", () => {
  expect(host.quarantine.settle("quarantine_none", { status: "denied", reason: null })).toBe(false);
});

it.each([
  ["the workspace", "workspace", false],
  ["one task", "quest:q1", false],
  ["all workspaces", "global", true],
])("an edit for %s is seen in another one: %s", (_what, namespace, seen) => {
  const { id } = entry("A", { edit: { ...gated(proposedEdit({ op: "insert", target: "core:mission", content: "A" })), namespace } });
  const other = folder.host({ workspace: "/projects/b" });
  expect(other.quarantine.get(id) !== null).toBe(seen);
  expect(other.quarantine.list({ status: "pending", limit: 10 })).toHaveLength(seen ? 1 : 0);
  expect(other.quarantine.pending()).toBe(seen ? 1 : 0);
});

it("shows what is there now beside what it would leave, and for a quarantined item the item itself", () => {
  host.commits.apply([gated(proposedEdit({ op: "insert", target: "core:mission", content: "now", tags: ["t"] }))], owner, {
    reason: "",
    parentId: null,
  });
  const [item] = host.store.block("mission");
  const verifier = { ok: true, problems: [] };
  const replaced = entry("then", { itemId: item?.id ?? null, itemVersion: 1 });
  expect(toQuarantineEntry(replaced, host.store, verifier)).toMatchObject({
    content: "then",
    current: "now",
    op: "insert",
    createdAt: "1970-01-01T00:00:05.000Z",
    decidedAt: null,
  });
  const image: ItemImage | null = item ?? null;
  const aside = entry("", {
    image,
    itemId: "mem_gone",
    edit: { ...gated(proposedEdit({ op: "delete", target: "core:mission" })), op: "set_aside" },
  });
  expect(toQuarantineEntry(aside, host.store, verifier)).toMatchObject({ op: "set_aside", content: "now", current: null, tags: ["t"] });
});
