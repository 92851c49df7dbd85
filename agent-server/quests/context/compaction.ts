import type { Change } from "../../contract/changes.ts";
import type { PlanStep } from "../../contract/chat.ts";
import type { Approval } from "../../contract/governance.ts";
import { applyStates, type ContextUserContent, costOf, estimateTokens, type EvictionState, shorten } from "../../context/context.ts";
import { toConversation } from "../conversation.ts";
import { type UserStatement, userStatements, ruleSentences } from "../user-statements.ts";
import { isUnfinished } from "../settle-quest.ts";
import type { StoredMessage } from "../stored-quest.ts";

/** What a task's state is made of where its older part is summarized. It is read from the task, never from a summary before. */
export interface TaskState {
  plan: readonly PlanStep[];
  approvals: readonly Approval[];
  changes: readonly Change[];
}

/** More changed files than these are counted, not named. */
const namedFiles = 200;
/** Characters of a message of the owner that states no rule, where all of them together have no room. */
const shortWords = 300;

/**
 * Up to which message (its position) a task's older part goes, so that what is kept takes at most `keep` tokens. Whole messages
 * only, with their calls and results together; the last one and what is not finished always stay. Null when nothing is older.
 * @param after messages up to this one are summarized already
 */
export function chooseCut(
  messages: readonly StoredMessage[],
  states: ReadonlyMap<string, EvictionState>,
  after: number,
  keep: number,
): StoredMessage | null {
  const told = messages.filter(({ message, turn }) => message.seq > after && turn !== null);
  const barrier = told.findIndex(({ message, attachments }) => message.open || attachments !== null || message.parts.some(isUnfinished));
  const last = barrier === -1 ? told.length - 1 : Math.min(barrier, told.length - 1);
  let kept = 0;
  for (let index = told.length - 1; index >= 0; index -= 1) {
    const stored = told[index];
    if (stored === undefined) return null;
    kept += costOfMessages([stored], states);
    if (index < last && kept > keep) return stored;
  }
  return null;
}

/** The message before the owner's last words: what the owner asks to be summarized when everything has room. */
export function beforeLastRequest(messages: readonly StoredMessage[], after: number): StoredMessage | null {
  const told = messages.filter(({ message, turn }) => message.seq > after && turn !== null);
  const unfinished = told.findIndex(({ message, attachments }) => message.open || attachments !== null || message.parts.some(isUnfinished));
  const request = told.findLastIndex(({ message, turn }) => turn?.kind === "user" && message.parts.some((part) => part.type === "text"));
  // A single long request: all of its work but the last step.
  const first = request > 0 ? request : told.length - 1;
  return told[(unfinished === -1 ? first : Math.min(first, unfinished)) - 1] ?? null;
}

/** Tokens these messages take in a prompt. */
export function costOfMessages(messages: readonly StoredMessage[], states: ReadonlyMap<string, EvictionState>): number {
  return applyStates(toConversation(messages), states).reduce((sum, message) => sum + costOf(message), 0);
}

/**
 * What stands for the older part of a task: the owner's words, plan, open approvals and questions, changed files, all from the
 * task itself and word for word, then the summary, marked as data since it may repeat what files and tools said.
 * @param covered the messages it stands for, from the first one on
 * @param room tokens for the owner's words; those that state a rule or decide something stay beyond it
 */
export function composeHead(covered: readonly StoredMessage[], state: TaskState, summary: string, room: number): ContextUserContent[] {
  const own = [
    "[The earlier part of this task is summarized here to make room. Its state below is exact; the messages themselves are kept for the owner.]",
    ...section("What the owner said, in order:", listStatements(userStatements(covered), room)),
    ...section("The plan as it stood then:", planLines(state.plan)),
    ...section("Approvals open then:", approvalLines(state.approvals)),
    ...section("Questions to the owner without an answer:", openQuestions(covered)),
    ...section("Files changed in this task:", changedFiles(covered, state.changes)),
  ].join("\n\n");
  return [
    { type: "text", text: own },
    ...(summary === ""
      ? []
      : [{ type: "text" as const, text: summary, attached: true, source: "the summary of the earlier part of this task" }]),
  ];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}\n${lines.join("\n")}`];
}

/** Word for word where there is room; else the first and the last so, and of the others every sentence that states a rule. */
function listStatements(words: readonly UserStatement[], room: number): string[] {
  const whole = words.map(({ question, text }) => (question === null ? text : `(asked: ${question}) ${text}`));
  const fits = whole.reduce((sum, text) => sum + estimateTokens(text), 0) <= room;
  return whole.map((text, index) => {
    const number = `${String(index + 1)}. `;
    const edge = index === 0 || index === whole.length - 1;
    if (fits || (edge && estimateTokens(text) <= room) || text.length <= shortWords) return number + text;
    const kept = ruleSentences(text);
    return number + [shorten(text, shortWords), ...kept].join("\n   ");
  });
}

/** A plan as the model is told it. */
export function planLines(plan: readonly PlanStep[]): string[] {
  return plan.map(({ title, status, doneWhen }) => `- [${status}] ${title}${doneWhen === undefined ? "" : ` (done when: ${doneWhen})`}`);
}

/** Approvals as the model is told them. */
export function approvalLines(approvals: readonly Approval[]): string[] {
  return approvals.map(({ title, tier }) => `- ${title} (${tier})`);
}

function openQuestions(messages: readonly StoredMessage[]): string[] {
  return messages.flatMap(({ message }) =>
    message.parts.flatMap((part) => {
      const question = part.type === "tool" && part.tool === "ask_owner" && isUnfinished(part) ? part.args["question"] : null;
      return typeof question === "string" ? [`- ${question}`] : [];
    }),
  );
}

/** Each file with what was done to it: what was proposed and decided, what was written at once, what commands changed. */
export function changedFiles(messages: readonly StoredMessage[], changes: readonly Change[]): string[] {
  const done = new Map<string, Map<string, number>>();
  const add = (path: string, what: string): void => {
    const file = done.get(path) ?? new Map<string, number>();
    file.set(what, (file.get(what) ?? 0) + 1);
    done.set(path, file);
  };
  const proposed = new Set(changes.map(({ id }) => id));
  for (const { path, kind, status, hunks } of changes) {
    const accepted = hunks.filter((hunk) => hunk.state === "accepted").length;
    add(
      path,
      `${kind} ${status}${accepted > 0 && accepted < hunks.length ? `, ${String(accepted)} of ${String(hunks.length)} parts accepted` : ""}`,
    );
  }
  for (const { message } of messages) {
    for (const part of message.parts) {
      if (part.type !== "tool" || part.status !== "success") continue;
      const path = part.args["path"];
      const written = part.tier !== "T0" && (part.changeId === null || !proposed.has(part.changeId));
      if (written && typeof path === "string" && /^(?:edit_file|write_file|delete_file)$/.test(part.tool)) add(path, part.title);
      for (const { path: touched, kind } of part.touched?.files ?? []) add(touched, `${kind} by ${part.title}`);
    }
  }
  const lines = [...done]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([path, what]) =>
        `- ${path}: ${[...what].map(([words, times]) => (times > 1 ? `${words} (${String(times)} times)` : words)).join("; ")}`,
    );
  const more = lines.length - namedFiles;
  return more > 0 ? [...lines.slice(0, namedFiles), `- and ${String(more)} more`] : lines;
}
