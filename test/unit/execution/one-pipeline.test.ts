import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as z from "zod";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { AskEditor } from "../../../agent-server/contract/editor.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Decision, Intent } from "../../../agent-server/contract/governance.ts";
import type { Governance } from "../../../agent-server/governance/governance.ts";
import { createRedactor, type PageFetch } from "../../../agent-server/security/security.ts";
import { catalog } from "../../../agent-server/tools/catalog/catalog.ts";
import { replCatalog } from "../../../agent-server/tools/repl/repl.ts";
import { fileProvider } from "../../../agent-server/workspace/file-operations.ts";
import { defineTool, fileStep, type Tool } from "../../../agent-server/tools/tool.ts";
import { resolveFile } from "../../../agent-server/workspace/resolve-file.ts";
import type { ToolCall, ToolOutcome } from "../../../agent-server/tools/tools.ts";
import { plainShell } from "../../support/tools/plain-shell.ts";
import { watch, watchProcesses } from "../../support/tools/effects.ts";
import { put, repositoryTemplate } from "../../support/tools/git-fixture.ts";
import { sample, soak } from "../../support/soak.ts";
import { shippedSoul } from "../../support/soul-fixture.ts";
import { createToolsFixture, snapshotTree, type ToolsFixture, type ToolsFixtureOptions } from "../../support/tools-fixture.ts";

vi.mock("node:fs/promises", async (original) => {
  const { watched } = await import("../../support/tools/effects.ts");
  return watched(await original());
});

/**
 * What each tool of the catalog is called with here, and the argument that names what it acts on. A tool that is added to the
 * catalog needs its row, and its row must hold; without one the first test fails.
 */
const calls: Record<string, { args: Record<string, unknown>; acts: string | null }> = {
  read_file: { args: { path: "alias/a.ts" }, acts: "path" },
  list_files: { args: { path: "alias" }, acts: "path" },
  search_workspace: { args: { query: "alpha" }, acts: "query" },
  get_file_outline: { args: { path: "alias/a.ts" }, acts: "path" },
  go_to_definition: { args: { name: "alpha", path: "alias/a.ts" }, acts: "path" },
  find_references: { args: { name: "alpha", path: "alias/a.ts" }, acts: "path" },
  edit_file: { args: { path: "alias/a.ts", old_text: "alpha", new_text: "ALPHA" }, acts: "path" },
  write_file: { args: { path: "alias/new/b.ts", content: "new\n" }, acts: "path" },
  apply_patch: { args: { patch: "--- a/alias/a.ts\n+++ b/alias/a.ts\n@@ -1 +1 @@\n-alpha secret words\n+beta\n" }, acts: "path" },
  delete_file: { args: { path: "alias/a.ts" }, acts: "path" },
  run_command: { args: { command: "cp a.ts made.ts", cwd: "alias" }, acts: "command" },
  command_output: { args: { id: "background" }, acts: "id" },
  stop_command: { args: { id: "background" }, acts: "id" },
  git_status: { args: { path: "alias" }, acts: "path" },
  git_diff: { args: { path: "alias/a.ts" }, acts: "path" },
  git_log: { args: { path: "alias" }, acts: "path" },
  git_show: { args: { ref: "HEAD", path: "alias" }, acts: "path" },
  git_commit: { args: { message: "More", paths: ["alias/b.ts"] }, acts: "message" },
  git_branch: { args: { name: "topic" }, acts: "name" },
  git_checkout: { args: { ref: "other" }, acts: "ref" },
  git_push: { args: { remote: "origin", branch: "other" }, acts: "branch" },
  git_clone: { args: { url: "remote.git", path: "alias/clone" }, acts: "path" },
  fetch_url: { args: { url: "https://docs.example.org/page" }, acts: "url" },
  download: { args: { url: "https://docs.example.org/file", path: "alias/file.bin" }, acts: "path" },
  http_post: { args: { url: "https://docs.example.org/items", body: "sent" }, acts: "body" },
  deploy: { args: { action: "build", target: "site" }, acts: "target" },
  diagnostics: { args: { path: "alias/a.ts" }, acts: "path" },
  ask_owner: { args: { question: "Which?" }, acts: "question" },
  update_plan: { args: { steps: [{ title: "One", status: "active" }] }, acts: null },
  report_outcome: { args: { actionsTaken: [{ action: "Looked" }] }, acts: null },
  propose_plan: {
    args: { goal: "One", context: "Two", steps: [{ title: "One", doneWhen: ["`a.ts` exists"] }], doneWhen: ["`a.ts` exists"] },
    acts: null,
  },
  spawn_subtask: { args: { goal: "Find alpha." }, acts: "goal" },
  soul_propose_amendment: { args: { yaml: shippedSoul.replace("    - push\n", ""), reason: "Why." }, acts: "yaml" },
  memory_search: { args: { query: "alpha" }, acts: "query" },
  memory_get_core_blocks: { args: {}, acts: null },
  memory_insert: { args: { target: "archival", content: "The alpha words are in src/a.ts.", reason: "Why." }, acts: "content" },
  memory_replace: {
    args: { target: "archival", selector: "beta file", new_content: "The gamma file is b.ts.", reason: "Why." },
    acts: "content",
  },
  memory_delete: { args: { target: "archival", selector: "beta file", reason: "Why." }, acts: "selector" },
  memory_begin_edits: { args: { reason: "Why." }, acts: null },
  memory_finish_edits: { args: { commit_id: "staged" }, acts: "commitId" },
  memory_quarantine: { args: { target: "item", reason: "Why." }, acts: "id" },
  memory_rollback: { args: { commit_id: "committed", reason: "Why." }, acts: "commitId" },
  "repl.ls": { args: { argv: ["alias"] }, acts: "path" },
  "repl.cat": { args: { argv: ["alias/a.ts"] }, acts: "path" },
  "repl.grep": { args: { argv: ["alpha", "alias/a.ts"] }, acts: "path" },
  "repl.find": { args: { argv: ["alias"] }, acts: "path" },
  "repl.cp": { args: { argv: ["alias/a.ts", "copy.ts"] }, acts: "path" },
  "repl.mv": { args: { argv: ["alias/a.ts", "moved.ts"] }, acts: "path" },
};
/** The model's tools, and the commands of the REPL, which are tools of the same fabric. */
const everyTool = [...catalog, ...replCatalog];
const known = everyTool.filter(({ name }) => calls[name] !== undefined);
const rows = known.map((tool) => [tool.name, calls[tool.name]?.args ?? {}] as const);
/** The pipeline rechecks all tools in the same way: two of each capability, and all of them in the soak. */
const capabilityOf = new Map(known.map(({ name, capability }) => [name, capability]));
const ofEachKind = (some: typeof rows): typeof rows => sample(some, [([name]) => capabilityOf.get(name) ?? ""]);
const changing = new Set(["write", "delete", "apply_patch", "download"]);
/** Each test has its own fixture, in memory where there is such a disk. */
const memoryDisk = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

describe("there is one execution pipeline", () => {
  let fixture: ToolsFixture;
  let base = "";
  let stopWatching: () => void;
  let asked: Intent[] = [];
  let redeemed: Intent[] = [];
  let problems: string[] = [];
  /** What was remembered before, by the words that stand for it in the rows above. */
  let remembered: Record<string, string> = {};
  beforeAll(() => {
    stopWatching = watchProcesses();
  });
  afterAll(() => stopWatching());
  afterEach(() => {
    watch.stop();
    fixture.close();
    rmSync(base, { recursive: true, force: true });
  });

  const editor = (async (name: string, { path = "", text = "" }: { path?: string; text?: string | null } = {}) => {
    watch.note(name === "applyText" ? "write" : "editor", name);
    if (name === "diagnostics") return { items: [] };
    if (name === "symbols") return { language: "text", entries: [] };
    if (name === "references" || name === "definition")
      return { items: [{ path: "src/a.ts", line: 1, column: 1 }], truncated: false, answered: true };
    if (name === "unsavedText") return { text: null };
    mkdirSync(dirname(fixture.path(path)), { recursive: true });
    if (text === null) rmSync(fixture.path(path));
    else writeFileSync(fixture.path(path), text);
    return { applied: true, saved: true };
  }) as unknown as AskEditor;

  /** A network of which only the use is seen: nothing may be connected to here. */
  const aPage: PageFetch = ({ url, judge }) => {
    judge(url, 0);
    watch.note("network", url);
    const body = Buffer.from("alpha secret words\n");
    const head = { status: 200, type: "text/plain", charset: null, url, redirects: [], location: null };
    return Promise.resolve({ ...head, body, sha256: createHash("sha256").update(body).digest("hex") });
  };

  function open(options: ToolsFixtureOptions = {}): void {
    asked = [];
    redeemed = [];
    problems = [];
    base = realpathSync(mkdtempSync(join(memoryDisk, "lancelot-pipeline-")));
    mkdirSync(join(base, "data/config"), { recursive: true });
    writeFileSync(join(base, "data/config/network.yaml"), "version: 1\nallow: [docs.example.org]\n");
    const declared = { targets: { site: { build: "printf built" }, target: { build: "printf other" } } };
    writeFileSync(join(base, "data/config/deploy.yaml"), JSON.stringify({ version: 1, workspaces: { [join(base, "proj")]: declared } }));
    fixture = createToolsFixture({
      posture: "autonomous",
      askEditor: editor,
      catalog: everyTool,
      base,
      networkEnabled: () => true,
      given: { flag: (name) => name === "TOOLS_NETWORK" || name === "STRUCTURED_OUTPUT", shells: [plainShell("one")], pageFetch: aPage },
      memory: {},
      ...options,
    });
    remembered = expect.getState().currentTestName?.includes("memory_") === true ? remember() : {};
    const isGit = expect.getState().currentTestName?.includes("git_") === true;
    if (isGit) cpSync(repositoryTemplate("pipeline", buildRepository), fixture.workspace, { recursive: true, preserveTimestamps: true });
    else fixture.write("src/a.ts", "alpha secret words\n");
    symlinkSync("src", fixture.path("alias"));
  }

  /** A commit, a branch, a remote and a file that is not committed. */
  function buildRepository(folder: string): void {
    const git = (...args: string[]) =>
      spawnSync("git", ["-c", "user.name=o", "-c", "user.email=o@o", ...args], { cwd: folder, encoding: "utf8" });
    put(join(folder, "src/a.ts"), "alpha secret words\n");
    git("init", "-q");
    git("add", "src");
    git("commit", "-qm", "alpha secret words");
    git("branch", "other");
    git("config", "user.name", "o");
    git("config", "user.email", "o@o");
    git("clone", "-q", "--bare", ".", "remote.git");
    git("config", "remote.origin.url", "./remote.git");
    put(join(folder, "src/b.ts"), "more\n");
  }

  /** An item and a commit of the task's that is finished, and one that is not. */
  function remember(): Record<string, string> {
    const { memory } = fixture;
    if (memory === null) throw new Error("no memory");
    const author = { by: "agent", questId: "q1" } as const;
    const edit = (commitId: string, content: string) =>
      memory.edit(
        commitId,
        { op: "insert", target: "archival", content, reason: "Why.", confidence: 0.8, provenance: { source: "agent" } },
        author,
      );
    const committed = memory.begin(author, "Why.").commitId;
    edit(committed, "The beta file is b.ts.");
    const [item] = memory.finish(committed, author).diff;
    const staged = memory.begin(author, "Why.").commitId;
    edit(staged, "The delta file is d.ts.");
    return { committed, staged, item: item?.itemId ?? "" };
  }

  /**
   * Everything a call could leave: the workspace, the data folder beside the database and the copies that readers of the owner's files keep,
   * and every row that is no record or count of asking.
   */
  function world(): Record<string, unknown> {
    const rows: Record<string, unknown> = {};
    const tables = fixture.storage.db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all() as {
      name: string;
    }[];
    for (const { name } of tables) {
      if (/^(ledger|receipts|sqlite_|approvals$|governance_decisions$|hosts$)/.test(name)) continue;
      rows[name] = fixture.storage.db.prepare(`SELECT * FROM "${name}"`).all();
    }
    const files = snapshotTree(dirname(fixture.workspace), (path) => /lancelot\.sqlite|\/\.git\/|\/config-last-valid(?:\/|$)/.test(path));
    return { files, rows };
  }

  /** A spy before the real gate. */
  function spying(real: Governance): Governance {
    let before: string | null = null;
    return {
      ...real,
      authorize: async (intent, question, context) => {
        before ??= JSON.stringify(world());
        if (JSON.stringify(world()) !== before) problems.push(`something had changed before ${intent.action} was asked`);
        watch.asked += 1;
        asked.push(structuredClone(intent));
        const authorization = await real.authorize(intent, question, context);
        watch.granted += 1;
        return authorization;
      },
      redeem: (authorization, intent) => {
        real.redeem(authorization, intent);
        watch.redeemed += 1;
        redeemed.push(structuredClone(intent));
      },
    };
  }

  /** A command in the background, which runs until it is stopped. */
  async function startBackground(): Promise<string> {
    const { running } = await fixture.tools.background.start({
      ...{ questId: "q1", callId: null, receiptId: "receipt", text: "npm start", waitMs: 0, redactor: createRedactor() },
      ...{ signal: new AbortController().signal, onText: () => undefined },
      async run({ signal, onBackground }) {
        onBackground?.({ pause: () => Promise.resolve(() => undefined), ports: () => [], forward: () => undefined });
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        const value = { exitCode: null, ended: "stopped" as const, outputBytes: 0, durationMs: 1, killedOrphans: false };
        return { value, provider: fileProvider, route: { provider: "shell", reason: "", alternatives: [] }, tried: [] };
      },
    });
    void running?.program.ended.then(() => running.onEnd(null));
    return running?.id ?? "";
  }

  async function run(tool: string, args: unknown, more: Partial<ToolCall> = {}): Promise<ToolOutcome> {
    if ((args as { id?: unknown }).id === "background") remembered["background"] ??= await startBackground();
    const named = Object.entries(remembered).some(([word]) => Object.values(args as object).includes(word))
      ? Object.fromEntries(Object.entries(args as object).map(([name, value]) => [name, remembered[String(value)] ?? (value as unknown)]))
      : args;
    return fixture.run(tool, named, {
      proposePlan: () => ({ text: "Shown.", accepted: true }),
      askOwner: async () => {
        watch.note("owner", "asked");
        return "this";
      },
      updatePlan: () => watch.note("plan", "kept"),
      spawn: () => {
        watch.note("plan", "sub-task");
        return Promise.resolve({ questId: "q2", text: "Done.", problem: null, outputs: {}, changeIds: [] });
      },
      ...more,
    });
  }

  /** Runs a tool with the owner saying yes to everything, and names every step outside the pipeline. */
  async function outsidePipeline(tool: string, args: unknown): Promise<string[]> {
    fixture.answer("allow_once");
    const before = snapshotTree(fixture.workspace, (path) => path.includes("/.git/"));
    watch.start([fixture.workspace]);
    const outcome = await run(tool, args);
    await fixture.tools.verifications.settle("q1", { timeoutMs: 20_000 });
    const touched = watch.stop();
    if (outcome.isError) problems.push(`it failed: ${outcome.text}`);
    if (asked.length === 0) problems.push("the gate was never asked");
    if (JSON.stringify(redeemed) !== JSON.stringify(asked)) problems.push("what was done is not what was asked");
    for (const { kind, what, granted, redeemed: uses } of touched) {
      // A before-image is read when everything was allowed, and right before the leave is used.
      if (uses === 0 && !(kind === "read" && granted === asked.length && granted > 0))
        problems.push(`${kind} of ${what} before the gate had said yes`);
      else if (kind === "write" && uses < asked.length) problems.push(`write of ${what} before all of it was allowed`);
    }
    for (const { args } of asked) {
      const { path, absolute } = args;
      if (typeof path !== "string") continue;
      const resolved = fixture.governance.resolvePath(path);
      if (!resolved.ok || absolute !== resolved.absolute || resolved.absolute.includes("alias"))
        problems.push(`${String(absolute)} is not where ${path} leads`);
    }
    const after = snapshotTree(fixture.workspace, (path) => path.includes("/.git/"));
    const allowed = redeemed.filter(({ action }) => changing.has(action)).map(({ args }) => String(args["absolute"]));
    // What a command may change is anything in the workspace; the pipeline detects the changes.
    if (redeemed.some(({ capability }) => capability === "shell_exec")) allowed.push(...Object.keys(after));
    const cloned = redeemed.filter(({ action }) => action === "clone").map(({ args }) => String(args["absolute"]));
    for (const path of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (before[path] === after[path]) continue;
      // What a command changes is detected and recorded by the pipeline.
      if (redeemed.some(({ capability }) => capability === "shell_exec")) continue;
      if (cloned.some((one) => one === path || path.startsWith(`${one}/`))) continue;
      if (!allowed.some((one) => one === path || one.startsWith(`${path}/`))) problems.push(`${path} was changed without leave`);
    }
    return problems;
  }

  it("this test sees what touches files", async () => {
    open();
    watch.start([base]);
    await writeFile(join(base, "seen.txt"), "seen");
    await readFile(join(base, "seen.txt"));
    expect(watch.stop().map(({ kind }) => kind)).toEqual(["write", "read"]);
  });

  it("this test has a row for every tool of the catalog", () => {
    open();
    expect(everyTool.map(({ name }) => name).sort()).toEqual(Object.keys(calls).sort());
  });

  it.each(rows)("%s asks first, for exactly what it then does", async (tool, args) => {
    open({ wrap: spying });
    expect(await outsidePipeline(tool, args)).toEqual([]);
  });

  const denial: Decision = {
    verdict: "deny",
    tier: "T3",
    riskLevel: "high",
    rules: [{ id: "test.no", source: "policy", message: "Not today." }],
    alternatives: [],
    cached: false,
  };

  it.each(rows)("%s leaves nothing but its receipt when it is denied", async (tool, args) => {
    open({
      wrap: (real) => ({
        ...real,
        authorize: () => Promise.reject(new LancelotError("denied", "Not today.", { data: { decision: denial } })),
      }),
    });
    const before = world();
    const receipts = fixture.ledger.search({ limit: 500 }).items.length;
    watch.start([fixture.workspace]);
    const outcome = await run(tool, args);
    expect(watch.stop()).toEqual([]);
    expect(outcome).toMatchObject({ isError: true, card: { status: "denied", verdict: "deny" }, error: { code: "denied" } });
    expect(outcome.text).not.toContain("secret words");
    expect(world()).toEqual(before);
    const { items } = fixture.ledger.search({ limit: 500 });
    expect(items).toHaveLength(receipts + 1);
    expect(items[0]).toMatchObject({ id: outcome.receiptId, actionName: tool, status: "failure", questId: "q1" });
  });

  it.each<[string, string, Record<string, unknown>, ToolsFixtureOptions]>([
    ["a secret is read", "read_file", { path: ".env" }, {}],
    ["a device is read", "read_file", { path: "/dev/sda" }, {}],
    ["a restricted workspace is written", "write_file", { path: "src/b.ts", content: "x" }, { trusted: false }],
    ["a restricted workspace is patched", "edit_file", { path: "src/a.ts", old_text: "alpha", new_text: "b" }, { trusted: false }],
    ["the workspace is deleted", "delete_file", { path: "." }, {}],
  ])("real governance leaves one receipt when %s", async (_name, tool, args, options) => {
    open(options);
    fixture.write(".env", "KEY=hunter2hunter2\n");
    const before = world();
    const receipts = fixture.ledger.search({ limit: 500 }).items.length;
    const outcome = await run(tool, args, { parent: null });
    expect(outcome.card.status).toMatch(/denied|failure/);
    expect(world()).toEqual(before);
    const { items } = fixture.ledger.search({ limit: 500 });
    // What could be read before the write was refused has its own word in the plan, never a receipt of its own.
    expect(items.slice(0, items.length - receipts)).toMatchObject([{ id: outcome.receiptId, actionName: tool, status: "failure" }]);
    expect(outcome.card.receiptId).toBe(outcome.receiptId);
  });

  describe.each<[string, number, (real: Governance) => Governance]>([
    ["authorize", 0, (real) => ({ ...real, authorize: () => Promise.reject(new Error("broken")) })],
    [
      "authorize, at once,",
      1,
      (real) => ({
        ...real,
        authorize: () => {
          throw new Error("broken");
        },
      }),
    ],
    [
      "evaluate and authorize",
      2,
      (real) => ({
        ...real,
        evaluate: () => {
          throw new Error("broken");
        },
        authorize: () => Promise.reject(new TypeError("broken")),
      }),
    ],
    [
      "redeem",
      3,
      (real) => ({
        ...real,
        redeem: () => {
          throw new Error("broken");
        },
      }),
    ],
  ])("governance whose %s throws", (_name, index, wrap) => {
    // All tools meet the same pipeline: each meets one of the failures, and all of them in the soak.
    it.each(soak ? rows : rows.filter((_row, position) => position % 4 === index))("denies %s", async (tool, args) => {
      open({ wrap });
      fixture.answer("allow_once");
      const before = snapshotTree(fixture.workspace);
      watch.start([fixture.workspace]);
      const outcome = await run(tool, args);
      const touched = watch.stop();
      expect(outcome).toMatchObject({ isError: true, card: { status: "denied" }, error: { code: "denied" } });
      expect(touched.filter(({ kind }) => kind !== "read")).toEqual([]);
      expect(outcome.text).not.toContain("secret words");
      expect(snapshotTree(fixture.workspace)).toEqual(before);
      expect(fixture.ledger.get(outcome.receiptId ?? "")).toMatchObject({ actionName: tool, status: "failure" });
    });
  });

  describe("an action that changed after its approval is refused", () => {
    it.each(ofEachKind(rows.filter(([tool]) => calls[tool]?.acts !== null)))("%s: the arguments themselves", async (tool, args) => {
      open({
        wrap: (real) => ({
          ...real,
          authorize: async (intent, question, context) => {
            const authorization = await real.authorize(intent, question, context);
            const acts = calls[tool]?.acts ?? "";
            intent.args[acts] = acts === "path" ? "src/other.ts" : "Another one?";
            return authorization;
          },
        }),
      });
      fixture.answer("allow_once");
      fixture.write("src/other.ts", "other words\n");
      const before = snapshotTree(fixture.workspace);
      watch.start([fixture.workspace]);
      const outcome = await run(tool, args);
      expect(watch.stop().filter(({ kind }) => kind !== "read")).toEqual([]);
      expect(outcome).toMatchObject({ isError: true, card: { status: "denied" } });
      expect(outcome.text).not.toMatch(/secret words|other words/);
      expect(snapshotTree(fixture.workspace)).toEqual(before);
    });

    it.each(rows.filter(([tool]) => calls[tool]?.acts === "path"))("%s: where its path leads", async (tool, args) => {
      let swap: (() => void) | null = null;
      open({
        wrap: (real) => ({
          ...real,
          authorize: async (intent, question, context) => {
            const authorization = await real.authorize(intent, question, context);
            swap?.();
            swap = null;
            return authorization;
          },
        }),
      });
      fixture.answer("allow_once");
      fixture.write("elsewhere/a.ts", "other words\n");
      swap = () => {
        renameSync(fixture.path("alias"), fixture.path("was-alias"));
        symlinkSync("elsewhere", fixture.path("alias"));
      };
      const outcome = await run(tool, args);
      expect(outcome).toMatchObject({ isError: true, card: { status: "denied" } });
      expect(outcome.text).not.toMatch(/secret words|other words/);
      expect([fixture.read("src/a.ts"), fixture.read("elsewhere/a.ts")]).toEqual(["alpha secret words\n", "other words\n"]);
    });

    it.each(ofEachKind(rows))("%s: the caller's own object, without effect on what is done", async (tool, args) => {
      const given = structuredClone(args);
      open({
        wrap: (real) => ({
          ...real,
          authorize: async (intent, question, context) => {
            const authorization = await real.authorize(intent, question, context);
            for (const name of Object.keys(given)) given[name] = name === "steps" ? [] : "src/other.ts";
            return authorization;
          },
        }),
      });
      fixture.answer("allow_once");
      fixture.write("src/other.ts", "other words\n");
      await run(tool, given);
      expect(fixture.read("src/other.ts")).toBe("other words\n");
    });
  });

  describe("this test detects a tool that bypasses it", () => {
    const base = {
      description: "Planted.",
      args: z.strictObject({ path: z.string() }),
      capability: "file_ops",
      action: "write",
      baseTier: "T1",
      actionType: "tool_call",
      provider: fileProvider,
      title: () => "Planted",
    } as const;
    const answer = { kind: "answer", text: "done" } as const;
    const planted: Record<string, Tool> = {
      "one without a decision": defineTool({
        ...base,
        name: "planted",
        reads: () => [],
        plan: () => Promise.resolve(answer),
      }),
      "one that writes while it plans": defineTool({
        ...base,
        name: "planted",
        reads: ({ path }, scope) => [fileStep("read", resolveFile(scope, path))],
        plan: async ({ path }, scope) => {
          await writeFile(resolveFile(scope, path).absolute, "mine");
          return answer;
        },
      }),
      "one that reads before it asks": defineTool({
        ...base,
        name: "planted",
        reads: ({ path }, scope) => {
          watch.file("read", resolveFile(scope, path).absolute);
          return [fileStep("read", resolveFile(scope, path))];
        },
        plan: () => Promise.resolve(answer),
      }),
      "one that asks for another file than it writes": defineTool({
        ...base,
        name: "planted",
        reads: () => [],
        plan: ({ path }, scope) =>
          Promise.resolve({
            kind: "effect",
            steps: [fileStep("write", resolveFile(scope, path))],
            question: { title: "", detail: "" },
            touches: [],
            run: async () => {
              await writeFile(resolveFile(scope, "src/other.ts").absolute, "mine");
              return { value: answer, outputs: {} };
            },
          }),
      }),
      "one that asks for a path nobody resolved": defineTool({
        ...base,
        name: "planted",
        reads: ({ path }) => [{ capability: "file_ops", action: "read", args: { path } }],
        plan: () => Promise.resolve(answer),
      }),
      "one whose effect names no step": defineTool({
        ...base,
        name: "planted",
        reads: ({ path }, scope) => [fileStep("read", resolveFile(scope, path))],
        plan: ({ path }, scope) =>
          Promise.resolve({
            kind: "effect",
            steps: [],
            question: { title: "", detail: "" },
            touches: [],
            run: async () => {
              await writeFile(resolveFile(scope, path).absolute, "mine");
              return { value: answer, outputs: {} };
            },
          }),
      }),
    };

    it.each(Object.entries(planted))("%s", async (_name, tool) => {
      open({ wrap: spying, catalog: [...everyTool, tool] });
      expect(await outsidePipeline("planted", { path: "alias/a.ts" })).not.toEqual([]);
    });

    it("a correct tool passes", async () => {
      const honest = defineTool({
        ...base,
        name: "planted",
        reads: () => [],
        plan: ({ path }, scope) => {
          const file = resolveFile(scope, path);
          return Promise.resolve({
            kind: "effect",
            steps: [fileStep("write", file)],
            question: { title: "", detail: "" },
            touches: [{ path: file, planned: Buffer.from("mine") }],
            run: async () => {
              await writeFile(file.absolute, "mine");
              return { value: answer, outputs: {} };
            },
          });
        },
      });
      open({ wrap: spying, catalog: [...everyTool, honest] });
      expect(await outsidePipeline("planted", { path: "alias/a.ts" })).toEqual([]);
      expect(fixture.read("src/a.ts")).toBe("mine");
    });
  });

  describe("it also runs actions of the user", () => {
    /** Says no to every change of a file from now on. */
    function closed(real: Governance): Governance & { shut: boolean } {
      const gate = {
        ...real,
        shut: false,
        evaluate: (intent: Intent) => (gate.shut && changing.has(intent.action) ? denial : real.evaluate(intent)),
      };
      return gate;
    }
    let gate: ReturnType<typeof closed>;
    const wrap = (real: Governance) => (gate = closed(real));

    it("an accepted change is authorized again, and a denial leaves one receipt", async () => {
      open({ posture: "supervised", askEditor: null, wrap });
      const { changeId } = await run("write_file", { path: "alias/a.ts", content: "accepted\n" });
      gate.shut = true;
      const before = world();
      const receipts = fixture.ledger.search({ limit: 500 }).items.length;
      await expect(fixture.tools.changes.decide(changeId ?? "", "accept")).rejects.toMatchObject({ code: "denied" });
      expect(world()).toEqual(before);
      const { items } = fixture.ledger.search({ limit: 500 });
      expect(items).toHaveLength(receipts + 1);
      expect(items[0]).toMatchObject({ actionName: "file_write", status: "failure" });
      gate.shut = false;
      expect(await fixture.tools.changes.decide(changeId ?? "", "accept")).toMatchObject({ status: "accepted" });
      expect(fixture.read("src/a.ts")).toBe("accepted\n");
    });

    it("an accepted change does not follow a new link in its path", async () => {
      open({ posture: "supervised", askEditor: null });
      const { changeId } = await run("write_file", { path: "src/a.ts", content: "accepted\n" });
      fixture.write("elsewhere/a.ts", "other words\n");
      renameSync(fixture.path("src"), fixture.path("was-src"));
      symlinkSync("elsewhere", fixture.path("src"));
      await expect(fixture.tools.changes.decide(changeId ?? "", "accept")).rejects.toMatchObject({ code: "denied" });
      expect(fixture.read("elsewhere/a.ts")).toBe("other words\n");
    });

    it("an undo is authorized again, and a denial leaves one receipt and a conflict", async () => {
      open({ askEditor: null, wrap });
      await run("write_file", { path: "src/a.ts", content: "written\n" });
      await fixture.tools.verifications.settle("q1", { timeoutMs: 20_000 });
      gate.shut = true;
      const before = world();
      const receipts = fixture.ledger.search({ limit: 500 }).items.length;
      expect(await fixture.tools.checkpoints.restore({ questId: "q1" })).toEqual({
        restored: [],
        conflicts: [{ path: "src/a.ts", message: "Not today." }],
        undoCheckpointId: null,
      });
      expect(world()).toEqual(before);
      const { items } = fixture.ledger.search({ limit: 500 });
      expect(items).toHaveLength(receipts + 1);
      expect(items[0]).toMatchObject({ actionName: "checkpoint_restore", status: "failure" });
    });

    it("the restore after a failed verification is authorized too", async () => {
      const liar = defineTool({
        name: "liar",
        description: "Lies.",
        args: z.strictObject({}),
        capability: "file_ops",
        action: "write",
        baseTier: "T1",
        actionType: "tool_call",
        provider: fileProvider,
        title: () => "Lie",
        reads: () => [],
        plan: (_args, scope) => {
          const file = resolveFile(scope, "src/a.ts");
          return Promise.resolve({
            kind: "effect",
            steps: [fileStep("write", file)],
            question: { title: "", detail: "" },
            touches: [{ path: file, planned: Buffer.from("planned") }],
            run: async () => {
              writeFileSync(file.absolute, "garbage");
              gate.shut = true;
              return { value: { kind: "answer", text: "done" }, outputs: {} };
            },
          });
        },
      });
      open({ askEditor: null, wrap, catalog: [...everyTool, liar] });
      await run("liar", {});
      await fixture.tools.verifications.settle("q1", { timeoutMs: 20_000 });
      expect(fixture.read("src/a.ts")).toBe("garbage");
      expect(fixture.tools.verifications.takeFailures("q1")).toContain("src/a.ts: Not today.");
    });
  });

  it("reads nothing through a folder that is replaced by a link during the authorization", async () => {
    open();
    const outside = realpathSync(dirname(fixture.workspace));
    mkdirSync(`${outside}/private`);
    writeFileSync(`${outside}/private/a.ts`, "other words\n");
    renameSync(fixture.path("src"), fixture.path("was-src"));
    symlinkSync(`${outside}/private`, fixture.path("src"));
    const outcome = await run("read_file", { path: "src/a.ts" }, { signal: AbortSignal.timeout(5000), onUpdate: () => undefined }).catch(
      (error: unknown) => error,
    );
    expect(JSON.stringify(outcome)).not.toContain("other words");
  });
});
