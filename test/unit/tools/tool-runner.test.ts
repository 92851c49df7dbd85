import { symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../../agent-server/contract/chat.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { long, token } from "../../support/secret-samples.ts";
import { catalogWith, type PlantedWriter } from "../../support/tools/planted.ts";
import { createToolsFixture, snapshotTree, type ToolsFixture, type ToolsFixtureOptions } from "../../support/tools-fixture.ts";

/** Calls that work; test/unit/execution/one-pipeline.test.ts has one for every tool there is. */
const calls: Record<string, Record<string, unknown>> = {
  read_file: { path: "src/a.ts" },
  edit_file: { path: "src/a.ts", old_text: "alpha", new_text: "ALPHA" },
  write_file: { path: "src/b.ts", content: "new" },
  apply_patch: { patch: "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-alpha\n+beta\n" },
  delete_file: { path: "src/a.ts" },
};

describe("the tool runner", () => {
  let fixture: ToolsFixture;
  afterEach(() => fixture.close());

  function open(options: ToolsFixtureOptions = {}): ToolsFixture {
    fixture = createToolsFixture({ posture: "autonomous", ...options });
    fixture.write("src/a.ts", "alpha\n");
    return fixture;
  }

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
      fixture.answer("allow_once");
      const before = snapshotTree(fixture.workspace);
      const outcome = await fixture.run(tool, calls[tool]);
      expect(outcome).toMatchObject({ isError: true, card: { status: "denied" } });
      expect(snapshotTree(fixture.workspace)).toEqual(before);
    },
  );

  it("refuses when a link replaces the path during the approval", async () => {
    open({ posture: "supervised" });
    fixture.write("src/real.ts", "real\n");
    fixture.write("outside.txt", "other\n");
    symlinkSync("real.ts", fixture.path("src/link.ts"));
    const seen: Partial<ToolPart>[] = [];
    const outcome = fixture.run(
      "delete_file",
      { path: "src/link.ts" },
      {
        onUpdate: (card) => {
          seen.push(card);
          if (card.status !== "waiting") return;
          unlinkSync(fixture.path("src/link.ts"));
          symlinkSync("../outside.txt", fixture.path("src/link.ts"));
          fixture.governance.approvals.decide(card.approvalId ?? "", "allow_once");
        },
      },
    );
    expect(await outcome).toMatchObject({ isError: true, card: { status: "denied" } });
    expect(seen.map(({ status }) => status)).toContain("waiting");
    expect([fixture.read("src/real.ts"), fixture.read("outside.txt")]).toEqual(["real\n", "other\n"]);
  });

  it("refuses an edit of a file that changed during the approval", async () => {
    open();
    fixture.write(".vscode/settings.json", "{}\n");
    const outcome = await fixture.run(
      "write_file",
      { path: ".vscode/settings.json", content: '{"a": 1}\n' },
      {
        onUpdate: (card) => {
          if (card.status !== "waiting") return;
          fixture.write(".vscode/settings.json", '{"mine": true}\n');
          fixture.governance.approvals.decide(card.approvalId ?? "", "allow_once");
        },
      },
    );
    expect(outcome).toMatchObject({ isError: true, error: { code: "conflict" } });
    expect(fixture.read(".vscode/settings.json")).toBe('{"mine": true}\n');
  });

  it("shows the user the diff to approve", async () => {
    open();
    fixture.write(".vscode/settings.json", "{}\n");
    let detail = "";
    await fixture.run(
      "write_file",
      { path: ".vscode/settings.json", content: '{"a": 1}\n' },
      {
        onUpdate: (card) => {
          if (card.status !== "waiting") return;
          detail = fixture.governance.approvals.get(card.approvalId ?? "")?.detail ?? "";
          fixture.governance.approvals.decide(card.approvalId ?? "", "allow_once");
        },
      },
    );
    expect(detail).toContain('-{}\n+{"a": 1}');
    expect(fixture.read(".vscode/settings.json")).toBe('{"a": 1}\n');
  });

  it("tells the model which call was blocked, by which rule, and the alternatives", async () => {
    open();
    fixture.write(".env", "KEY=hunter2hunter2\n");
    const outcome = await fixture.run("read_file", { path: ".env" });
    expect(outcome).toMatchObject({ isError: true, card: { status: "denied", verdict: "deny" }, error: { code: "denied" } });
    expect(outcome.text).toMatch(/^Blocked: read_file /);
    expect(outcome.text).toContain("Instead you can:\n- ");
    expect(outcome.text).not.toContain("hunter2");
  });

  it("closes the receipt and throws when it is stopped", async () => {
    open();
    const stop = new AbortController();
    stop.abort();
    await expect(fixture.run("read_file", { path: "src/a.ts" }, { signal: stop.signal })).rejects.toMatchObject({ code: "cancelled" });
    const [receipt] = fixture.ledger.search({ limit: 1 }).items;
    expect(receipt).toMatchObject({ actionName: "read_file", status: "cancelled" });
  });

  it.each<[string, string, unknown, RegExp]>([
    ["a missing argument", "read_file", {}, /path: .*path \(string\), offset \(integer, optional\)/],
    ["an argument of another name", "read_file", { file_path: "a" }, /file_path: there is no such argument; did you mean path\?/],
    ["an unknown argument", "list_files", { sort: true }, /sort: there is no such argument\./],
    ["a number out of range", "read_file", { path: "a", offset: 0 }, /offset/],
    ["no object", "read_file", "src/a.ts", /read_file/],
  ])("reports %s", async (_name, tool, args, expected) => {
    open();
    const outcome = await fixture.run(tool, args);
    expect(outcome).toMatchObject({ isError: true, error: { code: "invalid_params" } });
    expect(outcome.text).toMatch(expected);
  });

  it("accepts numbers and flags as strings, and null for absent arguments", async () => {
    open();
    fixture.write("n.txt", "1\n2\n3\n4\n");
    expect((await fixture.run("read_file", { path: "n.txt", offset: "2", limit: "1" })).text).toBe(
      "2\t2\n[lines 2–2 of 4. Read on with offset 3.]",
    );
    expect((await fixture.run("list_files", { path: "src", glob: null })).text).toBe("src/a.ts");
    expect((await fixture.run("edit_file", { path: "n.txt", old_text: "1", new_text: "x", replace_all: "true" })).isError).toBe(false);
  });

  it("lists the tools when one is unknown", async () => {
    open();
    expect((await fixture.run("run_shell", {})).text).toMatch(/run_shell.*: read_file, /);
  });

  it("redacts secrets for the model and the receipt", async () => {
    open();
    fixture.write(
      "notes.md",
      "key: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxy-AAAAAAAA\n",
    );
    const outcome = await fixture.run("read_file", { path: "notes.md" });
    expect(outcome.text).not.toContain("abcdefghijklmnop");
    expect(JSON.stringify(fixture.ledger.get(outcome.receiptId ?? ""))).not.toContain("abcdefghijklmnop");
  });

  it("redacts what a tool itself does not", async () => {
    const secret = token("ghp_", long(36));
    open({ catalog: catalogWith(() => ({ plans: {}, does: () => undefined, answer: `It is ${secret}.` })) });
    const outcome = await fixture.run("plant", {});
    expect(outcome).toMatchObject({ isError: false });
    expect(JSON.stringify([outcome, fixture.ledger.get(outcome.receiptId ?? "")])).not.toContain(secret);
  });

  it("plans an effect on the disk again after the review that it waited for", async () => {
    let planned = "before the review";
    const plan = (content: string): PlantedWriter => ({
      plans: { "src/b.ts": content },
      does: (path) => writeFileSync(path, content),
      needsReviewedFiles: true,
    });
    open({ posture: "supervised", catalog: catalogWith(() => plan(planned)) });
    const { changeId } = await fixture.run("edit_file", { path: "src/a.ts", old_text: "alpha", new_text: "beta" });
    expect((await fixture.run("plant", {})).error).toMatchObject({ code: "conflict" });
    const settleReview = async (): Promise<void> => {
      await fixture.tools.changes.decide(changeId ?? "", "accept");
      planned = "after the review";
    };
    expect((await fixture.run("plant", {}, { settleReview })).isError).toBe(false);
    expect([fixture.read("src/a.ts"), fixture.read("src/b.ts")]).toEqual(["beta\n", "after the review"]);
  });

  it("runs edits of one file one at a time, so that none is lost", async () => {
    open({ posture: "supervised" });
    fixture.write("many.txt", Array.from({ length: 40 }, (_, index) => `<${index}>\n`).join(""));
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        fixture.run("edit_file", { path: "many.txt", old_text: `<${index * 2}>`, new_text: `<${index * 2}!>` }),
      ),
    );
    expect(outcomes.filter(({ isError }) => isError)).toEqual([]);
    const [change] = fixture.tools.changes.list({ questId: "q1", limit: 10 });
    expect(change?.hunks).toHaveLength(20);
  });

  it("passes on the user's answer, and fails when no user is present", async () => {
    open();
    const answered = await fixture.run(
      "ask_owner",
      { question: "Which?", options: ["a", "b"] },
      { askOwner: async (question, options) => `${question} ${options?.[1] ?? ""}` },
    );
    expect(answered.text).toContain("Which? b");
    expect(await fixture.run("ask_owner", { question: "Which?" })).toMatchObject({
      isError: true,
      error: { code: "unavailable" },
    });
  });

  it("accepts a plan with steps as strings", async () => {
    open();
    let plan: unknown;
    await fixture.run("update_plan", { steps: ["one", { title: "two", status: "done" }] }, { updatePlan: (steps) => (plan = steps) });
    expect(plan).toEqual([
      { title: "one", status: "pending" },
      { title: "two", status: "done" },
    ]);
  });

  it("gives every tool a JSON schema of an object, without defaults or unknown arguments", () => {
    open();
    for (const { name, parameters, description } of fixture.tools.schemas()) {
      expect(parameters, name).toMatchObject({ type: "object", additionalProperties: false });
      expect(description.length, name).toBeLessThan(420);
    }
  });
});
