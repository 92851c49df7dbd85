import { symlinkSync, unlinkSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../../agent-server/contract/chat.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Intent } from "../../../agent-server/contract/governance.ts";
import type { Governance } from "../../../agent-server/governance/governance.ts";
import { shippedSoul } from "../../support/soul-room.ts";
import { createToolsRoom, snapshotTree, type ToolsRoom, type ToolsRoomOptions } from "../../support/tools-room.ts";

/** A call of every tool that works, and the capability and action the gate must be asked for last. */
const calls: Record<string, { args: Record<string, unknown>; asks: string[]; path?: string }> = {
  read_file: { args: { path: "src/a.ts" }, asks: ["file_ops.read"], path: "src/a.ts" },
  list_files: { args: { path: "src" }, asks: ["file_ops.list"], path: "src" },
  search_workspace: { args: { query: "alpha" }, asks: ["file_ops.search"], path: "" },
  edit_file: {
    args: { path: "src/a.ts", old_text: "alpha", new_text: "ALPHA" },
    asks: ["file_ops.read", "file_ops.write"],
    path: "src/a.ts",
  },
  write_file: { args: { path: "src/b.ts", content: "new" }, asks: ["file_ops.read", "file_ops.write"], path: "src/b.ts" },
  apply_patch: {
    args: { patch: "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-alpha\n+beta\n" },
    asks: ["file_ops.read", "file_ops.apply_patch"],
    path: "src/a.ts",
  },
  delete_file: { args: { path: "src/a.ts" }, asks: ["file_ops.delete"], path: "src/a.ts" },
  git_status: { args: {}, asks: ["repo_ops.status"], path: "" },
  git_diff: { args: { path: "src/a.ts" }, asks: ["repo_ops.diff"], path: "src/a.ts" },
  git_log: { args: {}, asks: ["repo_ops.log"], path: "" },
  diagnostics: { args: { path: "src/a.ts" }, asks: ["file_ops.read"], path: "src/a.ts" },
  ask_owner: { args: { question: "Which?" }, asks: ["quest.ask"] },
  update_plan: { args: { steps: [{ title: "One", status: "active" }] }, asks: ["quest.plan"] },
  soul_propose_amendment: { args: { yaml: shippedSoul.replace("    - push\n", ""), reason: "Why." }, asks: ["soul.propose"] },
};

interface Spied {
  asked: Intent[];
  redeemed: Intent[];
  /** What happened outside the gate, each with the number of questions asked before. */
  effects: { what: string; asked: number; redeemed: number }[];
}

describe("the road", () => {
  let room: ToolsRoom;
  afterEach(() => room.close());

  function open(options: ToolsRoomOptions = {}): ToolsRoom {
    room = createToolsRoom({ posture: "autonomous", ...options });
    room.write("src/a.ts", "alpha\n");
    return room;
  }

  it("is known for every tool of the catalog", () => {
    open();
    expect(
      room.tools
        .list()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(Object.keys(calls).sort());
  });

  it.each(Object.entries(calls))(
    "%s asks the gate, with the resolved path, before it does anything",
    async (tool, { args, asks, path }) => {
      const spied: Spied = { asked: [], redeemed: [], effects: [] };
      const note = (what: string) => spied.effects.push({ what, asked: spied.asked.length, redeemed: spied.redeemed.length });
      open({
        askEditor: (async (name: string) => {
          note(name);
          return name === "diagnostics" ? { items: [] } : name === "unsavedText" ? { text: null } : { applied: true, saved: true };
        }) as never,
        wrap: (real): Governance => ({
          ...real,
          authorize: async (intent, question, context) => {
            spied.asked.push(structuredClone(intent));
            const decision = { ...real.evaluate(intent), verdict: "allow" as const };
            return { decision, intentHash: JSON.stringify(intent), approvalId: null, question, context } as never;
          },
          redeem: (_authorization, intent) => void spied.redeemed.push(structuredClone(intent)),
        }),
      });
      await room.run(tool, args, {
        askOwner: async () => {
          note("askOwner");
          return "this";
        },
        updatePlan: () => note("updatePlan"),
      });
      expect(spied.asked.map(({ capability, action }) => `${capability}.${action}`)).toEqual(asks);
      expect(spied.redeemed).toEqual(spied.asked);
      for (const effect of spied.effects) expect(effect.redeemed).toBeGreaterThan(0);
      for (const effect of spied.effects.filter(({ what }) => what === "applyText")) expect(effect.redeemed).toBe(asks.length);
      if (path !== undefined) for (const { args } of spied.asked) expect(args["absolute"]).toBe(room.path(path).replace(/\/$/, ""));
    },
  );

  it.each(Object.entries(calls))("%s does nothing when the gate fails", async (tool, { args }) => {
    const effects: string[] = [];
    open({
      askEditor: (async (name: string) => {
        effects.push(name);
        return { items: [], text: null, applied: true, saved: true };
      }) as never,
      wrap: (real) => ({ ...real, authorize: () => Promise.reject(new Error("the gate is broken")) }),
    });
    const before = snapshotTree(room.workspace);
    const outcome = await room.run(tool, args, {
      askOwner: async () => {
        effects.push("askOwner");
        return "x";
      },
      updatePlan: () => effects.push("updatePlan"),
    });
    expect(outcome.isError).toBe(true);
    expect(outcome.text).not.toContain("alpha");
    expect(effects).toEqual([]);
    expect(snapshotTree(room.workspace)).toEqual(before);
    expect(room.ledger.get(outcome.receiptId ?? "")).toMatchObject({ actionName: tool, status: "failure" });
  });

  it.each(["edit_file", "write_file", "apply_patch", "delete_file", "read_file"])(
    "%s does nothing when the leave is not valid any more",
    async (tool) => {
      open({
        wrap: (real) => ({
          ...real,
          redeem: () => {
            throw new LancelotError("denied", "This is not what was authorized.");
          },
        }),
      });
      room.answer("allow_once");
      const before = snapshotTree(room.workspace);
      const outcome = await room.run(tool, calls[tool]?.args);
      expect(outcome).toMatchObject({ isError: true, card: { status: "denied" } });
      expect(snapshotTree(room.workspace)).toEqual(before);
    },
  );

  it("refuses when a link is put in the way while the owner is asked", async () => {
    open({ posture: "supervised" });
    room.write("src/real.ts", "real\n");
    room.write("outside.txt", "other\n");
    symlinkSync("real.ts", room.path("src/link.ts"));
    const seen: Partial<ToolPart>[] = [];
    const outcome = room.run(
      "delete_file",
      { path: "src/link.ts" },
      {
        onUpdate: (card) => {
          seen.push(card);
          if (card.status !== "waiting") return;
          unlinkSync(room.path("src/link.ts"));
          symlinkSync("../outside.txt", room.path("src/link.ts"));
          room.governance.approvals.decide(card.approvalId ?? "", "allow_once");
        },
      },
    );
    expect(await outcome).toMatchObject({ isError: true, card: { status: "denied" } });
    expect(seen.map(({ status }) => status)).toContain("waiting");
    expect([room.read("src/real.ts"), room.read("outside.txt")]).toEqual(["real\n", "other\n"]);
  });

  it("refuses an edit of what changed while the owner was asked", async () => {
    open();
    room.write(".vscode/settings.json", "{}\n");
    const outcome = await room.run(
      "write_file",
      { path: ".vscode/settings.json", content: '{"a": 1}\n' },
      {
        onUpdate: (card) => {
          if (card.status !== "waiting") return;
          room.write(".vscode/settings.json", '{"mine": true}\n');
          room.governance.approvals.decide(card.approvalId ?? "", "allow_once");
        },
      },
    );
    expect(outcome).toMatchObject({ isError: true, text: expect.stringContaining("changed meanwhile") });
    expect(room.read(".vscode/settings.json")).toBe('{"mine": true}\n');
  });

  it("shows the owner the diff it asks for", async () => {
    open();
    room.write(".vscode/settings.json", "{}\n");
    let detail = "";
    await room.run(
      "write_file",
      { path: ".vscode/settings.json", content: '{"a": 1}\n' },
      {
        onUpdate: (card) => {
          if (card.status !== "waiting") return;
          detail = room.governance.approvals.get(card.approvalId ?? "")?.detail ?? "";
          room.governance.approvals.decide(card.approvalId ?? "", "allow_once");
        },
      },
    );
    expect(detail).toContain('-{}\n+{"a": 1}');
    expect(room.read(".vscode/settings.json")).toBe('{"a": 1}\n');
  });

  it("tells the model what was blocked, by which rule and what else it can do", async () => {
    open();
    room.write(".env", "KEY=hunter2hunter2\n");
    const outcome = await room.run("read_file", { path: ".env" });
    expect(outcome).toMatchObject({ isError: true, card: { status: "denied", verdict: "deny" }, error: { code: "denied" } });
    expect(outcome.text).toMatch(/^Blocked: read_file was not done\./);
    expect(outcome.text).toContain("Instead you can:\n- ");
    expect(outcome.text).not.toContain("hunter2");
  });

  it("closes the receipt and throws when it is stopped", async () => {
    open();
    const stop = new AbortController();
    stop.abort();
    await expect(room.run("read_file", { path: "src/a.ts" }, { signal: stop.signal })).rejects.toMatchObject({ code: "cancelled" });
    const [receipt] = room.ledger.search({ limit: 1 }).items;
    expect(receipt).toMatchObject({ actionName: "read_file", status: "cancelled" });
  });

  it.each<[string, string, unknown, RegExp]>([
    ["a missing argument", "read_file", {}, /path: .*It takes path \(string\), offset \(integer, optional\)/],
    ["an argument of another name", "read_file", { file_path: "a" }, /file_path: there is no such argument; did you mean path\?/],
    ["an unknown argument", "list_files", { sort: true }, /sort: there is no such argument\./],
    ["a number out of range", "read_file", { path: "a", offset: 0 }, /offset/],
    ["no object", "read_file", "src/a.ts", /wrong/],
  ])("says what is wrong with %s", async (_name, tool, args, expected) => {
    open();
    const outcome = await room.run(tool, args);
    expect(outcome).toMatchObject({ isError: true, error: { code: "invalid_params" } });
    expect(outcome.text).toMatch(expected);
  });

  it("takes numbers and flags that come as texts, and null for what is left out", async () => {
    open();
    room.write("n.txt", "1\n2\n3\n4\n");
    expect((await room.run("read_file", { path: "n.txt", offset: "2", limit: "1" })).text).toBe(
      "2\t2\n[lines 2–2 of 4. Read on with offset 3.]",
    );
    expect((await room.run("list_files", { path: "src", glob: null })).text).toBe("src/a.ts");
    expect((await room.run("edit_file", { path: "n.txt", old_text: "1", new_text: "x", replace_all: "true" })).isError).toBe(false);
  });

  it("says which tools there are when one is not known", async () => {
    open();
    expect((await room.run("run_shell", {})).text).toContain("There is no tool run_shell. There are: read_file");
  });

  it("takes secrets out of what the model and the receipt get", async () => {
    open();
    room.write(
      "notes.md",
      "key: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxy-AAAAAAAA\n",
    );
    const outcome = await room.run("read_file", { path: "notes.md" });
    expect(outcome.text).not.toContain("abcdefghijklmnop");
    expect(JSON.stringify(room.ledger.get(outcome.receiptId ?? ""))).not.toContain("abcdefghijklmnop");
  });

  it("runs edits of one file one after the other, so that none is lost", async () => {
    open({ posture: "supervised" });
    room.write("many.txt", Array.from({ length: 40 }, (_, index) => `<${index}>\n`).join(""));
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        room.run("edit_file", { path: "many.txt", old_text: `<${index * 2}>`, new_text: `<${index * 2}!>` }),
      ),
    );
    expect(outcomes.filter(({ isError }) => isError)).toEqual([]);
    const [change] = room.tools.changes.list({ questId: "q1", limit: 10 });
    expect(change?.hunks).toHaveLength(20);
  });

  it("asks the owner and hands the answer on; says so where nobody can answer", async () => {
    open();
    const answered = await room.run(
      "ask_owner",
      { question: "Which?", options: ["a", "b"] },
      { askOwner: async (question, options) => `${question} ${options?.[1] ?? ""}` },
    );
    expect(answered.text).toBe("The owner answers: Which? b");
    expect(await room.run("ask_owner", { question: "Which?" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("Nobody can answer"),
    });
  });

  it("keeps a plan whose steps came as texts", async () => {
    open();
    let plan: unknown;
    await room.run("update_plan", { steps: ["one", { title: "two", status: "done" }] }, { updatePlan: (steps) => (plan = steps) });
    expect(plan).toEqual([
      { title: "one", status: "pending" },
      { title: "two", status: "done" },
    ]);
  });

  it("gives every tool a JSON schema of an object, without defaults or unknown arguments", () => {
    open();
    for (const { name, parameters, description } of room.tools.schemas()) {
      expect(parameters, name).toMatchObject({ type: "object", additionalProperties: false });
      expect(description.length, name).toBeLessThan(420);
    }
  });
});
