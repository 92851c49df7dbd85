import type { Message, Part, Quest, ToolPart } from "../../agent-server/contract/chat.ts";
import type { HostEvent } from "../../agent-server/contract/events.ts";

/** Where a reply is written: the chat of the editor. */
export interface ReplyStream {
  markdown(text: string): void;
  progress(text: string): void;
  /** A button that opens the task in Lancelot. */
  open(label: "review" | "approve" | "open"): void;
}

/** How a reply ended. `callId`: the question that the next message answers. */
export interface ReplyEnd {
  readonly status: Quest["status"];
  readonly question?: { readonly callId: string };
  readonly problem: string | null;
}

/**
 * Writes what a task does into a chat reply, from the host's events: new text as it streams, a line of progress per tool call, and buttons
 * where the user must decide. Text that a retry discards was already shown and stays.
 */
export function createTaskReply(stream: ReplyStream, onEnd: (end: ReplyEnd) => void) {
  /** Shown characters of each text, by message and part. */
  const shown = new Map<string, number>();
  const announced = new Set<string>();
  let of: { questId: string; after: number } | null = null;
  let last: string | null = null;
  /** Events that came before `chat.send` returned. */
  const early: HostEvent[] = [];

  const append = (key: string, offset: number, text: string): void => {
    const known = shown.get(key) ?? 0;
    const fresh = offset + text.length <= known ? "" : text.slice(Math.max(0, known - offset));
    if (fresh === "") return;
    // Another text begins a paragraph of its own.
    stream.markdown(known === 0 && last !== null && last !== key ? `\n\n${fresh}` : fresh);
    shown.set(key, offset + text.length);
    last = key;
  };

  const showTool = (part: ToolPart): void => {
    const key = `${part.callId} ${part.status}`;
    if (announced.has(key)) return;
    announced.add(key);
    if (part.status === "running") stream.progress(part.title);
  };

  const show = (message: Message): void => {
    if (message.role === "user") return;
    message.parts.forEach((part: Part, index) => {
      const key = `${message.id} ${String(index)}`;
      if (part.type === "text") append(key, 0, part.text);
      else if (part.type === "notice") append(key, 0, `_${part.text}_`);
      else if (part.type === "tool") showTool(part);
    });
  };

  const update = (quest: Quest): void => {
    const { status, waitingFor, problem } = quest;
    if (status === "active") return;
    if (status !== "waiting") return onEnd({ status, problem });
    if (waitingFor?.kind === "approval") {
      if (!announced.has(waitingFor.id)) stream.open("approve");
      announced.add(waitingFor.id);
      return;
    }
    if (waitingFor?.kind === "answer") {
      append(
        `question ${waitingFor.id}`,
        0,
        [waitingFor.question ?? "", ...(waitingFor.options ?? []).map((one) => `- ${one}`)].join("\n\n"),
      );
      return onEnd({ status, problem, question: { callId: waitingFor.id } });
    }
    stream.open("review");
    // A review inside a call: the task goes on after it. Otherwise the run has ended, and a later message continues the task.
    if (waitingFor?.id === quest.id) onEnd({ status, problem });
  };

  const use = (event: HostEvent): void => {
    if (of === null) return;
    if (event.topic === "message" && event.payload.questId === of.questId && event.payload.seq > of.after) show(event.payload);
    if (event.topic === "delta" && event.payload.questId === of.questId && event.payload.kind === "text") {
      append(`${event.payload.messageId} ${String(event.payload.partIndex)}`, event.payload.offset, event.payload.text);
    }
    if (event.topic === "quest" && event.payload.id === of.questId) update(event.payload);
  };

  return {
    event(event: HostEvent): void {
      if (of === null) early.push(event);
      else use(event);
    },
    /** The task and the position of the message that is answered. */
    begin(questId: string, after: number): void {
      of = { questId, after };
      for (const event of early.splice(0)) use(event);
    },
  };
}
