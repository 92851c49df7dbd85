import type { Attachment } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import { staysQuestion } from "../models/models.ts";
import type { Redactor } from "../security/security.ts";
import type { createCompactCommand } from "./compact-command.ts";
import { type createHostCommands, hostCommandIn } from "./host-commands.ts";
import type { EditMode, Mode } from "../contract/governance.ts";
import { asksForCrusader, changeMode, recordCrusader, withoutCrusader } from "./crusader.ts";
import { setEdits } from "./task-edits.ts";
import { titleOf, userText } from "./quest-page.ts";
import type { QuestServices } from "./quest-services.ts";
import type { Quests } from "./quests-interface.ts";
import { asksForPlan, asksToCompact } from "./slash-commands.ts";
import { maxQuestTokens } from "./stop-rules.ts";

/** What a message says about the mode of its task. */
interface MessageMode {
  readonly mode?: Mode | undefined;
  readonly edits?: EditMode | undefined;
}

/** `review` and `auto` say what happens to edits, and leave the rest to the text. */
function modeNamed(mode: Mode | EditMode | undefined): MessageMode {
  return mode === "review" || mode === "auto" ? { edits: mode } : { mode };
}

interface Deps extends Pick<QuestServices, "store" | "runner" | "userMessages" | "redactorOf" | "workspace" | "requireAwake"> {
  readonly ledger: Ledger;
  readonly governance: Pick<Governance, "requiresReview">;
  readonly redactor: Redactor;
  readonly compactCommand: Pick<ReturnType<typeof createCompactCommand>, "send">;
  readonly hostCommands: Pick<ReturnType<typeof createHostCommands>, "send">;
}

/** Accepts messages and answers: they start a quest, continue it, or join its current run. */
export function createQuestMessages(deps: Deps): Pick<Quests, "send" | "steer" | "answer"> & { allowMoreTokens(questId: string): void } {
  const { store, runner, userMessages, redactor, redactorOf, ledger, workspace, compactCommand, hostCommands } = deps;

  function allowMoreTokens(questId: string): void {
    const { usage } = store.quest(questId);
    store.patch(questId, { tokenLimit: usage.inputTokens + usage.outputTokens + maxQuestTokens });
  }

  /** Only the owner lets edits be applied: a message of somebody else ends that. */
  function chooseEdits(questId: string, edits: EditMode | undefined, owner: boolean): void {
    if (edits !== undefined) setEdits(deps, questId, edits);
    else if (!owner && store.quest(questId).edits === "auto") setEdits(deps, questId, null);
  }

  /** A run that only looks for a question may act after a message or an answer that is more than another question. */
  function actsAfter(questId: string, text: string): void {
    if (staysQuestion(text)) return;
    const run = runner.runOf(questId);
    if (run !== undefined) run.question = false;
    // An interrupted run continues as a new one, by the route of its last message.
    const last = store.messages(questId).findLast(({ message, turn }) => turn?.kind === "user" && userText(message) !== "");
    if (last?.turn?.kind === "user" && last.turn.route === "answer") store.keepTurn(last.message.id, { ...last.turn, route: "loop" });
  }

  /** A message that joins a run has no route of its own, also when the run is interrupted before its next step. */
  function keepRouteOfRun(questId: string, messageId: string): void {
    const turn = store.message(messageId)?.turn;
    if (turn?.kind !== "user" || store.quest(questId).queued === true) return;
    store.keepTurn(messageId, { ...turn, route: runner.runOf(questId)?.question === true ? "answer" : "loop" });
  }

  function startQuest(
    text: string,
    attachments: readonly Attachment[],
    { mode, edits }: MessageMode,
    owner: boolean,
  ): ReturnType<Quests["send"]> {
    deps.requireAwake();
    const sent = store.transaction(() => {
      const title = titleOf(redactor.text(withoutCrusader(text)).text);
      const questId = store.create({ workspace, title, mode: mode ?? "normal", tokenLimit: maxQuestTokens });
      if (edits !== undefined) setEdits(deps, questId, edits);
      if (mode === "crusader") recordCrusader(ledger, store.quest(questId), "start");
      const message = userMessages.add(questId, text, attachments, owner);
      runner.claim(questId);
      return { questId, messageId: message.id };
    });
    runner.launch(sent.questId, "message", { messageId: sent.messageId });
    return sent;
  }

  /** Adds a message to a running quest. The model reads it at its next step. */
  function joinRun(
    questId: string,
    text: string,
    attachments: readonly Attachment[],
    { mode, edits }: MessageMode,
    owner: boolean,
  ): string {
    return store.transaction(() => {
      const message = userMessages.add(questId, text, attachments, owner);
      if (mode !== undefined) changeMode({ store, ledger }, questId, mode);
      chooseEdits(questId, edits, owner);
      actsAfter(questId, text);
      keepRouteOfRun(questId, message.id);
      allowMoreTokens(questId);
      ledger.record(
        {
          actionType: "user_interaction",
          actionName: "steer",
          inputs: { messageId: message.id },
          riskTier: "T0",
          questId,
          parentId: store.quest(questId).receiptId,
        },
        { status: "success" },
      );
      return message.id;
    });
  }

  function send(
    { text, questId, mode: requestedMode, attachments = [], replaceMessageId }: Parameters<Quests["send"]>[0],
    owner = true,
  ): ReturnType<Quests["send"]> {
    userMessages.requireAttachable(text, attachments, owner);
    const focus = asksToCompact(text);
    if (focus !== null) return compactCommand.send(questId, text, focus);
    const command = hostCommandIn(text);
    if (command === "undo" && !owner) throw new LancelotError("unauthorized", "/undo restores files, so it requires the owner token.");
    if (command !== null) return hostCommands.send(questId, command);
    const { edits, mode: named } = modeNamed(requestedMode);
    const mode = named ?? (asksForCrusader(text) ? "crusader" : asksForPlan(text) ? "plan" : undefined);
    if (asksForCrusader(text) && withoutCrusader(text).trim() === "")
      throw new LancelotError("invalid_params", "Crusader mode needs a task. Write it after /crusader.");
    if (questId === undefined) {
      if (replaceMessageId !== undefined)
        throw new LancelotError("invalid_params", "replaceMessageId requires the questId of the message.");
      return startQuest(text, attachments, { mode, edits }, owner);
    }
    runner.requireNotRunningElsewhere(store.stored(questId));
    const isRunning = runner.runOf(questId) !== undefined;
    if (replaceMessageId === undefined && isRunning)
      return { questId, messageId: joinRun(questId, text, attachments, { mode, edits }, owner) };
    if (!isRunning) deps.requireAwake();
    const replaced = replaceMessageId === undefined ? null : userMessages.find(questId, replaceMessageId);
    if (replaced !== null && isRunning) void runner.end(questId, "cancelled");
    let before: (() => Promise<void>) | undefined;
    const messageId = store.transaction(() => {
      if (replaced !== null) before = userMessages.rewind(questId, replaced, text);
      const message = userMessages.add(questId, text, attachments, owner);
      runner.claim(questId);
      changeMode({ store, ledger }, questId, mode ?? "normal");
      chooseEdits(questId, edits, owner);
      allowMoreTokens(questId);
      return message.id;
    });
    runner.launch(questId, replaced === null ? "message" : "edited message", { messageId, before });
    return { questId, messageId };
  }

  return {
    send,
    allowMoreTokens,

    steer(questId, text, owner = true) {
      runner.requireNotRunningElsewhere(store.stored(questId));
      userMessages.requireAttachable(text, [], owner);
      if (runner.runOf(questId) === undefined || hostCommandIn(text) !== null)
        return { messageId: send({ questId, text }, owner).messageId };
      return { messageId: joinRun(questId, text, [], asksForCrusader(text) ? { mode: "crusader" } : {}, owner) };
    },

    answer(questId, callId, answer) {
      const stored = store.stored(questId);
      runner.requireNotRunningElsewhere(stored);
      const resolve = runner.runOf(questId)?.questions.get(callId);
      const { waitingFor, status } = stored.quest;
      const pending = status === "interrupted" && waitingFor?.kind === "answer" && waitingFor.id === callId;
      if (resolve === undefined && !pending) throw new LancelotError("conflict", "This question is no longer open.");
      const safe = redactorOf(questId).text(answer).text;
      store.patch(questId, { answer: { callId, answer: safe } });
      actsAfter(questId, answer);
      if (resolve === undefined) runner.start(questId, "answer");
      else resolve(safe);
    },
  };
}
