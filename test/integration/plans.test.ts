import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import type { Emit } from "../../agent-server/contract/events.ts";
import type { PlanArtifact } from "../../agent-server/contract/plans.ts";
import type { TraceNode } from "../../agent-server/contract/receipts.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

const call = { owner: true, signal: new AbortController().signal };
let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
const hosts: Host[] = [];

beforeEach(() => {
  folders = makeFolders();
  writeFileSync(join(folders.workspace, "a.txt"), "one\n");
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  await server.close();
  folders.remove();
});

async function openHost() {
  useModelServer(folders.dataDir, server.url("openai_compatible"), "openai_compatible");
  const watchers = new Set<() => void>();
  let seq = 0;
  const emit: Emit = () => {
    seq += 1;
    for (const watch of watchers) setImmediate(watch);
  };
  const host = await createHost({
    ...{ paths: productPaths(), workspace: folders.workspace, dataDir: folders.dataDir, trusted: true, posture: "supervised" },
    ...{ approvalTimeoutSeconds: 60, canAsk: true, askEditor: null, env: { OPENAI_API_KEY: "k" }, emit, lastEventSeq: () => seq },
    log: () => undefined,
  });
  hosts.push(host);
  const { handlers } = host;
  const quest = async (id: string) => (await handlers["quests.get"]({ id }, call)).quest;
  return {
    host,
    handlers,
    quest,
    plans: async (questId: string): Promise<PlanArtifact[]> => (await handlers["plans.list"]({ questId, limit: 50 }, call)).items,
    tools: async (id: string): Promise<ToolPart[]> =>
      (await handlers["quests.get"]({ id }, call)).messages.flatMap(({ parts }) =>
        parts.filter((part): part is ToolPart => part.type === "tool"),
      ),
    async reaches(id: string, ...statuses: string[]) {
      for (;;) {
        const now = await quest(id);
        if (statuses.includes(now.status)) return now;
        if (now.status === "failed") throw new Error(`the quest failed: ${now.problem ?? ""}`);
        await new Promise<void>((resolve) => {
          const watch = (): void => {
            watchers.delete(watch);
            resolve();
          };
          watchers.add(watch);
        });
      }
    },
  };
}

const all = (nodes: readonly TraceNode[]): TraceNode[] => nodes.flatMap((node) => [node, ...all(node.children)]);
const step = (title: string, path: string, doneWhen: string[] = [`\`${path}\` contains \`made\``]) => ({
  title,
  doneWhen,
  actions: [{ tool: "write_file", target: path }],
});
const proposal = (...steps: unknown[]) => ({
  toolCalls: [{ name: "propose_plan", args: { goal: "Make the files", context: "There is a.txt.", steps, doneWhen: ["`a.txt` exists"] } }],
});
const write = (path: string, content = "made\n"): Turn => ({ toolCalls: [{ name: "write_file", args: { path, content } }] });
const isPlanning = ({ tools }: SeenRequest): boolean => tools.some(({ name }) => name === "propose_plan");
/** The step that the model works on, its text, and whether a tool was called since. */
function current({ messages }: SeenRequest): { title: string; text: string; called: boolean } {
  const at = messages.findLastIndex(({ role, text }) => role === "user" && text.includes("of the approved plan: "));
  const text = messages[at]?.text ?? "";
  const title = /of the approved plan: (.*)/.exec(text)?.[1] ?? "";
  return { title, text, called: messages.slice(at + 1).some(({ toolCalls }) => toolCalls.length > 0) };
}

it("plan mode changes nothing, offers only what looks, and ends with a plan that the user approves and runs", async () => {
  let planned = 0;
  const offered: string[] = [];
  server = await startModelServer({
    script(request) {
      if (isPlanning(request)) {
        planned += 1;
        offered.push(...request.tools.map(({ name }) => name));
        if (planned === 1) return write("b.txt");
        return proposal(step("Make b", "b.txt"), step("Make c", "c.txt"));
      }
      const { title, called } = current(request);
      if (called) return { text: "Done." };
      return write(title === "Make b" ? "b.txt" : "c.txt");
    },
  });
  const { handlers, reaches, plans, tools } = await openHost();
  const { questId } = await handlers["chat.send"]({ text: "Make two files", mode: "plan" }, { ...call, owner: false });
  await reaches(questId, "done");
  expect(offered).not.toContain("write_file");
  expect(offered).not.toContain("run_command");
  const denied = (await tools(questId)).filter(({ tool }) => tool === "write_file");
  expect(denied.map(({ status, rules }) => [status, rules.map(({ id }) => id)])).toEqual([["denied", ["mode.plan"]]]);
  const [plan] = await plans(questId);
  expect(plan).toMatchObject({ status: "draft", planSteps: [{ status: "pending", checks: [] }, { status: "pending" }] });
  if (plan === undefined) throw new Error("no plan");
  expect(await handlers["changes.list"]({ questId, limit: 10 }, call)).toMatchObject({ items: [] });
  await expect(Promise.resolve().then(() => handlers["plans.execute"]({ id: plan.id }, call))).rejects.toMatchObject({ code: "conflict" });

  const approve = (updatedAt: string) => Promise.resolve().then(() => handlers["plans.approve"]({ id: plan.id, updatedAt }, call));
  await expect(approve(new Date(0).toISOString())).rejects.toMatchObject({ code: "conflict" });
  await approve(plan.updatedAt);
  await handlers["plans.execute"]({ id: plan.id }, call);
  expect((await reaches(questId, "waiting", "failed")).waitingFor).toMatchObject({ kind: "review" });
  expect(await handlers["plans.get"]({ id: plan.id }, call)).toMatchObject({
    status: "done",
    planSteps: [
      { status: "done", attempts: 1 },
      { status: "done", attempts: 1 },
    ],
  });
  const { items } = await handlers["changes.list"]({ questId, open: true, limit: 10 }, call);
  expect(items.map(({ path }) => path).toSorted()).toEqual(["b.txt", "c.txt"]);
  expect(existsSync(join(folders.workspace, "b.txt"))).toBe(false);

  // Steps and their verifications are receipts below that of the plan.
  const { roots } = await handlers["receipts.trace"]({ id: plan.receiptId }, call);
  const steps = all(roots).filter(({ receipt }) => receipt.actionName === "plan.step" && receipt.parentId === plan.receiptId);
  expect(steps.map(({ receipt }) => receipt.status)).toEqual(["success", "success"]);
  for (const { receipt, children } of steps) {
    expect(receipt.cognitionTier).toBe("PLANNING");
    expect(children.some((child) => child.receipt.actionName === "plan.verify")).toBe(true);
    expect(children.some((child) => child.receipt.actionName === "turn")).toBe(true);
  }
  expect(await handlers["receipts.verify"]({}, call)).toMatchObject({ ok: true });
});

it("returns a plan that is not specific, and one that was rejected", async () => {
  let planned = 0;
  server = await startModelServer({
    script() {
      planned += 1;
      if (planned === 1) return proposal({ title: "Analyze", doneWhen: ["it is understood"] });
      if (planned <= 3) return proposal(step("Make b", "b.txt"));
      return proposal(step("Make c", "c.txt"));
    },
  });
  const { handlers, reaches, plans, tools } = await openHost();
  const first = await handlers["plans.create"]({ goal: "Make a file" }, call);
  const { questId } = first;
  expect(await plans(questId)).toEqual([first]);
  expect(first.planSteps.map(({ title }) => title)).toEqual(["Make b"]);
  await handlers["plans.reject"]({ id: first.id, reason: "Not b." }, call);
  await reaches(questId, "done");
  const all = await plans(questId);
  expect(all.map(({ status, planSteps, reason }) => [status, planSteps[0]?.title, reason])).toEqual([
    ["draft", "Make c", null],
    ["rejected", "Make b", "Not b."],
  ]);
  expect((await tools(questId)).map(({ tool, status }) => [tool, status])).toEqual(
    ["failure", "success", "failure", "success"].map((status) => ["propose_plan", status]),
  );
});

it("gives a step three attempts, each told what was missed, then ends with what is done", async () => {
  const attempts: string[] = [];
  server = await startModelServer({
    script(request) {
      if (isPlanning(request)) return proposal(step("Make b", "b.txt"), step("Make c", "c.txt"), step("Make d", "d.txt"));
      const { title, text, called } = current(request);
      if (!called && title === "Make b") return write("b.txt");
      if (!called) attempts.push(text);
      // The lie: nothing was written.
      return { text: "All is done and verified." };
    },
  });
  const { handlers, reaches, plans } = await openHost();
  const { questId } = await handlers["plans.create"]({ goal: "Make files" }, call);
  await reaches(questId, "done");
  const [plan] = await plans(questId);
  await handlers["plans.approve"]({ id: plan?.id ?? "" }, call);
  await handlers["plans.execute"]({ id: plan?.id ?? "" }, call);
  await reaches(questId, "failed");
  expect(attempts.length).toBeGreaterThanOrEqual(3);
  expect(attempts.at(-1)).toContain("attempt 3 of 3");
  expect(attempts.at(-1)).toContain("c.txt does not exist");
  expect(await handlers["plans.get"]({ id: plan?.id ?? "" }, call)).toMatchObject({
    status: "failed",
    planSteps: [
      { status: "done", attempts: 1 },
      { status: "failed", attempts: 3 },
      { status: "pending", attempts: 0 },
    ],
  });
  expect((await handlers["changes.list"]({ questId, open: true, limit: 10 }, call)).items.map(({ path }) => path)).toEqual(["b.txt"]);
});

it("continues with the unfinished step after the host ended, and repeats nothing", async () => {
  const reached = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let held = false;
  server = await startModelServer({
    async script(request) {
      if (isPlanning(request)) return proposal(step("Make b", "b.txt"), step("Make c", "c.txt"));
      const { title, called } = current(request);
      if (!called) return write(title === "Make b" ? "b.txt" : "c.txt");
      if (title === "Make c" && !held) {
        held = true;
        reached.resolve();
        await release.promise;
      }
      return { text: "Done." };
    },
  });
  const first = await openHost();
  const { questId } = await first.handlers["plans.create"]({ goal: "Make files" }, call);
  await first.reaches(questId, "done");
  const [plan] = await first.plans(questId);
  const id = plan?.id ?? "";
  await first.handlers["plans.approve"]({ id }, call);
  await first.handlers["plans.execute"]({ id }, call);
  await reached.promise;
  await first.host.close();
  hosts.splice(0);
  release.resolve();

  const { handlers, reaches, tools } = await openHost();
  expect(await handlers["plans.get"]({ id }, call)).toMatchObject({
    status: "running",
    planSteps: [{ status: "done" }, { status: "active" }],
  });
  await handlers["quests.resume"]({ id: questId }, call);
  await reaches(questId, "waiting", "failed");
  expect(await handlers["plans.get"]({ id }, call)).toMatchObject({
    status: "done",
    planSteps: [
      { status: "done", attempts: 1 },
      { status: "done", attempts: 1 },
    ],
  });
  expect((await tools(questId)).filter(({ tool }) => tool === "write_file").map(({ args }) => args["path"])).toEqual(["b.txt", "c.txt"]);
  expect(readFileSync(join(folders.workspace, "a.txt"), "utf8")).toBe("one\n");
});

it("made on request is not worked on without approval when the host ended before planning did", async () => {
  server = await startModelServer({
    script(request) {
      if (!isPlanning(request)) return write("b.txt");
      const { toolCalls } = proposal(step("Make b", "b.txt"));
      return { toolCalls: [...toolCalls, { name: "ask_owner", args: { question: "Is this what you want?" } }] };
    },
  });
  const first = await openHost();
  const { questId } = await first.handlers["chat.send"]({ text: "Plan the new importer" }, call);
  expect((await first.reaches(questId, "waiting")).waitingFor).toMatchObject({ kind: "answer" });
  await first.host.close();
  hosts.splice(0);

  const { handlers, reaches, plans, quest, tools } = await openHost();
  await handlers["quests.resume"]({ id: questId }, call);
  await reaches(questId, "waiting");
  await handlers["chat.answer"]({ questId, callId: (await quest(questId)).waitingFor?.id ?? "", answer: "Yes." }, call);
  await reaches(questId, "done", "waiting");
  expect((await quest(questId)).status).toBe("done");
  expect(await plans(questId)).toMatchObject([{ status: "draft" }]);
  expect((await tools(questId)).map(({ tool }) => tool)).toEqual(["propose_plan", "ask_owner"]);
});

describe("a question between a plan and its execution", () => {
  const script = (held?: { reached: () => void; release: Promise<void> }) => {
    let isHeld = held !== undefined;
    return async (request: SeenRequest): Promise<Turn> => {
      if (isPlanning(request)) return proposal(step("Make b", "b.txt"));
      if (request.messages.at(-1)?.text.includes("What is this?") === true) return { text: "It is a workspace with a file." };
      if (current(request).called) return { text: "Done." };
      if (isHeld) {
        isHeld = false;
        held?.reached();
        await held?.release;
      }
      return write("b.txt");
    };
  };
  const planned = async (host: Awaited<ReturnType<typeof openHost>>) => {
    const { id, questId } = await host.handlers["plans.create"]({ goal: "Make a file" }, call);
    await host.reaches(questId, "done");
    return { id, questId };
  };
  const execute = async ({ handlers }: Awaited<ReturnType<typeof openHost>>, id: string) => {
    await handlers["plans.approve"]({ id }, call);
    await handlers["plans.execute"]({ id }, call);
  };

  it("does not keep the steps from changing files", async () => {
    server = await startModelServer({ script: script() });
    const host = await openHost();
    const { id, questId } = await planned(host);
    await host.handlers["chat.send"]({ text: "What is this?", questId }, call);
    await host.reaches(questId, "done");
    await execute(host, id);
    await host.reaches(questId, "waiting", "failed");
    expect(await host.handlers["plans.get"]({ id }, call)).toMatchObject({
      status: "done",
      planSteps: [{ status: "done", attempts: 1 }],
    });
  });

  it.each(["the next message", "its button"])("leaves a plan that was stopped as it is, and %s carries it on", async (by) => {
    const reached = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    server = await startModelServer({ script: script({ reached: reached.resolve, release: release.promise }) });
    const host = await openHost();
    const { id, questId } = await planned(host);
    await execute(host, id);
    await reached.promise;
    await host.handlers["chat.cancel"]({ questId }, call);
    release.resolve();
    await host.handlers["chat.send"]({ text: "What is this?", questId }, call);
    await host.reaches(questId, "done", "failed");
    const plan = () => host.handlers["plans.get"]({ id }, call);
    expect(await plan()).toMatchObject({ status: "running", planSteps: [{ status: "active", attempts: 1 }] });
    if (by === "its button") await host.handlers["plans.execute"]({ id }, call);
    else await host.handlers["chat.send"]({ text: "Continue with the plan.", questId }, call);
    await host.reaches(questId, "waiting", "failed");
    expect(await plan()).toMatchObject({ status: "done", planSteps: [{ status: "done", attempts: 1 }] });
  });
});

it("says when no plan was made", async () => {
  server = await startModelServer({ script: () => ({ text: "There is nothing to plan." }) });
  const { handlers } = await openHost();
  await expect(handlers["plans.create"]({ goal: "Nothing" }, call)).rejects.toMatchObject({ code: "unavailable" });
});

describe("a request for a plan and its execution", () => {
  const request = "Design and implement two files";

  it("is planned, shown and run without another question", async () => {
    server = await startModelServer({
      script(seen) {
        if (isPlanning(seen)) return proposal(step("Make b", "b.txt"), step("Make c", "c.txt"));
        const { title, called } = current(seen);
        return called ? { text: "Done." } : write(title === "Make b" ? "b.txt" : "c.txt");
      },
    });
    const { handlers, reaches, plans } = await openHost();
    const { questId } = await handlers["chat.send"]({ text: request }, call);
    expect((await reaches(questId, "waiting", "failed")).waitingFor).toMatchObject({ kind: "review" });
    expect(await plans(questId)).toMatchObject([{ status: "done", planSteps: [{ status: "done" }, { status: "done" }] }]);
    const { items } = await handlers["changes.list"]({ questId, open: true, limit: 10 }, call);
    expect(items.map(({ path }) => path).toSorted()).toEqual(["b.txt", "c.txt"]);

    // The review ends the task; nothing is planned a second time.
    const asked = server.requests.length;
    for (const { id } of items) await handlers["changes.decide"]({ id, decision: "accept" }, call);
    await reaches(questId, "done", "failed");
    expect(server.requests.slice(asked).filter(isPlanning)).toEqual([]);
    expect(await plans(questId)).toHaveLength(1);
  });

  it("is worked on directly when the model makes no plan", async () => {
    server = await startModelServer({
      script(seen) {
        if (isPlanning(seen)) return { text: "I would rather begin." };
        return seen.messages.some(({ toolCalls }) => toolCalls.length > 0) ? { text: "Done." } : write("b.txt");
      },
    });
    const { handlers, reaches, plans } = await openHost();
    const { questId } = await handlers["chat.send"]({ text: request }, call);
    await reaches(questId, "waiting", "failed");
    expect(await plans(questId)).toEqual([]);
    expect((await handlers["changes.list"]({ questId, open: true, limit: 10 }, call)).items.map(({ path }) => path)).toEqual(["b.txt"]);
  });
});
