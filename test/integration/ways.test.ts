import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MethodName, methods } from "../../agent-server/contract/table.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { byWords } from "../support/model-server/script.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

/**
 * Every method of the contract, by what it does to the world. A new one needs its row here.
 * `looks`: nothing. `road`: what it does takes the road of tools. `recorded`: the caller's own act, with a receipt. `quest`: begins,
 * goes on with or ends a task, whose receipts tell it. `settles`: answers something that waits; the receipt is that of the answer.
 */
const ways: Record<MethodName, "looks" | "road" | "recorded" | "quest" | "settles"> = {
  "host.info": "looks",
  "host.configure": "recorded",
  "host.sleep": "recorded",
  "host.wake": "recorded",
  "health.live": "looks",
  "health.ready": "looks",
  "chat.send": "quest",
  "chat.cancel": "quest",
  "chat.steer": "quest",
  "chat.answer": "quest",
  "chat.run": "quest",
  "quests.list": "looks",
  "quests.get": "looks",
  "quests.resume": "quest",
  "quests.rename": "recorded",
  "quests.export": "looks",
  "quests.delete": "recorded",
  "models.list": "looks",
  "models.choose": "recorded",
  "models.lint": "looks",
  "models.local": "looks",
  "models.local.download": "recorded",
  "models.local.cancel": "recorded",
  "commands.list": "looks",
  "context.items": "looks",
  "context.add": "recorded",
  "context.remove": "recorded",
  "context.compact": "recorded",
  "workspace.outline": "looks",
  "router.decide": "looks",
  "router.decisions": "looks",
  "router.stats": "looks",
  "usage.summary": "looks",
  "usage.lanes": "looks",
  "usage.savings": "looks",
  "usage.reset": "recorded",
  "usage.setCaps": "recorded",
  "intent.classify": "recorded",
  "oauth.initiate": "recorded",
  "oauth.complete": "recorded",
  "oauth.cancel": "recorded",
  "oauth.revoke": "recorded",
  "oauth.status": "looks",
  "models.local.load": "recorded",
  "models.local.unload": "recorded",
  "models.local.delete": "recorded",
  "models.servers": "looks",
  "models.useServer": "recorded",
  "quests.override": "recorded",
  "quests.edits": "recorded",
  "vault.set": "recorded",
  "vault.delete": "recorded",
  "vault.list": "looks",
  "policy.evaluate": "looks",
  "policy.explain": "looks",
  "governance.stats": "looks",
  "approvals.list": "looks",
  "approvals.decide": "settles",
  "approvals.askAgain": "recorded",
  "approvals.rules": "looks",
  "approvals.revokeRule": "recorded",
  "receipts.search": "looks",
  "receipts.get": "looks",
  "receipts.trace": "looks",
  "receipts.verify": "looks",
  "receipts.export": "recorded",
  "tools.list": "looks",
  "tools.invoke": "road",
  "tools.safeMode": "recorded",
  "tools.providers": "looks",
  "tools.health": "looks",
  "tools.route": "looks",
  "tools.doctor": "looks",
  "tools.sandbox": "looks",
  "tools.sandbox.build": "recorded",
  "tools.sandbox.cancelBuild": "recorded",
  "tools.sandbox.restart": "recorded",
  "memory.status": "looks",
  "memory.core": "looks",
  "memory.search": "looks",
  "memory.item": "looks",
  "memory.begin": "road",
  "memory.edit": "road",
  "memory.finish": "road",
  "memory.abandon": "road",
  "memory.rollback": "road",
  "memory.commits": "looks",
  // What was compiled is kept, with its receipt.
  "memory.compile": "recorded",
  "memory.contexts": "looks",
  "memory.context": "looks",
  "memory.quarantine": "looks",
  "memory.promote": "road",
  "memory.deny": "road",
  "memory.setAside": "road",
  "memory.remember": "road",
  "memory.forget": "road",
  "memory.export": "road",
  "memory.import": "road",
  "memory.jobs": "looks",
  "memory.runJob": "road",
  "workspace.search": "looks",
  "workspace.files": "looks",
  "background.list": "looks",
  "background.stop": "recorded",
  "background.preview": "road",
  "changes.list": "looks",
  "changes.get": "looks",
  "changes.decide": "road",
  "changes.decideGenerated": "road",
  "changes.left": "looks",
  "checkpoints.list": "looks",
  "checkpoints.diff": "looks",
  "checkpoints.restore": "road",
  "security.inspect": "looks",
  "security.redact": "looks",
  "repl.run": "road",
  "artifacts.list": "looks",
  "plans.create": "quest",
  "plans.list": "looks",
  "plans.get": "looks",
  "plans.update": "recorded",
  "plans.approve": "recorded",
  "plans.reject": "recorded",
  "plans.execute": "recorded",
  "soul.status": "looks",
  "soul.get": "looks",
  "soul.lint": "looks",
  "soul.propose": "recorded",
  "soul.proposals": "looks",
  "soul.approve": "recorded",
  "soul.reject": "recorded",
  "soul.activate": "recorded",
  "soul.rollback": "recorded",
  "trust.list": "looks",
  "trust.proposals": "looks",
  // Both decide a proposal that 50 successes or 20 answers make; test/unit/governance has their receipts.
  "trust.decide": "settles",
  "learning.rules": "looks",
  "learning.proposals": "looks",
  "learning.decide": "settles",
  "flags.list": "looks",
  "flags.set": "recorded",
  // Reads the owner's file again; each flag that is another then is told as if it had been set.
  "flags.reload": "settles",
};

describe("ways to an effect", () => {
  let base = "";
  let at: Window;
  let server: ModelServer;
  beforeAll(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-acts-")));
    mkdirSync(join(base, "proj"));
    mkdirSync(join(base, "data"));
    writeFileSync(join(base, "proj/a.txt"), "a\n");
    server = await startModelServer({
      script: byWords({
        "write a.txt": [{ toolCalls: [{ name: "write_file", args: { path: "a.txt", content: "b\n" } }] }, { text: "Done." }],
      }),
    });
    useModelServer(join(base, "data"), server.url("openai_compatible"));
    at = await openWindow({ workspace: join(base, "proj"), dataDir: join(base, "data") });
  });
  afterAll(async () => {
    await at.close();
    await server.close();
    rmSync(base, { recursive: true, force: true });
  });

  /** Does something and returns the names of the receipts that it left. */
  async function leaves(work: () => Promise<unknown>): Promise<string[]> {
    const newest = (await at.call("receipts.search", { limit: 500 })).items;
    const before = new Set(newest.map(({ id }) => id));
    await work();
    const after = (await at.call("receipts.search", { limit: 500 })).items;
    return after.filter(({ id }) => !before.has(id)).map(({ actionName, status }) => `${actionName} ${status}`);
  }

  it("are known, every method of the contract", () => {
    expect(Object.keys(ways).sort()).toEqual(Object.keys(methods).sort());
  });

  it("that look leave nothing behind and need no owner token", () => {
    const guarded = (Object.keys(ways) as MethodName[]).filter((name) => ways[name] === "looks" && methods[name].access === "owner");
    // Names of keys are the owner's business.
    expect(guarded).toEqual(["vault.list"]);
  });

  it("that change how Lancelot is governed need the owner token", () => {
    const open = (Object.keys(ways) as MethodName[]).filter(
      (name) => ways[name] !== "looks" && ways[name] !== "quest" && methods[name].access !== "owner",
    );
    // A task's title and history, an export into the data folder, a proposal that has no effect before the owner's word, and edits of memory
    // as the agent's tools make them: by the same gates, core only into quarantine.
    expect(open.sort()).toEqual([
      "context.add",
      "context.compact",
      "context.remove",
      "intent.classify",
      "memory.abandon",
      "memory.begin",
      "memory.compile",
      "memory.edit",
      "memory.finish",
      "quests.delete",
      "quests.override",
      "quests.rename",
      "receipts.export",
      "soul.propose",
    ]);
  });

  it.each<[MethodName, () => Promise<unknown>, string[]]>([
    ["host.configure", () => at.call("host.configure", { posture: "autonomous" }), ["host.configure success"]],
    ["host.configure", () => at.call("host.configure", { posture: "supervised" }), ["host.configure success"]],
    ["host.sleep", () => at.call("host.sleep", { reason: "A backup" }), ["host.sleep success"]],
    ["host.wake", () => at.call("host.wake", {}), ["host.wake success"]],
    ["models.choose", () => at.call("models.choose", { provider: "work", model: "test-model" }), ["models.choose success"]],
    ["vault.set", () => at.call("vault.set", { name: "SOME_KEY", value: "value-of-the-key" }), ["vault.set success"]],
    ["vault.delete", () => at.call("vault.delete", { name: "SOME_KEY" }), ["vault.delete success"]],
    ["flags.set", () => at.call("flags.set", { name: "TOOLS_NETWORK", enabled: true }), ["security.flag success"]],
    ["tools.safeMode", () => at.call("tools.safeMode", { enabled: true }), ["security.safe-mode success"]],
    ["tools.safeMode", () => at.call("tools.safeMode", { enabled: false }), ["security.safe-mode success"]],
    ["receipts.export", () => at.call("receipts.export", {}), ["receipts.export success"]],
    ["models.local.cancel", () => at.call("models.local.cancel", {}), ["models.local.cancel success"]],
    ["models.local.unload", () => at.call("models.local.unload", {}), ["models.local.unload success"]],
    ["models.local.delete", () => at.call("models.local.delete", {}), ["models.local.delete success"]],
    ["models.local.load", () => at.call("models.local.load", {}).catch(() => undefined), ["models.local.load failure"]],
    ["repl.run", () => at.call("repl.run", { command: "ls" }), ["repl.ls success"]],
    ["tools.invoke", () => at.call("tools.invoke", { tool: "read_file", args: { path: "a.txt" } }), ["read_file success"]],
  ])("%s leaves its receipt", async (_name, work, expected) => {
    expect(await leaves(work)).toEqual(expect.arrayContaining(expected));
  });

  it("soul: each step of the owner leaves its receipt", async () => {
    const { yaml } = await at.call("soul.get", {});
    let id = "";
    const propose = async () => {
      id = (await at.call("soul.propose", { yaml: yaml.replace("- push\n", "- push\n    - rename\n"), reason: "Why." })).id;
    };
    expect(await leaves(propose)).toEqual(expect.arrayContaining(["soul.propose success"]));
    expect(await leaves(() => at.call("soul.reject", { id }))).toEqual(expect.arrayContaining(["soul.reject success"]));
    await propose();
    expect(await leaves(() => at.call("soul.approve", { id }))).toEqual(expect.arrayContaining(["soul.approve success"]));
    expect(await leaves(() => at.call("soul.activate", { id }))).toEqual(expect.arrayContaining(["soul.activate success"]));
    const { versions, activeVersion } = await at.call("soul.status", {});
    const former = versions.find((version) => version !== activeVersion) ?? "";
    expect(await leaves(() => at.call("soul.rollback", { version: former }))).toEqual(expect.arrayContaining(["soul.rollback success"]));
  });

  it("memory: each act of the owner leaves its receipt and that of its commit", async () => {
    let id = "";
    let commitId = "";
    const did = async (work: () => Promise<unknown>, ...names: string[]) =>
      expect(await leaves(work)).toEqual(expect.arrayContaining(names.map((name) => `${name} success`)));
    await did(
      async () =>
        ({
          item: { id },
          commitId,
        } = await at.call("memory.remember", { text: "The harbour lights are green." })),
      "memory.remember",
      "memory.remember.verify",
      "memory.commit",
    );
    await did(
      () => at.call("memory.rollback", { commitId, reason: "Not yet." }),
      "memory.rollback",
      "memory.rollback.verify",
      "memory.commit",
    );
    await did(async () => ({ commitId } = await at.call("memory.begin", { reason: "By hand." })), "memory.begin");
    const edit = { target: "archival", reason: "By hand.", provenance: { source: "user" } } as const;
    await did(() => at.call("memory.edit", { ...edit, commitId, op: "insert", content: "The harbour lights are red." }), "memory.edit");
    await did(
      async () => ([{ itemId: id } = { itemId: "" }] = (await at.call("memory.finish", { commitId })).diff),
      "memory.finish",
      "memory.commit",
    );
    await did(() => at.call("memory.setAside", { id, reason: "Is it so?" }), "memory.setAside", "memory.commit");
    const [waiting] = (await at.call("memory.quarantine", {})).items;
    await did(() => at.call("memory.promote", { id: waiting?.id ?? "" }), "memory.promote", "memory.commit");
    await did(() => at.call("memory.setAside", { id, reason: "No." }), "memory.setAside");
    const [again] = (await at.call("memory.quarantine", {})).items;
    await did(() => at.call("memory.deny", { id: again?.id ?? "" }), "memory.deny");
    await at.call("memory.remember", { text: "The harbour lights are blue." });
    await did(() => at.call("memory.forget", { text: "harbour lights are blue" }), "memory.forget", "memory.commit");
    await did(async () => at.call("memory.abandon", await at.call("memory.begin", {})), "memory.begin", "memory.abandon");
    await did(() => at.call("memory.compile", { objective: "The harbour." }), "memory.compile");
    await did(() => at.call("memory.runJob", { name: "memory_compact_working" }), "memory.runJob");
    await at.call("memory.remember", { text: "The harbour master is called Ada." });
    let file = "";
    await did(async () => ({ file } = await at.call("memory.export", { format: "backup" })), "memory.export");
    await did(() => at.call("memory.import", { path: file }), "memory.import");
  });

  it("a task, the review of it, its undo and its deletion leave theirs", async () => {
    const { questId } = await at.call("chat.send", { text: "Please write a.txt." });
    await at.until(async () => (await at.call("quests.get", { id: questId })).quest.waitingFor?.kind === "review");
    const [change] = (await at.call("changes.list", { questId })).items;
    const decided = await leaves(() => at.call("changes.decide", { id: change?.id ?? "", decision: "accept" }));
    expect(decided).toEqual(expect.arrayContaining(["file_write success", "file_write.verify success", "changes.decide success"]));
    await at.until(async () => (await at.call("quests.get", { id: questId })).quest.status === "done");
    expect(readFileSync(join(base, "proj/a.txt"), "utf8")).toBe("b\n");
    expect(await leaves(() => at.call("checkpoints.restore", { questId }))).toEqual(
      expect.arrayContaining(["checkpoint_restore success", "checkpoint_restore.verify success"]),
    );
    expect(readFileSync(join(base, "proj/a.txt"), "utf8")).toBe("a\n");
    expect(await leaves(() => at.call("quests.rename", { id: questId, title: "Another" }))).toEqual(["quests.rename success"]);
    expect(await leaves(() => at.call("quests.delete", { id: questId }))).toEqual([
      // What memory kept of the task goes with it.
      "memory.quest_deleted success",
      "memory.commit success",
      "quests.delete success",
    ]);
    expect(existsSync(join(base, "proj/a.txt"))).toBe(true);
  });
});
