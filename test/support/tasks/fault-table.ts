import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Quest } from "../../../agent-server/contract/chat.ts";
import type { PlanArtifact } from "../../../agent-server/contract/plans.ts";
import type { EditorHost } from "../host/editor-host.ts";
import type { SeenRequest, Turn } from "../model-server/turn.ts";

/** The states in which a task of the table is when the fault comes. */
export type State = "streaming" | "approval" | "question" | "review" | "queued" | "command" | "plan" | "step";

interface ToolCall {
  name: string;
  args: Record<string, unknown>;
}

const write = (path: string): ToolCall => ({ name: "write_file", args: { path, content: "once\n" } });

/** A command that has taken effect and does not end by itself; its last process is found by `marker`. */
const endless = (marker: string): string => `echo once >> log.txt; echo begun; exec sleep ${marker}`;

/** The tool calls of the played model in each state, in order; then it sums up. */
const calls = (state: Exclude<State, "plan" | "step">, marker: string): ToolCall[] => {
  switch (state) {
    case "approval":
      return [{ name: "delete_file", args: { path: "old.txt" } }];
    case "question":
      return [{ name: "ask_owner", args: { question: "Shall I make the file?" } }, write("made.txt")];
    case "command":
      return [{ name: "run_command", args: { command: endless(marker) } }, write("made.txt")];
    case "streaming":
    case "review":
    case "queued":
      return [write("made.txt")];
  }
};

const step = (path: string) => ({
  title: `Make ${path}`,
  doneWhen: [`\`${path}\` contains \`once\``],
  actions: [{ tool: "write_file", target: path }],
});
/** The files that the steps of the plan make, in order. */
export const stepFiles = ["made.txt", "next.txt"] as const;
const proposal: ToolCall = {
  name: "propose_plan",
  args: { goal: "Make two files", context: "There is old.txt.", steps: stepFiles.map(step), doneWhen: ["`old.txt` exists"] },
};

const requestFor = (state: State): string => `Work on the task of the state ${state}.`;
const blocker = "Keep the only place busy.";

/**
 * What the model answers. Which step it is follows from the conversation, so that a resumed task continues where it was.
 * @param held the second half of the first streamed answer, and in the state `step` that of the second step
 * @param marker names the process of the endless command
 */
export function faultScript(state: State, held: Promise<void>, marker: string): (request: SeenRequest) => Turn {
  let wasHeld = false;
  const hold = (text: string): Turn => {
    wasHeld = true;
    return { text, secondHalf: held };
  };
  return ({ messages, tools }) => {
    const asked = messages.map(({ text }) => text).join("\n");
    if (asked.includes(blocker)) return { text: "I keep the place busy until I may go on.", secondHalf: held };
    const called = messages.flatMap(({ toolCalls }) => toolCalls);
    if (state === "plan" || state === "step") {
      if (tools.some(({ name }) => name === proposal.name))
        return called.some(({ name }) => name === proposal.name) ? { text: "It is planned." } : { toolCalls: [proposal] };
      const path = stepFiles.findLast((one) => asked.includes(`of the approved plan: Make ${one}`));
      if (state === "step" && path === stepFiles[1] && !wasHeld) return hold("I begin with a long explanation of the step.");
      const isMade = called.some(({ name, args }) => name === "write_file" && (args as { path?: string }).path === path);
      return path === undefined || isMade ? { text: "It is settled." } : { toolCalls: [write(path)] };
    }
    if (state === "streaming" && !wasHeld) return hold("I begin with a long explanation of the task.");
    const next = calls(state, marker).find(({ name }) => called.every((one) => one.name !== name));
    return next === undefined ? { text: "It is settled." } : { toolCalls: [next] };
  };
}

const questOf = async (host: EditorHost, id: string): Promise<Quest> => (await host.call("quests.get", { id })).quest;

/** The newest plan of a task; undefined without one. */
export async function planOf(host: EditorHost, questId: string): Promise<PlanArtifact | undefined> {
  return (await host.call("plans.list", { questId, limit: 1 })).items[0];
}

/** Starts a task and waits until it is in the state. @returns its id */
export async function reach(host: EditorHost, state: State, marker: string): Promise<string> {
  if (state === "queued") {
    const other = await host.call("chat.send", { text: blocker });
    await host.until(() => hasText(host, other.questId));
  }
  const isPlanned = state === "plan" || state === "step";
  const { questId } = await host.call("chat.send", { text: requestFor(state), ...(isPlanned ? { mode: "plan" } : {}) });
  if (isPlanned) {
    await host.until(async () => (await questOf(host, questId)).status === "done");
    if (state === "plan") return questId;
    await approve(host, questId);
  }
  await host.until(async () => {
    if (state === "streaming") return hasText(host, questId);
    if (state === "command") return processesNaming(marker) > 0;
    if (state === "step") {
      const [first, second] = (await planOf(host, questId))?.planSteps ?? [];
      return first?.status === "done" && second?.status === "active" && endsWithText(host, questId);
    }
    const { waitingFor, queued, status } = await questOf(host, questId);
    if (state === "queued") return queued === true;
    return status === "waiting" && waitingFor?.kind === (state === "question" ? "answer" : state);
  });
  return questId;
}

async function approve(host: EditorHost, questId: string): Promise<void> {
  const id = (await planOf(host, questId))?.id ?? "";
  await host.call("plans.approve", { id });
  await host.call("plans.execute", { id });
}

/** True when a part of an answer has come. */
async function hasText(host: EditorHost, id: string): Promise<boolean> {
  const { messages } = await host.call("quests.get", { id });
  return messages.some(({ role, parts }) => role === "assistant" && parts.some((part) => part.type === "text" && part.text !== ""));
}

/** True when the newest message is an answer of which a part has come. */
async function endsWithText(host: EditorHost, id: string): Promise<boolean> {
  const { messages } = await host.call("quests.get", { id });
  const last = messages.at(-1);
  return last?.role === "assistant" && last.parts.some((part) => part.type === "text" && part.text !== "");
}

/** How many processes of this machine have the text in their command line, other than this one. */
export function processesNaming(text: string): number {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      // It has ended since the list was read.
      return false;
    }
  }).length;
}

/** Lets the time of all open requests for approval run out. The product's shortest time is longer than a test should wait. */
export function expireApprovals(dataDir: string): void {
  const db = new Database(join(dataDir, "lancelot.sqlite"), { timeout: 60_000 });
  db.prepare("UPDATE approvals SET expires_at = ? WHERE status = 'pending'").run(new Date(0).toISOString());
  db.close();
}

/** Does what an owner does until the task is done: resumes once, runs its plan, allows, answers and accepts. */
export async function complete(host: EditorHost, id: string): Promise<void> {
  let resumed = false;
  for (;;) {
    let quest = await questOf(host, id);
    await host.until(async () => {
      quest = await questOf(host, id);
      return quest.status !== "active";
    });
    const { status, waitingFor, problem } = quest;
    if (status === "done") {
      if ((await planOf(host, id))?.status !== "draft") return;
      await approve(host, id);
    } else if (status !== "waiting") {
      if (resumed) throw new Error(`The resumed task is ${status}: ${problem ?? ""}`);
      resumed = true;
      await host.call("quests.resume", { id });
    } else if (waitingFor?.kind === "approval") {
      await host.call("approvals.decide", { id: waitingFor.id, decision: "allow_once" });
    } else if (waitingFor?.kind === "answer") {
      await host.call("chat.answer", { questId: id, callId: waitingFor.id, answer: "Yes." });
    } else {
      for (const change of (await host.call("changes.list", { questId: id, open: true, limit: 100 })).items)
        await host.call("changes.decide", { id: change.id, decision: "accept" });
    }
    await host.until(async () => {
      const now = await questOf(host, id);
      return now.status !== status || now.waitingFor?.id !== waitingFor?.id;
    });
  }
}
