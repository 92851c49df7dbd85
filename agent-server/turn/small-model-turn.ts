import { randomUUID } from "node:crypto";
import type { Message, ToolPart } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { ActiveModel } from "../models/models.ts";
import type { Run, TurnDeps } from "../quests/quests.ts";
import { unansweredApprovalNotice } from "./model-answer.ts";
import { retrieveForSmallModel, smallModelNotice } from "./small-model.ts";
import { queuedPart, runToolCalls, type StopReason } from "./tool-calls.ts";

/**
 * Before a small model answers a new request of the owner: reads for it and stores what was read as a message of its own, with
 * the tool cards. Does nothing when this request was read for already.
 */
export async function readForSmallModel(
  deps: Pick<TurnDeps, "store" | "tools" | "changes" | "governance" | "redactor" | "emit" | "canAsk" | "log">,
  run: Run,
  active: ActiveModel,
  parentId: string,
): Promise<void> {
  const { store } = deps;
  const messages = store.messages(run.questId);
  const index = messages.findLastIndex(({ turn }) => turn?.kind === "user");
  const asked = messages[index];
  if (asked?.turn?.kind !== "user" || messages.slice(index).some(({ turn }) => turn?.kind === "retrieval" || turn?.kind === "assistant"))
    return;
  // The product's own turns (a review, a length limit) carry no request to read for.
  if (!asked.message.parts.some((part) => part.type === "text")) return;
  const { smallModelNoticeShown, quest } = store.stored(run.questId);
  const message = store.addMessage({
    questId: run.questId,
    role: "assistant",
    parts: smallModelNoticeShown ? [] : [smallModelNotice(active.displayName)],
    open: true,
  });
  store.patch(run.questId, { smallModelNoticeShown: true });

  /** Reading goes on whatever fails, but not past the soul's word. */
  const stop = (part: ToolPart, why: StopReason): void => {
    if (why === "unanswered") throw new LancelotError("needs_approval", unansweredApprovalNotice(part).text);
  };
  const request = asked.turn.content.map((item) => (item.type === "text" && item.attached !== true ? item.text : "")).join("\n");
  const given = asked.turn.content.some((item) => item.type === "text" && item.attached === true);
  const text = given
    ? ""
    : await retrieveForSmallModel(
        deps,
        request,
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
      : { kind: "retrieval", text: `Text of the project, read for this question:\n${text}`, request, ...findingsOf(message) },
  );
}

function findingsOf(message: Message): { findings?: string[] } {
  const findings = new Set(message.parts.flatMap((part) => (part.type === "tool" ? (part.findings ?? []) : [])));
  return findings.size === 0 ? {} : { findings: [...findings] };
}
