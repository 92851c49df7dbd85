import type { Message, Part, ToolPart } from "../contract/chat.ts";
import type { ContextMessage, ContextToolResult, ContextUserContent } from "../context/context.ts";
import type { AssistantContent } from "../models/models.ts";
import type { Redactor } from "../security/security.ts";
import { memoryNoticeForModel } from "./notices.ts";
import type { Cut, StoredMessage } from "./stored-quest.ts";

const cutReasons: Record<Cut, string> = {
  interrupted: "because the host stopped",
  cancelled: "because the user stopped you",
  failed: "by an error",
};

/**
 * Converts stored messages to a conversation. The same messages always give the same conversation, before and after a crash.
 * @param cite appends the id of each message of the user, so that a model with the memory tools can cite it as evidence. An id costs about
 * 20 tokens once, because providers cache this part of the prompt. Tool results carry no receipt ids: those would cost as much for
 * every call, and a result can be cited by its file, command or address.
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

/** Host notes below a message of the user: the results of its memory commands, and its id. */
function notesUnder({ id, role, parts }: Message, cite: boolean): ContextUserContent[] {
  if (role !== "user" || !parts.some((part) => part.type === "text")) return [];
  const orders = parts.flatMap((part) =>
    part.type === "notice" && part.action === "open_memory" ? [`[From the host: ${memoryNoticeForModel(part)}]`] : [],
  );
  const notes = [...orders, ...(cite ? [`[message:${id}]`] : [])];
  return notes.length === 0 ? [] : [{ type: "text", text: `\n\n${notes.join("\n")}` }];
}

/** The key of an attachment, by which it can be shortened. */
export function attachedKey(messageId: string, index: number): string {
  return `${messageId}#${String(index)}`;
}

/** The key of a tool result, by which it can be shortened. */
export function resultKey(messageId: string, callId: string): string {
  return `${messageId}/${callId}`;
}

function named(item: ContextUserContent, messageId: string, index: number): ContextUserContent {
  return item.attached === true ? { ...item, key: attachedKey(messageId, index) } : item;
}

/** The conversation for a small context window: the last exchange, and the open request with its retrieved text. */
export function toSmallConversation(messages: readonly StoredMessage[]): ContextMessage[] {
  const visible = messages.filter(({ turn }) => turn !== null);
  const current = visible.findLastIndex(({ message, turn }) => message.role === "user" && turn?.kind === "user");
  const before = visible.slice(0, Math.max(current, 0));
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
  const retrieval = visible.slice(Math.max(current, 0)).find(({ turn }) => turn?.kind === "retrieval");
  const rest = toConversation(visible.slice(Math.max(current, 0)).filter((stored) => stored !== retrieval));
  if (retrieval?.turn?.kind === "retrieval" && rest[0]?.role === "user") {
    // The question comes last because a small model gives the end of a prompt the most weight.
    rest[0] = { role: "user", content: [retrieved(retrieval.turn), ...rest[0].content] };
  }
  return [...conversation, ...rest];
}

function retrieved({ text, findings }: { text: string; findings?: string[] }): ContextUserContent {
  return { type: "text", text, attached: true, ...(findings === undefined ? {} : { findings }) };
}

/** Tools whose result comes from the user or from Lancelot itself. */
const trustedTools: ReadonlySet<string> = new Set(["ask_owner", "update_plan", "report_outcome", "propose_plan"]);

function assistantTurn(messageId: string, parts: readonly Part[], content: AssistantContent[], cut: Cut | null): ContextMessage[] {
  const calls = content.filter((item) => item.type === "tool_call");
  const turns: ContextMessage[] = content.length === 0 ? [] : [{ role: "assistant", content }];
  if (calls.length > 0) {
    const results = calls.map((call): ContextToolResult => {
      const part = parts.find((candidate): candidate is ToolPart => candidate.type === "tool" && candidate.callId === call.id);
      const key = resultKey(messageId, call.id);
      return { callId: call.id, name: call.name, text: part?.output ?? "No result.", key, ...resultFlags(part) };
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

/** Only denied and cancelled calls have a text by Lancelot. Other results may contain text of files, commands and pages. */
function resultFlags(part: ToolPart | undefined): Pick<ContextToolResult, "isError" | "own" | "findings"> {
  const isError = part?.status !== "success";
  const own = part === undefined || part.status === "denied" || part.status === "cancelled" || trustedTools.has(part.tool);
  return { isError, ...(own ? { own } : {}), ...(part?.findings === undefined ? {} : { findings: part.findings }) };
}

function plainText(content: readonly (ContextUserContent | AssistantContent)[]): string {
  return content
    .map((item) => (item.type === "text" && !("attached" in item && item.attached) ? item.text : ""))
    .join("")
    .trim();
}

/** Redacts the secrets in an answer before it is stored. @returns also the ids of calls whose arguments contained one */
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
