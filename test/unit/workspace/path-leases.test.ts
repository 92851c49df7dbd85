import { existsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createPathLeases } from "../../../agent-server/workspace/path-leases.ts";
import { createPathLocks } from "../../../agent-server/workspace/path-locks.ts";
import { createLease } from "../../../agent-server/storage/storage.ts";
import type { Governance } from "../../../agent-server/governance/governance.ts";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

const base = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join("");
const edited = (line: number, text = "EDITED"): string => base.replace(`line ${line}\n`, `line ${line} ${text}\n`);
const minute = 60_000;

describe("leases on paths", () => {
  let one: ToolsFixture;
  let other: ToolsFixture;
  /** Resolves the question of the gate that `other` holds; see `gate`. */
  let entered: PromiseWithResolvers<void>;
  let pass: PromiseWithResolvers<void>;
  let isHeld: boolean;
  /** Holds what this window does once it has begun to apply a change. */
  const gate = (governance: Governance): Governance => ({
    ...governance,
    authorize: async (...args) => {
      if (isHeld) {
        entered.resolve();
        await pass.promise;
      }
      return governance.authorize(...args);
    },
  });

  beforeEach(() => {
    isHeld = false;
    entered = Promise.withResolvers<void>();
    pass = Promise.withResolvers<void>();
    one = createToolsFixture({ wrap: gate });
    other = createToolsFixture({ base: one.workspace.replace(/\/proj$/, ""), workspace: one.workspace, dataDir: one.dataDir });
    one.write("a.txt", base);
    one.write("b.txt", base);
  });
  afterEach(() => {
    other.close();
    if (existsSync(one.workspace)) one.close();
  });

  const propose = async (at: ToolsFixture, quest: string, content: string, path = "a.txt"): Promise<string> =>
    (await at.run("write_file", { path, content }, { quest })).changeId ?? "";
  const statusOf = (id: string): string => one.tools.changes.get(id).change.status;
  const lease = (at: ToolsFixture, path = "a.txt", now = Date.now) =>
    createLease({ storage: at.storage, name: `path ${one.path(path)}`, now });

  it("of two tasks in one window: both edits of a file are kept", async () => {
    const first = await propose(one, "q1", edited(2));
    const second = await propose(one, "q2", edited(20));
    await Promise.all([one.tools.changes.decide(first, "accept"), one.tools.changes.decide(second, "accept")]);
    expect(one.read("a.txt")).toBe(edited(2).replace("line 20\n", "line 20 EDITED\n"));
  });

  it("of two tasks in one window: the later edit of the same line is a conflict, not an overwrite", async () => {
    const first = await propose(one, "q1", edited(2, "FIRST"));
    const second = await propose(one, "q2", edited(2, "SECOND"));
    await one.tools.changes.decide(first, "accept");
    const change = await one.tools.changes.decide(second, "accept");
    expect(change.hunks.map(({ state }) => state)).toEqual(["conflict"]);
    expect(one.read("a.txt")).toBe(edited(2, "FIRST"));
  });

  describe.each([
    ["in the order of the proposals", (first: string, second: string) => [first, second]],
    ["the later proposal first", (first: string, second: string) => [second, first]],
  ])("accepted one after the other, %s", (_, order) => {
    const acceptBoth = async (first: string, second: string): Promise<string> => {
      const results = [];
      for (const id of order(first, second)) results.push(await one.tools.changes.decide(id, "accept"));
      return results.map(({ hunks }) => hunks.map(({ state }) => state).join()).join(" ");
    };

    it("edits of different lines are both kept", async () => {
      const states = await acceptBoth(await propose(one, "q1", edited(2)), await propose(one, "q2", edited(20)));
      expect([states, one.read("a.txt")]).toEqual(["accepted accepted", edited(2).replace("line 20\n", "line 20 EDITED\n")]);
    });

    it("of edits of the same line the first accepted one stays", async () => {
      const states = await acceptBoth(await propose(one, "q1", edited(2, "FIRST")), await propose(one, "q2", edited(2, "SECOND")));
      expect([states, one.read("a.txt")]).toEqual(["accepted conflict", edited(2, order("FIRST", "SECOND")[0])]);
    });

    it("of two new files of the same name the first accepted one stays", async () => {
      const first = await propose(one, "q1", "first\n", "new.txt");
      const second = await propose(one, "q2", "second\n", "new.txt");
      const states = await acceptBoth(first, second);
      expect([states, one.read("new.txt")]).toEqual(["accepted conflict", `${order("first", "second")[0] ?? ""}\n`]);
    });
  });

  it("in two windows: both edits of a file are kept", async () => {
    const first = await propose(one, "q1", edited(2));
    const second = await propose(other, "q2", edited(20));
    await Promise.all([one.tools.changes.decide(first, "accept"), other.tools.changes.decide(second, "accept")]);
    expect(one.read("a.txt")).toBe(edited(2).replace("line 20\n", "line 20 EDITED\n"));
  });

  it("in two windows: the later edit of the same line is a conflict", async () => {
    const first = await propose(one, "q1", edited(2, "FIRST"));
    const second = await propose(other, "q2", edited(2, "SECOND"));
    const states = (await Promise.all([one.tools.changes.decide(first, "accept"), other.tools.changes.decide(second, "accept")])).map(
      ({ hunks }) => hunks.map(({ state }) => state).join(),
    );
    expect(states.toSorted()).toEqual(["accepted", "conflict"]);
    expect([edited(2, "FIRST"), edited(2, "SECOND")]).toContain(one.read("a.txt"));
  });

  it("in two windows: the one that comes later waits until the other is done", async () => {
    const first = await propose(one, "q1", edited(2));
    isHeld = true;
    const accepting = one.tools.changes.decide(first, "accept");
    await entered.promise;
    expect(lease(other).take(minute)).toBe(false);
    pass.resolve();
    await accepting;
    expect(lease(other).take(minute)).toBe(true);
  });

  it("in two windows: one change is decided once", async () => {
    const id = await propose(one, "q1", edited(2));
    const results = await Promise.allSettled([one.tools.changes.decide(id, "accept"), other.tools.changes.decide(id, "accept")]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(statusOf(id)).toBe("accepted");
    expect(one.read("a.txt")).toBe(edited(2));
  });

  it("hold one file and not another", async () => {
    const first = await propose(one, "q1", edited(2));
    isHeld = true;
    const accepting = one.tools.changes.decide(first, "accept");
    await entered.promise;
    const second = await propose(other, "q2", edited(3), "b.txt");
    await other.tools.changes.decide(second, "accept");
    expect(other.read("b.txt")).toBe(edited(3));
    pass.resolve();
    await accepting;
  });

  it("are free after a decision that failed", async () => {
    const id = await propose(one, "q1", edited(2));
    await expect(one.tools.changes.decide(id, "accept", [7])).rejects.toMatchObject({ code: "not_found" });
    expect(lease(other).take(minute)).toBe(true);
  });

  it("of a host that is gone are free", async () => {
    const id = await propose(one, "q1", edited(2));
    other.storage.db
      .prepare("INSERT INTO leases (name, host_id, until) VALUES (?, 'host_gone', ?)")
      .run(`path ${one.path("a.txt")}`, Date.now() + minute);
    await one.tools.changes.decide(id, "accept");
    expect(one.read("a.txt")).toBe(edited(2));
  });

  it("that expired are free", async () => {
    const id = await propose(one, "q1", edited(2));
    lease(other, "a.txt", () => Date.now() - 2 * minute).take(minute);
    await one.tools.changes.decide(id, "accept");
    expect(one.read("a.txt")).toBe(edited(2));
  });

  it("are looked at again until the other window releases them", async () => {
    const held = lease(other);
    held.take(minute);
    let looks = 0;
    const leases = createPathLeases({
      ...{ storage: one.storage, locks: createPathLocks(), now: () => new Date() },
      pause: async () => {
        if (++looks === 3) held.release();
      },
    });
    expect(await leases.hold([one.path("a.txt")], async () => "done")).toBe("done");
    expect(looks).toBe(3);
  });

  it("that the other window keeps are given up with a conflict, and nothing else stays held", async () => {
    lease(other, "b.txt").take(minute);
    const leases = createPathLeases({
      storage: one.storage,
      locks: createPathLocks(),
      now: () => new Date(),
      pause: async () => undefined,
    });
    const work = leases.hold([one.path("b.txt"), one.path("a.txt")], async () => "done");
    await expect(work).rejects.toMatchObject({ code: "conflict" });
    expect(lease(other, "a.txt").take(minute)).toBe(true);
  });
});
