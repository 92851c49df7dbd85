import type { Message, ToolPart } from "../contract/chat.ts";
import type { AssistantContent } from "../models/models.ts";
import { OutcomeReport, reportOutcomeTool } from "../tools/tools.ts";
import type { Run, TurnDeps } from "../quests/quests.ts";
import { dropCalls, type PendingCall } from "./tool-calls.ts";

export const reportTool = reportOutcomeTool;

/** A report that comes with other calls is not made: it would tell of calls whose results are not known. */
export function withoutEarlyReport(
  { store }: Pick<TurnDeps, "store">,
  message: Message,
  calls: readonly PendingCall[],
): readonly PendingCall[] {
  const reports = calls.filter(({ name }) => name === reportTool);
  if (reports.length === 0 || calls.length === 1) return calls;
  dropCalls(
    message,
    new Set(reports.map(({ id }) => id)),
    "not run: call report_outcome alone, when you know the results of all other calls",
  );
  store.saveMessage(message);
  return calls.filter(({ name }) => name !== reportTool);
}

/**
 * Shows the report that an answer consists of: its text, and each action with the receipt that proves it. The call itself is not kept in
 * the conversation, which so ends with the text.
 * @returns false when the model has to go on: the call failed, or there is no text for the user yet
 */
export function showReport(
  { store, changes, redactor, checkClaims }: Pick<TurnDeps, "store" | "changes" | "redactor" | "checkClaims">,
  run: Run,
  message: Message,
  content: readonly AssistantContent[],
): boolean {
  const at = message.parts.findIndex((part) => part.type === "tool" && part.tool === reportTool && part.status === "success");
  const card = message.parts[at] as ToolPart | undefined;
  const call = content.find((item) => item.type === "tool_call");
  const parsed = call?.type === "tool_call" ? OutcomeReport.safeParse(call.args) : undefined;
  if (card === undefined || checkClaims === null || parsed?.success !== true) return false;
  const { responseToUser, actionsTaken, nextAction } = parsed.data;
  const written = content.flatMap((item) => (item.type === "text" ? [item.text] : [])).join("\n");
  const response = redactor.text(responseToUser ?? "").text;
  const adds = response.trim() !== "" && !written.includes(response.trim());
  const { questId } = run;
  const actions = checkClaims.outcome(actionsTaken, {
    questId,
    messages: store.messages(questId).map((stored) => stored.message),
    changes: changes.list({ questId, limit: 500 }),
  });
  const outcome = {
    type: "outcome" as const,
    actions,
    ...(nextAction === undefined ? {} : { nextAction: redactor.text(nextAction).text }),
  };
  const isAnswer = adds || written.trim() !== "";
  message.parts.splice(at, isAnswer ? 1 : 0, ...(adds ? [{ type: "text" as const, text: response }] : []), outcome);
  if (!isAnswer) {
    store.saveMessage(message);
    return false;
  }
  const said = written.trim() === "" ? [] : content.filter((item) => item.type !== "tool_call");
  const added = adds ? [{ type: "text" as const, text: response }] : [];
  store.saveMessage(message, { kind: "assistant", content: [...said, ...added], cut: null, altered: [] });
  return true;
}
