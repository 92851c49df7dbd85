import { existsSync, rmSync } from "node:fs";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AskEditor } from "../../../agent-server/contract/editor.ts";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

const base = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join("");
/** The base with some lines marked. */
const edited = (...lines: number[]) =>
  base
    .split("\n")
    .map((line, index) => (lines.includes(index + 1) ? `${line} EDITED` : line))
    .join("\n");

describe("changes under review (supervised posture)", () => {
  let fixture: ToolsFixture;
  beforeEach(() => {
    fixture = createToolsFixture();
    fixture.write("a.txt", base);
  });
  afterEach(() => fixture.close());

  async function propose(content: string, path = "a.txt"): Promise<string> {
    const outcome = await fixture.run("write_file", { path, content });
    expect(outcome.text).toContain("Proposed");
    return outcome.changeId ?? "";
  }

  it("proposes without changing the disk", async () => {
    const id = await propose(edited(2, 10, 20));
    expect(fixture.read("a.txt")).toBe(base);
    const { change, base: from, proposed } = fixture.tools.changes.get(id);
    expect(change).toMatchObject({ status: "pending", kind: "modify", questId: "q1", path: "a.txt" });
    expect(change.hunks.map(({ oldStart, lines, state }) => ({ oldStart, lines, state }))).toEqual([
      { oldStart: 2, lines: ["-line 2", "+line 2 EDITED"], state: "pending" },
      { oldStart: 10, lines: ["-line 10", "+line 10 EDITED"], state: "pending" },
      { oldStart: 20, lines: ["-line 20", "+line 20 EDITED"], state: "pending" },
    ]);
    expect([from, proposed]).toEqual([base, edited(2, 10, 20)]);
    expect(fixture.tools.checkpoints.list({ limit: 10 })).toEqual([]);
  });

  it("shows proposals only to their own quest", async () => {
    await propose(edited(2));
    expect((await fixture.run("read_file", { path: "a.txt" })).text).toContain("line 2 EDITED");
    expect((await fixture.run("read_file", { path: "a.txt" }, { quest: "q2" })).text).not.toContain("EDITED");
    await fixture.run("edit_file", { path: "a.txt", old_text: "line 2 EDITED", new_text: "line 2 AGAIN" });
    expect(fixture.tools.changes.list({ questId: "q1", limit: 10 })).toHaveLength(1);
    expect(fixture.tools.changes.list({ questId: "q1", limit: 10 })[0]?.hunks[0]?.lines).toEqual(["-line 2", "+line 2 AGAIN"]);
  });

  it("writes accepted hunks, with a receipt under the proposal's, and reports them to the model", async () => {
    const id = await propose(edited(2, 10, 20));
    const change = await fixture.tools.changes.decide(id, "accept", [0, 2]);
    expect(change.hunks.map(({ state }) => state)).toEqual(["accepted", "pending", "accepted"]);
    expect(fixture.read("a.txt")).toBe(edited(2, 20));
    const roots = fixture.ledger.trace({ id: change.receiptId ?? "" });
    expect(JSON.stringify(roots)).toContain('"actionName":"file_write"');
    expect(fixture.tools.changes.takeReview("q1")).toMatchObject({
      open: 1,
      text: expect.stringContaining("a.txt: 2 of 3 parts accepted, 1 undecided"),
    });
    expect(fixture.tools.changes.takeReview("q1")).toEqual({ open: 1, text: "" });
    const rejected = await fixture.tools.changes.decide(id, "reject");
    expect(rejected.status).toBe("mixed");
    expect(fixture.read("a.txt")).toBe(edited(2, 20));
    const { open, text } = fixture.tools.changes.takeReview("q1");
    expect(open).toBe(0);
    expect(text).toContain("rejected at line 10:\n    -line 10\n    +line 10 EDITED");
    expect((await fixture.run("read_file", { path: "a.txt" })).text).not.toContain("line 10 EDITED");
  });

  it("refuses to decide twice, or on a missing change", async () => {
    const id = await propose(edited(2, 10));
    await fixture.tools.changes.decide(id, "reject", [0]);
    await expect(fixture.tools.changes.decide(id, "accept", [0])).rejects.toMatchObject({ code: "conflict" });
    await expect(fixture.tools.changes.decide(id, "accept", [7])).rejects.toMatchObject({ code: "not_found" });
    await expect(fixture.tools.changes.decide("nope", "accept")).rejects.toMatchObject({ code: "not_found" });
    await fixture.tools.changes.decide(id, "accept");
    await expect(fixture.tools.changes.decide(id, "accept")).rejects.toMatchObject({ code: "conflict" });
  });

  it("merges with the user's edits elsewhere, and keeps both sides of a conflict", async () => {
    const id = await propose(edited(2, 20));
    fixture.write("a.txt", base.replace("line 20\n", "line 20 MINE\n").replace("line 30\n", "line 30 MINE\n"));
    const change = await fixture.tools.changes.decide(id, "accept");
    expect(change.hunks.map(({ state }) => state)).toEqual(["accepted", "conflict"]);
    expect(change.status).toBe("pending");
    expect(change.problem).toContain("do not merge".replace("do not", "does not"));
    const text = fixture.read("a.txt");
    expect(text).toContain("line 2 EDITED\n");
    expect(text).toContain("line 20 MINE\n");
    expect(text).toContain("line 30 MINE\n");
    // Once the owner takes the line back, the same hunk goes in.
    fixture.write("a.txt", text.replace("line 20 MINE", "line 20"));
    expect(await fixture.tools.changes.decide(id, "accept", [1])).toMatchObject({ status: "accepted", problem: null });
    expect(fixture.read("a.txt")).toContain("line 20 EDITED\n");
  });

  it("takes one of two decisions on the same part that arrive together", async () => {
    const id = await propose(edited(2, 10));
    const decisions = (["accept", "reject"] as const).map((decision) => fixture.tools.changes.decide(id, decision, [0]));
    expect(await Promise.allSettled(decisions)).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "conflict" } },
    ]);
    expect(fixture.tools.changes.get(id).change.hunks.map(({ state }) => state)).toEqual(["accepted", "pending"]);
    expect(fixture.read("a.txt")).toBe(edited(2));
  });

  it("does not write an accepted part again that the user took back", async () => {
    const id = await propose(edited(2, 10));
    await fixture.tools.changes.decide(id, "accept", [0]);
    fixture.write("a.txt", base);
    await fixture.tools.changes.decide(id, "accept", [1]);
    expect(fixture.read("a.txt")).toBe(edited(10));
  });

  it("is set aside for the model where it no longer merges with the user's edits", async () => {
    const id = await propose(edited(2));
    fixture.write("a.txt", base.replace("line 2\n", "line 2 MINE\n"));
    const file = { absolute: fixture.path("a.txt"), display: "a.txt", asked: "a.txt", inside: true };
    const current = await fixture.tools.workspace.files.current(file);
    expect(fixture.tools.execution.changes.overlay("q1", file, current)).toEqual({ text: current.text, changeId: id, conflict: true });
  });

  it("creates the file on acceptance, unless one was created in the meantime", async () => {
    const one = await propose("new\n", "dir/new.txt");
    const two = await propose("other\n", "other.txt");
    expect(existsSync(fixture.path("dir"))).toBe(false);
    expect((await fixture.tools.changes.decide(one, "accept")).status).toBe("accepted");
    expect(fixture.read("dir/new.txt")).toBe("new\n");
    fixture.write("other.txt", "mine\n");
    const change = await fixture.tools.changes.decide(two, "accept");
    expect(change).toMatchObject({ status: "pending", problem: expect.stringContaining("other.txt") });
    expect(fixture.read("other.txt")).toBe("mine\n");
  });

  it("creates an empty file", async () => {
    const id = await propose("", "empty.txt");
    await fixture.tools.changes.decide(id, "accept");
    expect(fixture.read("empty.txt")).toBe("");
  });

  it("reports a deleted file", async () => {
    const id = await propose(edited(2));
    rmSync(fixture.path("a.txt"));
    const change = await fixture.tools.changes.decide(id, "accept");
    expect(change).toMatchObject({ status: "pending", problem: expect.stringContaining("a.txt") });
    expect(existsSync(fixture.path("a.txt"))).toBe(false);
  });

  it("supersedes a partly decided change when the quest edits again", async () => {
    const first = await propose(edited(2, 10));
    await fixture.tools.changes.decide(first, "accept", [0]);
    await fixture.run("edit_file", { path: "a.txt", old_text: "line 20", new_text: "line 20 LATER" });
    expect(fixture.tools.changes.get(first).change.status).toBe("superseded");
    await expect(fixture.tools.changes.decide(first, "accept")).rejects.toMatchObject({ code: "conflict" });
    const [open] = fixture.tools.changes.list({ questId: "q1", open: true, limit: 10 });
    expect(open?.hunks.map(({ lines }) => lines[1])).toEqual(["+line 10 EDITED", "+line 20 LATER"]);
    await fixture.tools.changes.decide(open?.id ?? "", "accept");
    expect(fixture.read("a.txt")).toBe(edited(2, 10).replace("line 20", "line 20 LATER"));
  });

  it("withdraws a proposal that the quest reverts", async () => {
    const id = await propose(edited(2));
    const outcome = await fixture.run("write_file", { path: "a.txt", content: base });
    expect(outcome).toMatchObject({ isError: false, changeId: null });
    expect(fixture.tools.changes.get(id).change.status).toBe("superseded");
    expect(fixture.tools.changes.list({ questId: "q1", open: true, limit: 10 })).toEqual([]);
  });

  it("survives a restart of the host", async () => {
    const id = await propose(edited(2, 10));
    await fixture.tools.changes.decide(id, "accept", [0]);
    const again = createToolsFixture({ base: fixture.workspace.replace(/\/proj$/, "") });
    expect(again.tools.changes.get(id).change.hunks.map(({ state }) => state)).toEqual(["accepted", "pending"]);
    expect(again.tools.changes.takeReview("q1").text).toContain("1 of 2 parts accepted");
    await again.tools.changes.decide(id, "accept");
    expect(fixture.read("a.txt")).toBe(edited(2, 10));
    again.close();
  });

  it("discards a quest's undecided changes", async () => {
    const id = await propose(edited(2, 10));
    fixture.tools.changes.discard("q1");
    expect(fixture.tools.changes.get(id).change.status).toBe("rejected");
    expect(fixture.events.at(-1)).toMatchObject({ id, status: "rejected" });
    const partly = await propose(edited(2, 10));
    await fixture.tools.changes.decide(partly, "accept", [0]);
    fixture.tools.changes.discard("q1");
    expect(fixture.tools.changes.get(partly).change.hunks.map(({ state }) => state)).toEqual(["accepted", "rejected"]);
  });

  it("is denied by policy even when the user accepts", async () => {
    const id = await propose(edited(2));
    const restricted = createToolsFixture({ base: fixture.workspace.replace(/\/proj$/, ""), trusted: false });
    await expect(restricted.tools.changes.decide(id, "accept")).rejects.toMatchObject({ code: "denied" });
    expect(fixture.read("a.txt")).toBe(base);
    restricted.close();
  });

  it("refuses a binary file", async () => {
    fixture.write("b.bin", Buffer.from([1, 2, 0, 3]));
    const outcome = await fixture.run("edit_file", { path: "b.bin", old_text: "a", new_text: "b" });
    expect(outcome).toMatchObject({ isError: true, text: expect.stringContaining("not a text file") });
  });

  it("for any edit and any choice of hunks: accepting all gives the proposal, accepting none the base", async () => {
    const line = fc.constantFrom("a\n", "b\n", "c\n", "\n", "d\r\n");
    const text = fc.tuple(fc.array(line, { maxLength: 12 }), fc.constantFrom("", "end")).map(([lines, end]) => lines.join("") + end);
    let number = 0;
    await fc.assert(
      fc.asyncProperty(text, text, fc.infiniteStream(fc.boolean()), async (from, to, choices) => {
        fc.pre(from !== to);
        const path = `f${number++}.txt`;
        fixture.write(path, from);
        const call = { questId: path, args: { path, content: to } };
        const outcome = await fixture.run("write_file", call.args, { quest: call.questId });
        if (outcome.isError) {
          // Only the line endings differed, and those are kept.
          expect(to.replaceAll("\r\n", "\n")).toBe(from.replaceAll("\r\n", "\n"));
          return;
        }
        const id = outcome.changeId ?? "";
        const { proposed, change } = fixture.tools.changes.get(id);
        const chosen = change.hunks.map(({ index }) => index).filter(() => choices.next().value);
        if (chosen.length > 0) await fixture.tools.changes.decide(id, "accept", chosen);
        if (chosen.length < change.hunks.length) await fixture.tools.changes.decide(id, "accept");
        expect(fixture.read(path)).toBe(proposed);
      }),
      { numRuns: 30 },
    );
  });

  it("for any edit, any choice and any user edit elsewhere: neither is lost", async () => {
    const pick = fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 5 });
    let number = 0;
    await fc.assert(
      fc.asyncProperty(pick, pick, fc.boolean(), async (theirs, mine, first) => {
        const path = `g${number++}.txt`;
        // Ten blocks of three lines: the quest edits the first line of some, the owner the last line of others.
        const ownBlocks = mine.filter((block) => !theirs.includes(block));
        fixture.write(path, base);
        const proposed = theirs.reduce((text, block) => text.replace(`line ${block * 3 + 1}\n`, `line ${block * 3 + 1} QUEST\n`), base);
        const { changeId } = await fixture.run("write_file", { path, content: proposed }, { quest: path });
        if (first) await fixture.tools.changes.decide(changeId ?? "", "accept", [0]);
        fixture.write(
          path,
          ownBlocks.reduce((text, block) => text.replace(`line ${block * 3 + 2}\n`, `line ${block * 3 + 2} OWNER\n`), fixture.read(path)),
        );
        const open = fixture.tools.changes.get(changeId ?? "").change.status === "pending";
        const change = open ? await fixture.tools.changes.decide(changeId ?? "", "accept") : null;
        const text = fixture.read(path);
        expect(change?.problem ?? null).toBeNull();
        for (const block of theirs) expect(text).toContain(`line ${block * 3 + 1} QUEST\n`);
        for (const block of ownBlocks) expect(text).toContain(`line ${block * 3 + 2} OWNER\n`);
        expect(text.split("\n")).toHaveLength(31);
      }),
      { numRuns: 20 },
    );
  });
});

describe("changes with an editor", () => {
  /** An editor that holds documents as VS Code does: `dirty` ones are not on disk. Without `saves` it never manages to save. */
  function fakeEditor(fixture: () => ToolsFixture, saves = true) {
    const dirty = new Map<string, string>();
    const applied: string[] = [];
    const handlers = {
      unsavedText: ({ path }: { path: string }) => ({ text: dirty.get(path) ?? null }),
      applyText: ({ path, expected, text }: { path: string; expected: string | null; text: string | null }) => {
        const now = dirty.get(path) ?? (existsSync(fixture().path(path)) ? fixture().read(path) : null);
        if (now !== expected) return { applied: false, saved: false };
        applied.push(path);
        if ((dirty.has(path) || !saves) && text !== null) {
          dirty.set(path, text);
          return { applied: true, saved: false };
        }
        if (text === null) rmSync(fixture().path(path));
        else fixture().write(path, text);
        return { applied: true, saved: true };
      },
    };
    const ask = (async (name: keyof typeof handlers, params: never) => handlers[name](params)) as unknown as AskEditor;
    return { ask, dirty, applied };
  }

  it("accepts through the editor, so that its undo works", async () => {
    const editor = fakeEditor(() => fixture);
    const fixture: ToolsFixture = createToolsFixture({ askEditor: editor.ask });
    fixture.write("a.txt", base);
    const { changeId } = await fixture.run("write_file", { path: "a.txt", content: edited(2) });
    await fixture.tools.changes.decide(changeId ?? "", "accept");
    expect(editor.applied).toEqual(["a.txt"]);
    expect(fixture.read("a.txt")).toBe(edited(2));
    fixture.close();
  });

  it("writes and undoes on the disk what the editor does not manage to save", async () => {
    const editor = fakeEditor(() => fixture, false);
    const fixture: ToolsFixture = createToolsFixture({ askEditor: editor.ask });
    fixture.write("a.txt", base);
    const { changeId } = await fixture.run("write_file", { path: "a.txt", content: edited(2) });
    expect((await fixture.tools.changes.decide(changeId ?? "", "accept")).status).toBe("accepted");
    expect([fixture.read("a.txt"), editor.dirty.get("a.txt")]).toEqual([edited(2), edited(2)]);
    const { restored, conflicts } = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect({ restored, conflicts }).toEqual({ restored: ["a.txt"], conflicts: [] });
    expect([fixture.read("a.txt"), editor.dirty.get("a.txt")]).toEqual([base, base]);
    fixture.close();
  });

  it("counts as saved what the editor saves by itself a moment after it said that it did not", async () => {
    const editor = fakeEditor(() => fixture);
    const late = (async (name: string, params: never) => {
      const answer = await editor.ask(name as "applyText", params);
      return name === "applyText" ? { ...answer, saved: false } : answer;
    }) as unknown as AskEditor;
    const fixture: ToolsFixture = createToolsFixture({ askEditor: late });
    fixture.write("a.txt", base);
    const { changeId } = await fixture.run("write_file", { path: "a.txt", content: edited(2) });
    const change = await fixture.tools.changes.decide(changeId ?? "", "accept");
    expect({ status: change.status, problem: change.problem ?? null }).toEqual({ status: "accepted", problem: null });
    expect(fixture.read("a.txt")).toBe(edited(2));
    const { restored, conflicts } = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect({ restored, conflicts }).toEqual({ restored: ["a.txt"], conflicts: [] });
    expect(fixture.read("a.txt")).toBe(base);
    fixture.close();
  });

  it("does not restore a file that is gone over the unsaved text that the editor still has", async () => {
    const editor = fakeEditor(() => fixture);
    const fixture: ToolsFixture = createToolsFixture({ askEditor: editor.ask, posture: "autonomous" });
    fixture.answer("allow_once");
    fixture.write("a.txt", base);
    await fixture.run("delete_file", { path: "a.txt" });
    expect(existsSync(fixture.path("a.txt"))).toBe(false);
    editor.dirty.set("a.txt", "mine");
    const { restored } = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect([restored, existsSync(fixture.path("a.txt")), editor.dirty.get("a.txt")]).toEqual([[], false, "mine"]);
    fixture.close();
  });

  it("proposes against unsaved edits and never overwrites them", async () => {
    const editor = fakeEditor(() => fixture);
    const fixture: ToolsFixture = createToolsFixture({ askEditor: editor.ask });
    fixture.write("a.txt", base);
    editor.dirty.set("a.txt", base.replace("line 5\n", "line 5 UNSAVED\n"));
    expect((await fixture.run("read_file", { path: "a.txt" })).text).toContain("line 5 UNSAVED");
    const { changeId } = await fixture.run("edit_file", { path: "a.txt", old_text: "line 10\n", new_text: "line 10 EDITED\n" });
    editor.dirty.set("a.txt", (editor.dirty.get("a.txt") ?? "").replace("line 20\n", "line 20 UNSAVED\n"));
    const change = await fixture.tools.changes.decide(changeId ?? "", "accept");
    expect(change.status).toBe("accepted");
    expect(editor.dirty.get("a.txt")).toBe(
      base.replace("line 5\n", "line 5 UNSAVED\n").replace("line 10\n", "line 10 EDITED\n").replace("line 20\n", "line 20 UNSAVED\n"),
    );
    expect(fixture.read("a.txt")).toBe(base);
    fixture.close();
  });
});
