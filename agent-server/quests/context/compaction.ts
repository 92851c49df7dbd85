import type { Change } from "../../contract/changes.ts";
import type { PlanStep } from "../../contract/chat.ts";
import type { Approval } from "../../contract/governance.ts";
import { applyStates, type ContextUserContent, costOf, estimateTokens, type EvictionState, shorten } from "../../context/context.ts";
import { toConversation } from "../conversation.ts";
import { type UserStatement, userStatements, ruleSentences } from "../user-statements.ts";
import { isUnfinished } from "../settle-quest.ts";
import type { StoredMessage } from "../stored-quest.ts";

/** The exact state of a quest that accompanies a summary. It is read from the quest, never from an earlier summary. */
export interface TaskState {
  plan: readonly PlanStep[];
  approvals: readonly Approval[];
  changes: readonly Change[];
}

/** Further changed files are counted but not listed. */
const namedFiles = 200;
/** Characters kept of a statement without a rule when the statements exceed their token limit. */
const shortStatement = 300;

/**
 * Finds the last message to summarize, so that the kept messages take at most `keep` tokens. Calls stay together with their results;
 * the last message and unfinished ones are always kept. Null when there is nothing to summarize.
 * @param after the position of the last message that is already summarized
 */
export function chooseCut(
  messages: readonly StoredMessage[],
  states: ReadonlyMap<string, EvictionState>,
  after: number,
  keep: number,
): StoredMessage | null {
  const visible = messages.filter(({ message, turn }) => message.seq > after && turn !== null);
  const barrier = visible.findIndex(({ message, attachments }) => message.open || attachments !== null || message.parts.some(isUnfinished));
  const last = barrier === -1 ? visible.length - 1 : Math.min(barrier, visible.length - 1);
  let kept = 0;
  for (let index = visible.length - 1; index >= 0; index -= 1) {
    const stored = visible[index];
    if (stored === undefined) return null;
    kept += costOfMessages([stored], states);
    if (index < last && kept > keep) return stored;
  }
  return null;
}

/** The message before the last request: where to cut when the user asks for a summary although everything fits. */
export function beforeLastRequest(messages: readonly StoredMessage[], after: number): StoredMessage | null {
  const visible = messages.filter(({ message, turn }) => message.seq > after && turn !== null);
  const unfinished = visible.findIndex(
    ({ message, attachments }) => message.open || attachments !== null || message.parts.some(isUnfinished),
  );
  const request = visible.findLastIndex(({ message, turn }) => turn?.kind === "user" && message.parts.some((part) => part.type === "text"));
  // With a single request, summarize all of its steps but the last.
  const first = request > 0 ? request : visible.length - 1;
  return visible[(unfinished === -1 ? first : Math.min(first, unfinished)) - 1] ?? null;
}

/** The tokens of these messages in a prompt. */
export function costOfMessages(messages: readonly StoredMessage[], states: ReadonlyMap<string, EvictionState>): number {
  return applyStates(toConversation(messages), states).reduce((sum, message) => sum + costOf(message), 0);
}

/**
 * Composes the replacement for the summarized messages: user statements, plan, pending approvals, open questions and changed files,
 * verbatim from the quest, then the summary, marked as data because it may repeat text of files and tools.
 * @param covered the summarized messages, from the first one on
 * @param statementTokens the limit for user statements; sentences with a rule or decision are kept beyond it
 */
export function composeHead(
  covered: readonly StoredMessage[],
  state: TaskState,
  summary: string,
  statementTokens: number,
): ContextUserContent[] {
  const own = [
    "[The earlier part of this task is summarized here to save tokens. Its state below is exact. The user can still read the full messages.]",
    ...section("User messages and answers, in order:", listStatements(userStatements(covered), statementTokens)),
    ...section("The plan at that point:", planLines(state.plan)),
    ...section("Pending approvals at that point:", approvalLines(state.approvals)),
    ...section("Unanswered questions to the user:", openQuestions(covered)),
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

/** What statements may take at most, in limits: the rest of the window is for the summary and the newest messages. */
const mostLimits = 2;

/**
 * Verbatim if all statements fit; else only the first and the last, and the sentences with a rule of the others. Of hundreds of
 * statements, those with a rule and the newest ones stay, and the others are counted: a task of any length continues.
 */
function listStatements(statements: readonly UserStatement[], limit: number): string[] {
  const whole = statements.map(({ question, text }) => (question === null ? text : `(asked: ${question}) ${text}`));
  const fits = whole.reduce((sum, text) => sum + estimateTokens(text), 0) <= limit;
  const rules = whole.map((text) => (fits || text.length <= shortStatement ? [] : ruleSentences(text)));
  const lines = whole.map((text, index) => {
    const number = `${String(index + 1)}. `;
    const isFirstOrLast = index === 0 || index === whole.length - 1;
    if (fits || (isFirstOrLast && estimateTokens(text) <= limit) || text.length <= shortStatement) return number + text;
    return number + [shorten(text, shortStatement), ...(rules[index] ?? [])].join("\n   ");
  });
  let left = limit * mostLimits;
  if (fits || lines.reduce((sum, line) => sum + estimateTokens(line), 0) <= left) return lines;
  const newestFirst = whole.map((_, index) => index).toReversed();
  const onlyRules = whole.map((text, index) => {
    const sentences = ruleSentences(text);
    return sentences.length === 0 ? undefined : `${String(index + 1)}. ${sentences.join("\n   ")}`;
  });
  const kept = new Map<number, string>();
  const keep = (index: number, line: string | undefined): void => {
    if (kept.has(index) || line === undefined) return;
    const cost = estimateTokens(line);
    if (cost > left) return;
    kept.set(index, line);
    left -= cost;
  };
  for (const index of [0, whole.length - 1]) keep(index, lines[index]);
  for (const index of newestFirst) keep(index, onlyRules[index]);
  for (const index of newestFirst) keep(index, lines[index]);
  const omitted = whole.length - kept.size;
  return [
    `(${String(omitted)} older messages of the user are left out here.)`,
    ...[...kept].toSorted(([a], [b]) => a - b).map(([, line]) => line),
  ];
}

/** A plan as text for the model. */
export function planLines(plan: readonly PlanStep[]): string[] {
  return plan.map(({ title, status, doneWhen }) => `- [${status}] ${title}${doneWhen === undefined ? "" : ` (done when: ${doneWhen})`}`);
}

/** Approvals as text for the model. */
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

/** Each changed file with its proposals and their decisions, direct writes, and changes by commands. */
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
        `- ${path}: ${[...what].map(([action, times]) => (times > 1 ? `${action} (${String(times)} times)` : action)).join("; ")}`,
    );
  const more = lines.length - namedFiles;
  return more > 0 ? [...lines.slice(0, namedFiles), `- and ${String(more)} more`] : lines;
}
