import { randomUUID } from "node:crypto";
import type { Message, ToolPart } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import { workStateSource } from "../context/context.ts";
import type { ActiveModel } from "../models/models.ts";
import type { Run, TurnDeps } from "../quests/quests.ts";
import { unansweredApprovalNotice } from "./model-answer.ts";
import { retrieveForSmallModel, smallModelNotice } from "./small-model.ts";
import { queuedPart, runToolCalls, type StopReason } from "./tool-calls.ts";

/**
 * Retrieves text of the project for a small model before it answers a new request, and stores the text with its tool cards as a
 * message. Does nothing when the text for this request was already retrieved.
 */
export async function readForSmallModel(
  deps: Pick<TurnDeps, "store" | "tools" | "changes" | "governance" | "redactor" | "emit" | "canAsk" | "spawn" | "log">,
  run: Run,
  active: ActiveModel,
  parentId: string,
): Promise<void> {
  const { store } = deps;
  const messages = store.messages(run.questId);
  const index = messages.findLastIndex(({ turn }) => turn?.kind === "user");
  const request = messages[index];
  if (request?.turn?.kind !== "user" || messages.slice(index).some(({ turn }) => turn?.kind === "retrieval" || turn?.kind === "assistant"))
    return;
  // Messages of the host itself (a review, a length limit) contain no request.
  if (!request.message.parts.some((part) => part.type === "text")) return;
  const { smallModelNoticeShown, quest } = store.stored(run.questId);
  const message = store.addMessage({
    questId: run.questId,
    role: "assistant",
    parts: smallModelNoticeShown ? [] : [smallModelNotice(active.displayName)],
    open: true,
  });
  store.patch(run.questId, { smallModelNoticeShown: true });

  /** Failed reads are skipped, but an expired approval request ends the task when the soul says so. */
  const stop = (part: ToolPart, why: StopReason): void => {
    if (why === "unanswered") throw new LancelotError("needs_approval", unansweredApprovalNotice(part).text);
  };
  const requestText = request.turn.content.map((item) => (item.type === "text" && item.attached !== true ? item.text : "")).join("\n");
  const hasAttachment = request.turn.content.some(
    (item) => item.type === "text" && item.attached === true && item.source !== workStateSource,
  );
  const text = hasAttachment
    ? ""
    : await retrieveForSmallModel(
        deps,
        requestText,
        async ({ name, args }) => {
          const call = { id: `host-${randomUUID()}`, name, args };
          const part: ToolPart = queuedPart(call, deps.redactor);
          message.parts.push(part);
          await runToolCalls(deps, message, [call], { run, mode: quest.mode, parentId, onStop: stop });
          run.controller.signal.throwIfAborted();
          return { text: part.status === "success" ? part.output : null, part };
        },
        run.controller.signal,
      );
  run.controller.signal.throwIfAborted();
  store.saveMessage(
    { ...message, open: false },
    text === ""
      ? null
      : { kind: "retrieval", text: `Project files that match this question:\n${text}`, request: requestText, ...findingsOf(message) },
  );
}

function findingsOf(message: Message): { findings?: string[] } {
  const findings = new Set(message.parts.flatMap((part) => (part.type === "tool" ? (part.findings ?? []) : [])));
  return findings.size === 0 ? {} : { findings: [...findings] };
}
