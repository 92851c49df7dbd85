// @module-tag sandbox
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import type { ToolCall, ToolOutcome } from "../../agent-server/tools/tools.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { until } from "../support/sandbox/run.ts";
import { plainShell } from "../support/tools/plain-shell.ts";
import { createGitFixture, type GitFixture } from "../support/tools/git-fixture.ts";

const configDir = join(import.meta.dirname, "../../config");
const questId = "q1";
/** Serves the files of the workspace, as they are at each request. */
const serve = `/usr/bin/python3 -u -c "
import http.server
http.server.ThreadingHTTPServer(('127.0.0.1', 3000), http.server.SimpleHTTPRequestHandler).serve_forever()"`;
const get = (path: string): string =>
  `/usr/bin/python3 -c "import urllib.request as u; print(u.urlopen('http://localhost:3000/${path}').read().decode().strip())" 2>&1 | tail -1`;

describe("commands in the background of a task", () => {
  let base: string;
  let at: GitFixture;
  const events: { topic: string; payload: unknown }[] = [];
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-background-")));
    events.length = 0;
    const [workspace, dataDir] = [join(base, "proj"), join(base, "data")];
    for (const folder of [workspace, dataDir]) mkdirSync(folder);
    const env = { ...process.env, HOME: join(base, "home") };
    at = createGitFixture({
      ...{ base, workspace, dataDir, posture: "supervised", configDir },
      home: join(base, "home"),
      given: {
        configDir,
        shells: [openOsShell({ workspace, dataDir, protectedPaths: [] }, { env })],
        emit: (topic, payload) => void events.push({ topic, payload: structuredClone(payload) }),
      },
    });
  });
  afterEach(async () => {
    await at.tools.close();
    at.close();
    rmSync(base, { recursive: true, force: true });
  });

  type Done = ToolOutcome & { card: Partial<ToolPart> };
  async function use(tool: string, args: Record<string, unknown>, more: Partial<ToolCall> = {}): Promise<Done> {
    const card: Partial<ToolPart> = {};
    const outcome = await at.run(tool, args, { quest: questId, onUpdate: (update) => Object.assign(card, update), ...more });
    return { ...outcome, card: { ...card, ...outcome.card } };
  }
  const command = (text: string, more: Partial<ToolCall> = {}) => use("run_command", { command: text }, more);
  async function start(text: string, more: Partial<ToolCall> = {}): Promise<Done & { id: string }> {
    const started = await use("run_command", { command: text, background: true, wait_ms: text === serve ? 60_000 : 300 }, more);
    const id = started.card.command?.background?.id ?? "";
    // On a busy machine a server is quiet for so long that it counts as started before it listens.
    if (text === serve)
      await until("it listens", () =>
        at.tools.background
          .list()
          .find((one) => one.id === id)
          ?.ports.includes(3000),
      );
    return { ...started, id };
  }
  const pending = () => at.tools.changes.list({ questId, open: true, limit: 100 });
  const decide = (path: string, decision: "accept" | "reject") =>
    at.tools.changes.decide(pending().find((change) => change.path === path)?.id ?? "", decision);
  const endOf = (id: string) => at.tools.background.list().find((one) => one.id === id)?.end;
  const ended = (id: string) => until(`${id} ends`, () => endOf(id));
  const lastLine = ({ text }: ToolOutcome) => text.trimEnd().split("\n").at(-1);
  const receiptsOf = (name: string) => at.ledger.search({ limit: 50 }).items.filter(({ actionName }) => actionName === name);

  it("serve edits live to other commands of the task, and to no other task", async () => {
    const { id, isError, receiptId } = await start(serve);
    expect([isError, id.startsWith("bg-")]).toEqual([false, true]);
    expect(at.ledger.get(receiptId ?? "")).toMatchObject({ status: "success", outputs: { background: { id } } });
    expect((await use("command_output", { id })).text).toContain("3000");
    expect(lastLine(await command(get("a.txt")))).toBe("one");
    await use("edit_file", { path: "a.txt", old_text: "one", new_text: "edited" });
    expect(lastLine(await command(get("a.txt")))).toBe("edited");
    expect(at.read("a.txt")).toBe("one\n");
    expect((await command(get("a.txt"), { quest: "q2" })).text).toContain("refused");
    // Rejecting shows the workspace's file again, and so does what the user writes then.
    await decide("a.txt", "reject");
    expect(lastLine(await command(get("a.txt")))).toBe("one");
    at.write("a.txt", "mine\n");
    expect(lastLine(await command(get("a.txt")))).toBe("mine");
    expect(pending()).toEqual([]);
    expect((await use("stop_command", { id })).isError).toBe(false);
    expect(endOf(id)).toMatchObject({ reason: "model" });
    const [end] = receiptsOf("command_end");
    expect(end).toMatchObject({ parentId: receiptId, status: "cancelled", outputs: { reason: "model" } });
    expect((await command(get("a.txt"))).text).toContain("refused");
    at.write("a.txt", "later\n");
    expect(lastLine(await command("cat a.txt"))).toBe("later");
  });

  it("show edits and decisions without a further command", async () => {
    const { id } = await start("sleep 3; while sleep 0.05; do cat a.txt; done");
    await use("edit_file", { path: "a.txt", old_text: "one", new_text: "edited" });
    const prints = (word: string) =>
      until(`it prints ${word}`, async () => (await use("command_output", { id, wait_ms: 500 })).text.includes(word));
    await prints("edited");
    await decide("a.txt", "reject");
    await prints("one");
    await use("edit_file", { path: "a.txt", old_text: "one", new_text: "two" });
    await decide("a.txt", "accept");
    at.write("a.txt", "three\n");
    await prints("three");
    expect(pending()).toEqual([]);
    // The user decides and writes while the view is being updated.
    for (let round = 0; round < 15; round += 1) {
      const before = at.read("a.txt").trim();
      await use("edit_file", { path: "a.txt", old_text: before, new_text: `edit${round}` });
      await new Promise((resolve) => setTimeout(resolve, 20 + round * 4));
      await decide("a.txt", "accept");
      at.write("a.txt", `user${round}\n`);
      await prints(`user${round}`);
      expect(pending()).toEqual([]);
    }
  });

  it("propose what they write as theirs, and it can be accepted while they run", async () => {
    const { id } = await start("while sleep 0.05; do cmp -s a.txt out.txt || cp a.txt out.txt; done");
    await until("it writes", async () => (await command("cat out.txt")).text.includes("one"));
    expect(pending()).toMatchObject([{ path: "out.txt", origin: expect.stringContaining("cp a.txt") }]);
    await decide("out.txt", "accept");
    expect(at.read("out.txt")).toBe("one\n");
    await use("edit_file", { path: "a.txt", old_text: "one", new_text: "two" });
    await until("it writes again", async () => (await command("cat out.txt")).text.includes("two"));
    expect(pending().map(({ path }) => path)).toEqual(expect.arrayContaining(["a.txt", "out.txt"]));
    await use("stop_command", { id });
    await decide("a.txt", "reject");
    await decide("out.txt", "reject");
    expect([at.read("a.txt"), at.read("out.txt")]).toEqual(["one\n", "one\n"]);
    expect((await command("cat a.txt out.txt")).text).toContain("one\none");
  });

  it("end by themselves, with what they left at their end", async () => {
    const quick = await use("run_command", { command: "echo done; exit 3", background: true });
    // On a busy machine it may still run when the call returns; then its end is reported as that of any other.
    const late = quick.card.command?.background?.id;
    if (late === undefined) expect([quick.isError, quick.card.command?.exitCode]).toEqual([true, 3]);
    else {
      await ended(late);
      expect(endOf(late)).toMatchObject({ reason: "exit", exitCode: 3 });
    }
    const { id, receiptId } = await start("sleep 3; echo made > made.txt; echo bye; exit 4");
    await ended(id);
    expect(endOf(id)).toMatchObject({ reason: "exit", exitCode: 4 });
    expect(pending()).toMatchObject([{ path: "made.txt", receiptId }]);
    expect(receiptsOf("command_end").find(({ parentId }) => parentId === receiptId)).toMatchObject({
      status: "failure",
      outputs: { exitCode: 4, proposedTotal: 1 },
    });
    expect((await use("command_output", { id })).text).toContain("bye");
    expect((await use("command_output", { id: "bg-none" })).isError).toBe(true);
    expect((await use("command_output", { id }, { quest: "q2" })).isError).toBe(true);
  });

  it("are stopped at limits, by the user and with the host, and their number is limited", async () => {
    // No file may be as large as all of them together.
    const full = await start("sleep 3; while :; do for one in 1 2 3; do head -c 8000000 /dev/zero >> big$one; done; done");
    await ended(full.id);
    expect(endOf(full.id)).toMatchObject({ reason: "limit" });
    const ids = [];
    for (let index = 0; index < 4; index += 1)
      ids.push((await use("run_command", { command: "sleep 600", background: true, wait_ms: 0 })).card.command?.background?.id ?? "");
    const fifth = await use("run_command", { command: "sleep 600", background: true });
    expect([fifth.isError, fifth.error?.code]).toEqual([true, "conflict"]);
    expect(await at.tools.background.stop(ids[0] ?? "", "user")).toMatchObject({ end: { reason: "user" } });
    await at.tools.execution.background?.stop(questId);
    expect(ids.slice(1).map((id) => endOf(id)?.reason)).toEqual(["task", "task", "task"]);
    const last = await start("sleep 600");
    await at.tools.background.close();
    expect(endOf(last.id)).toMatchObject({ reason: "host" });
    expect(receiptsOf("command_end")).toHaveLength(6);
  });

  it("apply generated files and commits after their end", async () => {
    writeFileSync(at.path(".gitignore"), "node_modules\n");
    const { id } = await start("sleep 600");
    await command("mkdir node_modules; echo 1 > node_modules/i.js; echo two > a.txt; git commit -qam Second");
    await decide("a.txt", "accept");
    const settle = () =>
      at.tools.execution.settlement?.settle({
        ...{ quest: questId, parent: null, actor: "agent", mode: "normal" },
        signal: new AbortController().signal,
      });
    await settle();
    expect(existsSync(at.path("node_modules"))).toBe(false);
    expect(at.git("log", "--format=%s").trim().split("\n")).toEqual(["First"]);
    await expect(at.tools.execution.settlement?.decideGenerated(questId, "reject")).rejects.toMatchObject({ code: "conflict" });
    await use("stop_command", { id });
    await until("they are applied", () => existsSync(at.path("node_modules/i.js")));
    expect(at.git("log", "--format=%s").trim().split("\n")).toEqual(["Second", "First"]);
  });

  it("do not see what the user commits meanwhile as theirs", async () => {
    await start("sleep 600");
    await command("git status");
    at.write("a.txt", "mine\n");
    at.git("commit", "-qam", "Mine");
    expect((await command("git status --short; git log --format=%s")).text).toContain("Mine\nFirst");
    expect((await command("git status --short | wc -l")).text.trimEnd().split("\n").at(-1)).toBe("0");
    expect(at.tools.execution.settlement?.left(questId).commits).toEqual([]);
  });

  it("cannot lead a look at their files out of the workspace", async () => {
    mkdirSync(join(base, "outside"));
    writeFileSync(join(base, "outside/secret.txt"), "canary\n");
    const target = join(base, "outside");
    const { id } = await start(`mkdir d; echo x > d/secret.txt; while :; do mv d e; ln -s '${target}' d; rm d; mv e d; (true &); done`, {});
    for (let round = 0; round < 8; round += 1) {
      await command("true");
      for (const change of pending()) expect(JSON.stringify(at.tools.changes.get(change.id))).not.toContain("canary");
    }
    expect(endOf(id)).toBeNull();
    await use("stop_command", { id });
    expect(readFileSync(join(base, "outside/secret.txt"), "utf8")).toBe("canary\n");
  });

  it("are previewed on a port of this machine until they end", async () => {
    const { id, receiptId } = await start(serve);
    const { url } = await at.tools.background.preview(id, 3000);
    expect(new URL(url).hostname).toBe("127.0.0.1");
    expect(await (await fetch(`${url}a.txt`)).text()).toBe("one\n");
    expect(await at.tools.background.preview(id, 3000)).toEqual({ url });
    await expect(at.tools.background.preview(id, 3001)).rejects.toMatchObject({ code: "unavailable" });
    expect(receiptsOf("background.preview").find(({ status }) => status === "success")).toMatchObject({
      ...{ parentId: receiptId, riskTier: "T2", outputs: { url } },
    });
    await use("stop_command", { id });
    await expect(fetch(url)).rejects.toThrow();
    await expect(at.tools.background.preview(id, 3000)).rejects.toMatchObject({ code: "unavailable" });
    expect(events.filter(({ topic }) => topic === "backgroundCommand").at(-1)?.payload).toMatchObject({ id, end: { reason: "model" } });
  });

  it("are refused where nothing holds their changes back, and run in the sandbox that can hold them", async () => {
    const log = { started: 0 };
    const plain = plainShell("container", { place: "container" });
    const counted = { ...plain, run: (...args: Parameters<typeof plain.run>) => ((log.started += 1), plain.run(...args)) };
    const only = createGitFixture({
      ...{ base: join(base, "other"), posture: "autonomous", configDir, home: join(base, "home") },
      given: { configDir, shells: [counted] },
    });
    const refused = await only.run("run_command", { command: "sleep 600", background: true }, { quest: questId });
    expect([refused.isError, refused.error?.code, log.started]).toEqual([true, "unavailable", 0]);
    await only.tools.close();
    only.close();
    // While a background command runs, the commands of its task are where it is; those of other tasks are not.
    const [workspace, dataDir] = [join(base, "both/proj"), join(base, "both/data")];
    for (const folder of [workspace, dataDir]) mkdirSync(folder, { recursive: true });
    const env = { ...process.env, HOME: join(base, "home") };
    const both = createGitFixture({
      ...{ base: join(base, "both"), workspace, dataDir, posture: "autonomous", configDir, home: join(base, "home") },
      given: { configDir, shells: [counted, openOsShell({ workspace, dataDir, protectedPaths: [] }, { env })] },
    });
    const placeOf = async (args: Record<string, unknown>, quest = questId) => {
      const { receiptId } = await both.run("run_command", args, { quest });
      const outputs = both.ledger.get(receiptId ?? "")?.outputs ?? {};
      return [outputs["containment"], (outputs["provider"] as { name: string } | undefined)?.name];
    };
    const [inside, outside] = [
      ["transactional", "bubblewrap"],
      ["watched", plain.id],
    ];
    expect(await placeOf({ command: "sleep 600", background: true, wait_ms: 0 })).toEqual(inside);
    expect(await placeOf({ command: "echo one > kept.txt" })).toEqual(inside);
    expect(await placeOf({ command: "true" }, "q2")).toEqual(outside);
    await both.tools.execution.background?.stop(questId);
    expect(await placeOf({ command: "true" })).toEqual(outside);
    // Nobody reviews in this posture: its changes are applied at its end, although no run waits for it.
    expect(await placeOf({ command: "sleep 0.5; echo late > late.txt", background: true, wait_ms: 0 })).toEqual(inside);
    await until("its change is applied", () => existsSync(join(workspace, "late.txt")));
    await both.tools.close();
    both.close();
  });

  it("show no secret in their output, whatever its pieces", async () => {
    const value = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    const { id } = await start(
      `printf 'token '; sleep 2.5; for part in ghp_abcdefghij klmnopqrstuvwxyz 0123456789; do printf $part; sleep 0.1; done; echo; echo finished; sleep 600`,
    );
    let read = "";
    await until("it printed", async () => {
      read += (await use("command_output", { id, wait_ms: 1_000 })).text;
      return read.includes("finished");
    });
    expect(read).not.toContain(value);
    await use("stop_command", { id });
    const shown = events.filter(({ topic }) => topic === "backgroundOutput").map(({ payload }) => (payload as { text: string }).text);
    expect(shown.join("")).not.toContain(value);
    expect(JSON.stringify(receiptsOf("command_end"))).not.toContain(value);
  });
});
