import type { Quest } from "../../../agent-server/contract/chat.ts";
import type { EditorHost } from "../host/editor-host.ts";
import type { SeenRequest, Turn } from "../model-server/turn.ts";

/** The states in which a task of the table is when the fault comes. */
export const states = ["streaming", "approval", "question", "review", "queued"] as const;
export type State = (typeof states)[number];

/** The tool calls of the played model in each state, in order; then it sums up. */
const steps: Record<State, { name: string; args: Record<string, unknown> }[]> = {
  streaming: [{ name: "write_file", args: { path: "made.txt", content: "once\n" } }],
  approval: [{ name: "delete_file", args: { path: "old.txt" } }],
  question: [
    { name: "ask_owner", args: { question: "Shall I make the file?" } },
    { name: "write_file", args: { path: "made.txt", content: "once\n" } },
  ],
  review: [{ name: "write_file", args: { path: "made.txt", content: "once\n" } }],
  queued: [{ name: "write_file", args: { path: "made.txt", content: "once\n" } }],
};

const requestFor = (state: State): string => `Work on the task of the state ${state}.`;
const blocker = "Keep the only place busy.";

/**
 * What the model answers. Which step it is follows from the conversation, so that a resumed task continues where it was.
 * @param held the second half of the first streamed answer
 */
export function faultScript(held: Promise<void>): (request: SeenRequest) => Turn {
  let wasHeld = false;
  return ({ messages }) => {
    const asked = messages.map(({ text }) => text).join("\n");
    if (asked.includes(blocker)) return { text: "I keep the place busy until I may go on.", secondHalf: held };
    const state = states.find((one) => asked.includes(requestFor(one)));
    if (state === "streaming" && !wasHeld) {
      wasHeld = true;
      return { text: "I begin with a long explanation of the task.", secondHalf: held };
    }
    const called = new Set(messages.flatMap(({ toolCalls }) => toolCalls.map(({ name }) => name)));
    const next = state === undefined ? undefined : steps[state].find(({ name }) => !called.has(name));
    return next === undefined ? { text: "It is settled." } : { toolCalls: [next] };
  };
}

const questOf = async (host: EditorHost, id: string): Promise<Quest> => (await host.call("quests.get", { id })).quest;

/** Starts a task and waits until it is in the state. @returns its id */
export async function reach(host: EditorHost, state: State): Promise<string> {
  if (state === "queued") {
    const other = await host.call("chat.send", { text: blocker });
    await host.until(() => hasText(host, other.questId));
  }
  const { questId } = await host.call("chat.send", { text: requestFor(state) });
  await host.until(async () => {
    if (state === "streaming") return hasText(host, questId);
    const { waitingFor, queued, status } = await questOf(host, questId);
    if (state === "queued") return queued === true;
    return status === "waiting" && waitingFor?.kind === (state === "question" ? "answer" : state);
  });
  return questId;
}

/** True when a part of an answer has come. */
async function hasText(host: EditorHost, id: string): Promise<boolean> {
  const { messages } = await host.call("quests.get", { id });
  return messages.some(({ role, parts }) => role === "assistant" && parts.some((part) => part.type === "text" && part.text !== ""));
}

/** Does what an owner does until the task is done: resumes, allows, answers and accepts. */
export async function complete(host: EditorHost, id: string): Promise<void> {
  for (;;) {
    await host.until(async () => (await questOf(host, id)).status !== "active");
    const { status, waitingFor } = await questOf(host, id);
    if (status === "done") return;
    if (status !== "waiting") await host.call("quests.resume", { id });
    else if (waitingFor?.kind === "approval") await host.call("approvals.decide", { id: waitingFor.id, decision: "allow_once" });
    else if (waitingFor?.kind === "answer") await host.call("chat.answer", { questId: id, callId: waitingFor.id, answer: "Yes." });
    else {
      for (const change of (await host.call("changes.list", { questId: id, open: true, limit: 100 })).items)
        await host.call("changes.decide", { id: change.id, decision: "accept" });
    }
    await host.until(async () => {
      const now = await questOf(host, id);
      return now.status !== status || now.waitingFor?.id !== waitingFor?.id;
    });
  }
}
