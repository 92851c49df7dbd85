import type { Message, Part, ToolPart } from "../contract/chat.ts";
import type { ContextMessage, ContextToolResult, ContextUserContent } from "../context/context.ts";
import type { AssistantContent } from "../models/models.ts";
import type { Redactor } from "../security/security.ts";
import { memoryNoticeForModel } from "./notices.ts";
import type { Cut, StoredMessage } from "./stored-quest.ts";

const cutReasons: Record<Cut, string> = {
  interrupted: "because the host ended",
  cancelled: "because the owner stopped you",
  failed: "by an error",
};

/**
 * The stored messages as a conversation. The same messages always give the same conversation, before and after a crash.
 * @param cite names each message of the owner's under its words, so that a model with the memory tools can give it as evidence. It costs
 * some 20 tokens a message, once: it stands in the part of the prompt that providers keep. Results of tools do not name their receipts:
 * that would cost as much with every call, and what they showed can be named by its file, command or address.
 */
export function toConversation(messages: readonly StoredMessage[], { cite = false }: { cite?: boolean } = {}): ContextMessage[] {
  const conversation: ContextMessage[] = [];
  for (const { message, turn } of messages) {
    if (turn === null) continue;
    switch (turn.kind) {
      case "user":
        conversation.push({
          role: "user",
          content: [...turn.content.map((item, index) => named(item, message.id, index)), ...notesUnder(message, cite)],
        });
        break;
      case "retrieval":
        conversation.push({ role: "user", content: [named(retrieved(turn), message.id, 0)] });
        break;
      case "assistant":
        conversation.push(...assistantTurn(message.id, message.parts, turn.content, turn.cut));
        break;
    }
  }
  return conversation;
}

/** What the host says under the owner's words: what came of their orders on memory, and how the message is named. */
function notesUnder({ id, role, parts }: Message, cite: boolean): ContextUserContent[] {
  if (role !== "user" || !parts.some((part) => part.type === "text")) return [];
  const orders = parts.flatMap((part) =>
    part.type === "notice" && part.action === "open_memory" ? [`[From the host: ${memoryNoticeForModel(part)}]`] : [],
  );
  const notes = [...orders, ...(cite ? [`[message:${id}]`] : [])];
  return notes.length === 0 ? [] : [{ type: "text", text: `\n\n${notes.join("\n")}` }];
}

/** Names what came with a turn, so that it can be shortened by name. */
export function attachedKey(messageId: string, index: number): string {
  return `${messageId}#${String(index)}`;
}

/** Names what a tool gave back. */
export function resultKey(messageId: string, callId: string): string {
  return `${messageId}/${callId}`;
}

function named(item: ContextUserContent, messageId: string, index: number): ContextUserContent {
  return item.attached === true ? { ...item, key: attachedKey(messageId, index) } : item;
}

/** For a model with little room: the last exchange and the request that is open, with what was read for it. */
export function toSmallConversation(messages: readonly StoredMessage[]): ContextMessage[] {
  const told = messages.filter(({ turn }) => turn !== null);
  const current = told.findLastIndex(({ message, turn }) => message.role === "user" && turn?.kind === "user");
  const before = told.slice(0, Math.max(current, 0));
  const previousUser = before.findLast(({ turn }) => turn?.kind === "user");
  const previousAnswer = before.findLast(({ turn }) => turn?.kind === "assistant");
  const conversation: ContextMessage[] = [];
  if (previousUser?.turn?.kind === "user" && previousAnswer?.turn?.kind === "assistant") {
    const answer = plainText(previousAnswer.turn.content).slice(0, 600);
    if (answer !== "") {
      conversation.push({ role: "user", content: [{ type: "text", text: plainText(previousUser.turn.content).slice(0, 300) }] });
      conversation.push({ role: "assistant", content: [{ type: "text", text: answer }] });
    }
  }
  const retrieval = told.slice(Math.max(current, 0)).find(({ turn }) => turn?.kind === "retrieval");
  const rest = toConversation(told.slice(Math.max(current, 0)).filter((stored) => stored !== retrieval));
  if (retrieval?.turn?.kind === "retrieval" && rest[0]?.role === "user") {
    // The text before the question: what stands last weighs most in a weak model.
    rest[0] = { role: "user", content: [retrieved(retrieval.turn), ...rest[0].content] };
  }
  return [...conversation, ...rest];
}

function retrieved({ text, findings }: { text: string; findings?: string[] }): ContextUserContent {
  return { type: "text", text, attached: true, ...(findings === undefined ? {} : { findings }) };
}

/** Tools whose result is the owner's answer or the product's own word. */
const ownWords: ReadonlySet<string> = new Set(["ask_owner", "update_plan"]);

function assistantTurn(messageId: string, parts: readonly Part[], content: AssistantContent[], cut: Cut | null): ContextMessage[] {
  const calls = content.filter((item) => item.type === "tool_call");
  const turns: ContextMessage[] = content.length === 0 ? [] : [{ role: "assistant", content }];
  if (calls.length > 0) {
    const results = calls.map((call): ContextToolResult => {
      const part = parts.find((candidate): candidate is ToolPart => candidate.type === "tool" && candidate.callId === call.id);
      const key = resultKey(messageId, call.id);
      return { callId: call.id, name: call.name, text: part?.output ?? "No result.", key, ...standing(part) };
    });
    turns.push({ role: "tool", results });
  }
  if (cut !== null && turns.length > 0) {
    turns.push({
      role: "user",
      content: [{ type: "text", text: `[Your last message was cut off ${cutReasons[cut]}. Do not repeat what it already says.]` }],
    });
  }
  return turns;
}

/** A refusal and a stop are told in the product's words; everything else may hold text of files, commands and pages. */
function standing(part: ToolPart | undefined): Pick<ContextToolResult, "isError" | "own" | "findings"> {
  const isError = part?.status !== "success";
  const own = part === undefined || part.status === "denied" || part.status === "cancelled" || ownWords.has(part.tool);
  return { isError, ...(own ? { own } : {}), ...(part?.findings === undefined ? {} : { findings: part.findings }) };
}

function plainText(content: readonly (ContextUserContent | AssistantContent)[]): string {
  return content
    .map((item) => (item.type === "text" && !("attached" in item && item.attached) ? item.text : ""))
    .join("")
    .trim();
}

/** The model's answer as it may be stored: without secrets. Names the calls whose arguments had one. */
export function protectContent(
  content: readonly AssistantContent[],
  redactor: Redactor,
): { content: AssistantContent[]; altered: string[] } {
  const altered: string[] = [];
  const safe = content.map((item): AssistantContent => {
    if (item.type !== "tool_call") return { ...item, text: redactor.text(item.text).text };
    const args = redactor.value(item.args);
    if (JSON.stringify(args) !== JSON.stringify(item.args)) altered.push(item.id);
    const { replay } = item;
    return replay?.args === undefined ? { ...item, args } : { ...item, args, replay: { ...replay, args: redactor.value(replay.args) } };
  });
  return { content: safe, altered };
}
