import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { createGrants } from "../../../agent-server/execution/grants.ts";
import type { IntentSpec } from "../../../agent-server/execution/action.ts";
import type { Governance } from "../../../agent-server/governance/governance.ts";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";
import { createEffectsFixture } from "../../support/tools/effects-fixture.ts";
import { catalogWith, type PlantedWriter } from "../../support/tools/planted.ts";

const signal = new AbortController().signal;
const context = { quest: "q1", parent: null, actor: "owner", mode: "normal", signal } as const;

describe("a reviewed write", () => {
  const fixture = createEffectsFixture();
  afterEach(() => fixture.close());

  it("is denied when its path leads to another file after the review", async () => {
    fixture.write("src/a.ts", "reviewed\n");
    fixture.write("elsewhere/a.ts", "other\n");
    const step: IntentSpec = {
      capability: "file_ops",
      action: "delete",
      args: { path: "src/a.ts", absolute: fixture.path("src/a.ts") },
    };
    const request = {
      steps: [step],
      consent: "review" as const,
      context,
      question: { title: "", detail: "" },
      receipt: undefined,
      onRefused: () => undefined,
    };
    const grants = createGrants({ governance: fixture.governance, log: () => undefined });
    const [grant] = await grants.authorize(request);
    if (grant === undefined) throw new Error("The step was not authorized.");
    expect(grant.authorization).toBeNull();
    expect(() => grants.redeem(grant, context)).not.toThrow();

    let hasRun = false;
    const execution = fixture.pipeline.execute({
      ...context,
      actionType: "file_op",
      actionName: "file_delete",
      inputs: {},
      steps: [step],
      question: request.question,
      consent: "review",
      touches: [],
      provider: { name: "test", version: "1" },
      // Called after the authorization and before the effect.
      onReceipt: () => {
        renameSync(fixture.path("src"), fixture.path("reviewed"));
        symlinkSync("elsewhere", fixture.path("src"));
      },
      run: () => {
        hasRun = true;
        return Promise.resolve({ value: null, outputs: {} });
      },
    });
    await expect(execution).rejects.toMatchObject({ code: "denied" });
    expect(hasRun).toBe(false);
    expect(fixture.read("elsewhere/a.ts")).toBe("other\n");
    expect(fixture.ledger.search({ query: "file_delete", limit: 1 }).items).toMatchObject([
      { status: "failure", metadata: { consent: "review", approvalId: null } },
    ]);
    expect(() => grants.redeem(grant, context)).toThrow(expect.objectContaining({ code: "denied" }));
  });

  it.each([
    ["write", "needed no question"],
    ["delete", "replaced a question"],
  ])("is denied when policy no longer allows it: a %s whose review %s", async (action) => {
    const own = createEffectsFixture();
    own.write("a.ts", "one\n");
    let hasRun = false;
    const execution = own.pipeline.execute({
      ...context,
      actionType: "file_op",
      actionName: `file_${action}`,
      inputs: {},
      steps: [{ capability: "file_ops", action, args: { path: "a.ts", absolute: own.path("a.ts") } }],
      question: { title: "", detail: "" },
      consent: "review",
      touches: [],
      provider: { name: "test", version: "1" },
      // A named pipe is no regular file, so the path is denied from here on.
      onReceipt: () => {
        rmSync(own.path("a.ts"));
        execFileSync("mkfifo", [own.path("a.ts")]);
      },
      run: () => {
        hasRun = true;
        return Promise.resolve({ value: null, outputs: {} });
      },
    });
    await expect(execution).rejects.toMatchObject({ code: "denied" });
    expect(hasRun).toBe(false);
    own.close();
  });
});

describe("an action that was approved", () => {
  let fixture: ToolsFixture;
  afterEach(() => fixture.close());

  it.each([
    ["stops", "a write failed its verification", true],
    ["runs", "a write was verified", false],
  ])("%s when %s during the approval", async (_result, _cause, fails) => {
    const { promise: verified, resolve: verify } = Promise.withResolvers<null>();
    const writer: PlantedWriter = {
      plans: { "b.txt": "planned" },
      does: (absolute) => writeFileSync(absolute, fails ? "other" : "planned"),
      verify: () => verified,
    };
    let pendingBeforeDecision = -1;
    fixture = createToolsFixture({
      posture: "autonomous",
      catalog: catalogWith(() => writer),
      wrap: (real): Governance => ({
        ...real,
        authorize: async (intent, ...rest) => {
          if (intent.action !== "delete") return real.authorize(intent, ...rest);
          await fixture.run("plant", {});
          pendingBeforeDecision = fixture.tools.verifications.stats().waiting;
          const authorization = await real.authorize(intent, ...rest);
          setImmediate(() => verify(null));
          return authorization;
        },
      }),
    });
    fixture.answer("allow_once");
    fixture.write("a.txt", "one\n");
    fixture.write("b.txt", "two\n");
    const outcome = await fixture.run("delete_file", { path: "a.txt" });
    expect(pendingBeforeDecision).toBe(1);
    expect(outcome.error?.code).toBe(fails ? "conflict" : undefined);
    expect(fixture.ledger.get(outcome.receiptId ?? "")).toMatchObject({ status: fails ? "failure" : "success" });
    if (fails) expect(fixture.read("a.txt")).toBe("one\n");
    else expect(() => fixture.read("a.txt")).toThrow("ENOENT");
    expect(fixture.tools.verifications.stats()).toEqual({ waiting: 0, failed: fails ? 1 : 0 });
  });
});

it.each(["ask", "review"] as const)("an action that is stopped after its decision does not start: %s", async (consent) => {
  const fixture = createEffectsFixture();
  const stop = new AbortController();
  let hasRun = false;
  const execution = fixture.pipeline.execute({
    ...context,
    signal: stop.signal,
    actionType: "file_op",
    actionName: "file_write",
    inputs: {},
    steps: [{ capability: "file_ops", action: "write", args: { path: "a.ts", absolute: fixture.path("a.ts") } }],
    question: { title: "", detail: "" },
    consent,
    touches: [{ path: { absolute: fixture.path("a.ts"), display: "a.ts" } }],
    provider: { name: "test", version: "1" },
    onReceipt: () => stop.abort(),
    run: () => {
      hasRun = true;
      return Promise.resolve({ value: null, outputs: {} });
    },
  });
  await expect(execution).rejects.toMatchObject({ code: "cancelled" });
  expect(hasRun).toBe(false);
  expect(fixture.ledger.search({ query: "file_write", limit: 1 }).items).toMatchObject([{ status: "cancelled" }]);
  fixture.close();
});

it("earlier receipts are stored before an action of T2 is decided", async () => {
  const fixture = createEffectsFixture();
  const stored = () => fixture.storage.db.prepare("SELECT count(*) FROM ledger").pluck().get();
  const before = Number(stored());
  fixture.ledger.record({ actionType: "tool_call", actionName: "read_file", inputs: {}, riskTier: "T0" }, { status: "success" });
  expect(stored()).toBe(before);
  const step: IntentSpec = { capability: "shell_exec", action: "run", args: { command: "ls" }, cwd: fixture.workspace };
  const decisions = await fixture.pipeline.authorize([step], context, { title: "", detail: "" });
  expect(decisions).toMatchObject([{ verdict: "allow", tier: "T2" }]);
  expect(stored()).toBe(before + 2);
  fixture.close();
});

it("a rollback that fails its verification is not undone itself", async () => {
  const fixture = createEffectsFixture();
  fixture.write("a.ts", "one\n");
  const path = { absolute: fixture.path("a.ts"), display: "a.ts" };
  const execution = fixture.pipeline.execute({
    ...context,
    actor: "system",
    actionType: "file_op",
    actionName: "verification_restore",
    inputs: {},
    steps: [{ capability: "file_ops", action: "write", args: { path: "a.ts", absolute: path.absolute } }],
    question: { title: "", detail: "" },
    consent: "review",
    touches: [{ path, planned: Buffer.from("planned\n") }],
    provider: { name: "test", version: "1" },
    isRollback: true,
    run: () => {
      fixture.write("a.ts", "other\n");
      return Promise.resolve({ value: null, outputs: {} });
    },
  });
  await expect(execution).rejects.toMatchObject({ code: "unavailable" });
  expect(fixture.read("a.ts")).toBe("other\n");
  fixture.close();
});

describe("an effect that fails half-way", () => {
  let fixture: ToolsFixture;
  afterEach(() => fixture.close());

  it("keeps the after-images of what it wrote, so that undo restores it", async () => {
    const writer: PlantedWriter = {
      plans: { "a.txt": "planned a", "new/b.txt": "planned b", "c.txt": null },
      action: "write",
      does: (absolute) => {
        if (absolute.endsWith("c.txt")) throw new Error("The disk is full.");
        mkdirSync(fixture.path("new"), { recursive: true });
        writeFileSync(absolute, absolute.endsWith("a.txt") ? "planned a" : "half of b");
      },
    };
    fixture = createToolsFixture({ posture: "autonomous", catalog: catalogWith(() => writer) });
    fixture.write("a.txt", "one\n");
    fixture.write("c.txt", "three\n");
    expect(await fixture.run("plant", {})).toMatchObject({ isError: true });
    expect(fixture.read("a.txt")).toBe("planned a");
    const { restored, conflicts } = await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(conflicts).toEqual([]);
    expect(restored.filter((path) => path.endsWith(".txt")).toSorted()).toEqual(["a.txt", "new/b.txt"]);
    expect(fixture.read("a.txt")).toBe("one\n");
    expect(fixture.read("c.txt")).toBe("three\n");
    expect(() => fixture.read("new/b.txt")).toThrow("ENOENT");
  });
});
