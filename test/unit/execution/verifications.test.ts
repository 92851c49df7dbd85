// @module-tag processes
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { AskEditor } from "../../../agent-server/contract/editor.ts";
import type { Receipt } from "../../../agent-server/contract/receipts.ts";
import type { Governance, OutcomeReport } from "../../../agent-server/governance/governance.ts";
import { createToolsFixture, snapshotTree, type ToolsFixture, type ToolsFixtureOptions } from "../../support/tools-fixture.ts";
import { catalogWith, type PlantedWriter } from "../../support/tools/planted.ts";

describe("verification", () => {
  let fixture: ToolsFixture;
  let planted: PlantedWriter;
  let outcomes: OutcomeReport[] = [];
  let failures: string[] = [];
  afterEach(() => fixture.close());

  function open(options: ToolsFixtureOptions = {}): void {
    outcomes = [];
    failures = [];
    fixture = createToolsFixture({
      posture: "autonomous",
      catalog: catalogWith(() => planted),
      wrap: (real): Governance => ({ ...real, outcome: (report) => void outcomes.push(report) }),
      ...options,
    });
    fixture.tools.verifications.onFailure(({ message }) => failures.push(message));
    fixture.write("a.txt", "one\n");
    fixture.write("b.txt", "two\n");
    chmodSync(fixture.path("b.txt"), 0o640);
  }

  const plant = () => fixture.run("plant", {});
  const settle = () => fixture.tools.verifications.settle("q1", { timeoutMs: 20_000 });
  const receiptsOf = (filter: Parameters<typeof fixture.ledger.search>[0]): Receipt[] => fixture.ledger.search(filter).items;
  const verifications = () => receiptsOf({ actionType: "verification", limit: 100 });
  const rows = () => fixture.storage.db.prepare("SELECT status, told FROM verifications").all();

  /** Blocks the queue until the returned function is called. */
  async function hold(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<null>();
    planted = { plans: { "held.txt": "held" }, does: (absolute) => writeFileSync(absolute, "held"), verify: () => promise };
    expect((await plant()).isError).toBe(false);
    return () => resolve(null);
  }

  it("of a reversible action follows it, with a receipt under the receipt of the action", async () => {
    open();
    const { receiptId } = await fixture.run("write_file", { path: "a.txt", content: "ONE\n" });
    expect(await settle()).toBe(true);
    expect(verifications()).toMatchObject([
      { actionName: "write_file.verify", status: "success", parentId: receiptId, questId: "q1", inputs: { paths: ["a.txt"] } },
    ]);
    expect(rows()).toEqual([]);
    expect(fixture.tools.verifications.stats()).toEqual({ waiting: 0, failed: 0 });
    expect(outcomes).toMatchObject([{ result: "success", receiptId, steps: [{ intent: { capability: "file_ops", action: "write" } }] }]);
  });

  it.each<[string, () => PlantedWriter, string]>([
    ["writes other content", () => ({ plans: { "b.txt": "planned" }, does: (at) => writeFileSync(at, "something else") }), "b.txt"],
    ["writes only half of the content", () => ({ plans: { "b.txt": "planned" }, does: (at) => writeFileSync(at, "plan") }), "b.txt"],
    ["deletes instead", () => ({ plans: { "b.txt": "planned" }, does: (at) => rmSync(at) }), "b.txt"],
    [
      "changes the mode",
      () => ({
        plans: { "b.txt": "planned" },
        does: (at) => {
          writeFileSync(at, "planned");
          chmodSync(at, 0o777);
        },
      }),
      "b.txt",
    ],
    [
      "writes one of two files wrong",
      () => ({
        plans: { "a.txt": "planned", "b.txt": "planned" },
        does: (at) => writeFileSync(at, at.endsWith("a.txt") ? "planned" : "plan"),
      }),
      "b.txt",
    ],
    ["creates a file with other content", () => ({ plans: { "new.txt": "planned" }, does: (at) => writeFileSync(at, "other") }), "new.txt"],
  ])("detects a writer that %s, and restores the files exactly", async (_name, writer, found) => {
    open();
    const before = snapshotTree(fixture.workspace);
    planted = writer();
    const outcome = await plant();
    expect(outcome.isError).toBe(false);
    await settle();
    expect(snapshotTree(fixture.workspace)).toEqual(before);
    const [verification] = receiptsOf({ actionType: "verification", status: "failure", limit: 10 });
    expect(verification).toMatchObject({ actionName: "plant.verify", parentId: outcome.receiptId });
    expect(verification?.outputs["findings"]).toMatchObject([{ path: found, state: "wrong" }]);
    expect(receiptsOf({ query: "verification_restore", actionType: "file_op", limit: 1 })[0]).toMatchObject({
      parentId: verification?.id,
      status: "success",
    });
    // The user, trust and the next answer to the model are informed once each.
    expect(failures).toEqual([verification?.errorMessage]);
    expect(outcomes.map(({ result, verification: late }) => [result, late])).toEqual([
      ["success", undefined],
      ["failure", true],
    ]);
    expect((await fixture.run("read_file", { path: "a.txt" })).text).toContain(verification?.errorMessage);
    expect((await fixture.run("read_file", { path: "a.txt" })).text).not.toContain(".verify");
    expect(fixture.tools.verifications.stats()).toEqual({ waiting: 0, failed: 1 });
  });

  it("detects a writer that writes nothing, and has nothing to restore", async () => {
    open();
    planted = { plans: { "b.txt": "planned" }, does: () => undefined };
    await plant();
    await settle();
    expect(failures).toHaveLength(1);
    expect(verifications()[0]).toMatchObject({
      status: "failure",
      outputs: { findings: [{ path: "b.txt", state: "wrong" }], restored: [], conflicts: [] },
    });
    expect(fixture.read("b.txt")).toBe("two\n");
  });

  it("keeps a later edit of another process, and reports it", async () => {
    open();
    const release = await hold();
    await fixture.run("write_file", { path: "a.txt", content: "ours\n" });
    execFileSync(process.execPath, ["-e", "require('fs').appendFileSync(process.argv[1], 'theirs\\n')", fixture.path("a.txt")]);
    release();
    await settle();
    expect(fixture.read("a.txt")).toBe("ours\ntheirs\n");
    expect(verifications()[0]).toMatchObject({ status: "success", outputs: { findings: [{ path: "a.txt", state: "changed" }] } });
    expect(failures).toEqual([]);
    // The next step is not stopped, and the model is told to read the file again.
    fixture.answer("allow_once");
    const next = await fixture.run("delete_file", { path: "b.txt" });
    expect(next.isError).toBe(false);
    expect(next.text).toMatch(/Verification of earlier actions: a\.txt /);
  });

  it("accepts a later edit of Lancelot", async () => {
    open();
    const release = await hold();
    await fixture.run("write_file", { path: "a.txt", content: "first\n" });
    await fixture.run("write_file", { path: "a.txt", content: "second\n" });
    release();
    await settle();
    expect(verifications().map(({ status }) => status)).toEqual(["success", "success", "success"]);
    expect(fixture.read("a.txt")).toBe("second\n");
    expect((await fixture.run("list_files", {})).text).not.toContain(".verify");
  });

  it("never overwrites a later edit of the user, and reports the conflict", async () => {
    open();
    const release = await hold();
    planted = { plans: { "a.txt": "planned\n", "b.txt": "planned\n" }, does: (at) => writeFileSync(at, "garbage\n") };
    await plant();
    fixture.write("a.txt", "the owner's own words\n");
    release();
    await settle();
    expect([fixture.read("a.txt"), fixture.read("b.txt")]).toEqual(["the owner's own words\n", "two\n"]);
    expect(statSync(fixture.path("b.txt")).mode & 0o777).toBe(0o640);
    expect(receiptsOf({ actionType: "verification", status: "failure", limit: 1 })[0]).toMatchObject({
      outputs: { restored: ["b.txt"], conflicts: [{ path: "a.txt" }] },
    });
  });

  it("restores nothing when the path now leads elsewhere", async () => {
    open();
    fixture.write("src/c.txt", "three\n");
    fixture.write("elsewhere/c.txt", "not ours\n");
    const release = await hold();
    await fixture.run("write_file", { path: "src/c.txt", content: "THREE\n" });
    renameSync(fixture.path("src"), fixture.path("moved"));
    symlinkSync("elsewhere", fixture.path("src"));
    release();
    await settle();
    expect(verifications()[0]).toMatchObject({
      status: "failure",
      outputs: { findings: [{ path: "src/c.txt", state: "moved" }] },
    });
    expect(failures).toHaveLength(1);
    expect(verifications()[0]?.outputs).not.toHaveProperty("restored");
    expect([fixture.read("elsewhere/c.txt"), fixture.read("moved/c.txt")]).toEqual(["not ours\n", "THREE\n"]);
  });

  it("runs at once when the queue is full", async () => {
    open({ verificationQueue: 1 });
    const before = await hold();
    // The first one is running, so the queue has room for one more.
    await fixture.run("write_file", { path: "a.txt", content: "waits\n" });
    await fixture.run("write_file", { path: "b.txt", content: "at once\n" });
    expect(verifications()).toMatchObject([{ status: "success", inputs: { paths: ["b.txt"] } }]);
    planted = { plans: { "b.txt": "planned" }, does: (at) => writeFileSync(at, "plan") };
    const outcome = await plant();
    expect(outcome).toMatchObject({ isError: true, error: { code: "unavailable" } });
    expect(receiptsOf({ actionType: "verification", status: "failure", limit: 1 })[0]?.outputs["restored"]).toEqual(["b.txt"]);
    expect(fixture.read("b.txt")).toBe("at once\n");
    expect(fixture.ledger.get(outcome.receiptId ?? "")).toMatchObject({ status: "failure" });
    expect(outcomes.at(-1)).toMatchObject({ result: "failure", receiptId: outcome.receiptId });
    before();
    await settle();
    // The four writes were verified, and the restore of the one that went wrong.
    expect(
      verifications()
        .map(({ actionName, status }) => `${actionName} ${status}`)
        .sort(),
    ).toEqual([
      "plant.verify failure",
      "plant.verify success",
      "verification_restore.verify success",
      "write_file.verify success",
      "write_file.verify success",
    ]);
  });

  it("precedes an irreversible action, which is refused after a timeout", async () => {
    open({ boundaryTimeoutMs: 50 });
    const release = await hold();
    fixture.answer("allow_once");
    const refused = await fixture.run("delete_file", { path: "a.txt" });
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("could not be verified within") });
    expect(refused.card.approvalId ?? null).toBeNull();
    expect(fixture.read("a.txt")).toBe("one\n");
    release();
    await settle();
    expect((await fixture.run("delete_file", { path: "a.txt" })).isError).toBe(false);
  });

  it("does not block another task", async () => {
    open({ boundaryTimeoutMs: 50 });
    const release = await hold();
    fixture.answer("allow_once");
    expect((await fixture.run("delete_file", { path: "a.txt" }, { quest: "q2" })).isError).toBe(false);
    release();
  });

  it("that failed stops the next irreversible action once", async () => {
    open();
    planted = { plans: { "b.txt": "planned" }, does: (at) => writeFileSync(at, "plan") };
    await plant();
    fixture.answer("allow_once");
    const stopped = await fixture.run("delete_file", { path: "a.txt" });
    expect(stopped).toMatchObject({ isError: true, error: { code: "conflict" } });
    expect(stopped.text).toContain("b.txt");
    expect(fixture.read("a.txt")).toBe("one\n");
    expect(receiptsOf({ query: "approval.ask", limit: 5 })).toEqual([]);
    expect((await fixture.run("delete_file", { path: "a.txt" })).isError).toBe(false);
  });

  it("of an irreversible action is named in its receipt", async () => {
    open();
    fixture.answer("allow_once");
    const { receiptId } = await fixture.run("delete_file", { path: "a.txt" });
    expect(fixture.ledger.get(receiptId ?? "")).toMatchObject({ riskTier: "T3", outputs: { confirmedBy: ["files"] } });
  });

  it("of an irreversible action ends before its receipt closes", async () => {
    open();
    fixture.answer("allow_once");
    planted = { plans: { "a.txt": null }, action: "delete", does: () => undefined };
    const outcome = await plant();
    expect(outcome).toMatchObject({ isError: true, error: { code: "unavailable" } });
    expect(fixture.ledger.get(outcome.receiptId ?? "")).toMatchObject({ status: "failure", riskTier: "T3" });
    const [verification] = verifications();
    expect(verification).toMatchObject({
      status: "failure",
      parentId: outcome.receiptId,
      outputs: { findings: [{ path: "a.txt", state: "wrong" }] },
    });
  });

  it("of a reversible action that reports a failure ends before its answer", async () => {
    open();
    planted = { plans: { "a.txt": "planned" }, does: (absolute) => writeFileSync(absolute, "plan"), failure: "It broke." };
    expect(await plant()).toMatchObject({ isError: true, error: { code: "unavailable" } });
    expect(fixture.read("a.txt")).toBe("one\n");
  });

  it("includes the provider's verification: its finding is a failure, its error undoes nothing", async () => {
    open();
    planted = {
      plans: { "a.txt": "planned" },
      does: (at) => writeFileSync(at, "planned"),
      verify: async () => "the build does not start",
    };
    await plant();
    await settle();
    const [refused] = receiptsOf({ actionType: "verification", status: "failure", limit: 1 });
    expect(refused?.outputs).toMatchObject({ provider: "the build does not start", restored: ["a.txt"] });
    expect(fixture.read("a.txt")).toBe("one\n");
    planted = {
      plans: { "a.txt": "planned" },
      does: (at) => writeFileSync(at, "planned"),
      verify: () => Promise.reject(new Error("the provider died")),
    };
    await plant();
    await settle();
    expect(failures).toHaveLength(2);
    expect(verifications()[0]?.outputs).not.toHaveProperty("restored");
    expect(fixture.read("a.txt")).toBe("planned");
  });

  it("is recorded as unverified when the host closes first", async () => {
    open();
    const release = await hold();
    await fixture.run("write_file", { path: "a.txt", content: "ours\n" });
    await fixture.tools.close(20);
    // A verification that ends too late changes nothing.
    release();
    await nextTurn();
    expect(verifications().map(({ status, errorMessage }) => [status, errorMessage?.split(":")[0]])).toEqual([
      ["cancelled", "write_file"],
      ["cancelled", "plant"],
    ]);
    expect(rows()).toEqual([
      { status: "unverified", told: 0 },
      { status: "unverified", told: 0 },
    ]);
    expect(fixture.read("a.txt")).toBe("ours\n");
    // After closing, verifications run at once.
    expect((await fixture.run("write_file", { path: "b.txt", content: "late\n" })).isError).toBe(false);
    expect(verifications()[0]).toMatchObject({ status: "success", inputs: { paths: ["b.txt"] } });
  });

  it("of an accepted change ends before the answer, and detects an editor that did not save", async () => {
    const applied: string[] = [];
    const editor = (async (name: string, params: { text?: string }) => {
      if (name === "unsavedText") return { text: null };
      if (name === "applyText") applied.push(params.text ?? "");
      return { applied: true, saved: true };
    }) as unknown as AskEditor;
    open({ posture: "supervised", askEditor: editor });
    const { changeId } = await fixture.run("write_file", { path: "a.txt", content: "ours\n" });
    await expect(fixture.tools.changes.decide(changeId ?? "", "accept")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("a.txt"),
    });
    expect(applied).toEqual(["ours\n"]);
    expect(fixture.tools.changes.get(changeId ?? "").change.status).toBe("pending");
    expect(outcomes.filter(({ result }) => result === "failure")).toEqual([]);
  });

  it("reports refusals and failures to trust, and nothing for actions that never started", async () => {
    open();
    fixture.write(".env", "KEY=hunter2hunter2\n");
    const refusedRead = await fixture.run("read_file", { path: ".env" });
    expect(outcomes).toMatchObject([{ result: "refused", receiptId: refusedRead.receiptId, steps: [{ decision: { verdict: "deny" } }] }]);
    fixture.answer("deny");
    const refusedByOwner = await fixture.run("delete_file", { path: "a.txt" });
    expect(outcomes.at(-1)).toMatchObject({ result: "refused", receiptId: refusedByOwner.receiptId });
    expect(outcomes.at(-1)?.steps[0]?.approvalId).toMatch(/./);
    planted = {
      plans: { "a.txt": "planned" },
      does: () => {
        throw new Error("broken");
      },
    };
    const failed = await plant();
    expect(outcomes.at(-1)).toMatchObject({ result: "failure", receiptId: failed.receiptId });
    const reported = outcomes.length;
    rmSync(`${fixture.dataDir}/objects`, { recursive: true, force: true });
    writeFileSync(`${fixture.dataDir}/objects`, "in the way");
    expect((await fixture.run("write_file", { path: "a.txt", content: "x\n" })).isError).toBe(true);
    expect([outcomes.length, fixture.read("a.txt")]).toEqual([reported, "one\n"]);
  });

  it("reports undone actions of the agent to trust, not those of the user", async () => {
    const undone: string[][] = [];
    open({
      posture: "supervised",
      wrap: (real): Governance => ({
        ...real,
        rolledBack: ({ receiptIds }) => void undone.push([...receiptIds]),
      }),
    });
    const proposed = await fixture.run("write_file", { path: "a.txt", content: "ours\n" });
    await fixture.tools.changes.decide(proposed.changeId ?? "", "accept");
    const applied = await fixture.run("write_file", { path: "b.txt", content: "ours\n" }, { mode: "crusader" });
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect([fixture.read("a.txt"), fixture.read("b.txt")]).toEqual(["one\n", "two\n"]);
    expect(undone).toEqual([[proposed.receiptId, applied.receiptId]]);
  });

  it("is skipped when nothing was written", async () => {
    open({ posture: "supervised" });
    mkdirSync(fixture.path("d"));
    await fixture.run("write_file", { path: "a.txt", content: "proposed\n" });
    await fixture.run("list_files", {});
    expect(verifications()).toEqual([]);
    expect(fixture.tools.verifications.stats()).toEqual({ waiting: 0, failed: 0 });
  });
});
