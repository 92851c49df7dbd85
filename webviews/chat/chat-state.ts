import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import * as z from "zod";
import type { Attachment, Message, Quest, ToolPart } from "../../agent-server/contract/chat.ts";
import type { AnsweredBy } from "../../agent-server/contract/router.ts";
import type { AnswerByKey } from "../shared/approval-card.tsx";
import { type Bridge, problemOf } from "../shared/bridge.ts";
import { type CommandName, commandAction, undoTask } from "../shared/commands.ts";
import type { Conversation } from "../shared/conversation.ts";
import { t } from "../shared/l10n.ts";
import { createLiveOutputs, type LiveOutputs } from "../shared/live-output.ts";
import { plainText } from "../shared/message-log.ts";
import type { Store } from "../shared/store.ts";
import type { ViewState } from "../shared/view-state.ts";
import { type ActionName, actionIn } from "./slash-commands.ts";
import { createFileComparison, type FileComparison } from "./file-comparison.ts";
import { createModeChoice, type ModeChoice } from "./composer-mode.ts";
import type { ImageAttachment } from "./images.ts";
import { mentioned } from "./mentions.ts";
import { createOutbox, type OutgoingMessage, type ConversationRef } from "./outbox.ts";

/** The chat state that survives a reload. It excludes images, because VS Code keeps the state in memory and images are large. */
export const SavedChat = z.object({
  questId: z.string().nullable(),
  draft: z.string(),
  chosen: z.array(z.string()),
  history: z.array(z.string()),
  /** Messages whose delivery was not confirmed. */
  outgoing: z.array(z.string()).default([]),
  /** Ids of tool calls whose changed files the user chose to keep. */
  kept: z.array(z.string()).default([]),
});
export type SavedChat = z.infer<typeof SavedChat>;
export const emptyChat: SavedChat = { questId: null, draft: "", chosen: [], history: [], outgoing: [], kept: [] };

const maxHistory = 50;
const maxKept = 200;

/** The state and actions of the chat view. */
export interface Chat {
  readonly bridge: Bridge;
  readonly store: Store;
  readonly conversation: Conversation;
  readonly page: Signal<"conversation" | "quests">;
  readonly quest: ReadonlySignal<Quest | null>;
  /** The model of the last answer; undefined before the first answer. */
  readonly answeredBy: ReadonlySignal<AnsweredBy | undefined>;
  /** True while the loop runs or waits for the user; a message then steers it instead of starting a turn. */
  readonly running: ReadonlySignal<boolean>;
  readonly draft: Signal<string>;
  /** Files picked for mentions; only those that the text still mentions are sent. */
  readonly chosen: Signal<readonly string[]>;
  readonly images: Signal<readonly ImageAttachment[]>;
  /** The message that the user is editing, to send it again. */
  readonly editing: ReadonlySignal<Message | null>;
  /** Unsent messages, oldest first. */
  readonly outgoing: ReadonlySignal<readonly OutgoingMessage[]>;
  /** Sends the next message in crusader mode, which applies edits after a checkpoint without a review. */
  readonly crusader: Signal<boolean>;
  /** The mode of the next message and of the task. */
  readonly mode: ModeChoice;
  readonly problem: Signal<string | null>;
  /** Maps each change of this quest to the last tool call that belongs to it, where the change is shown. */
  readonly changeAt: ReadonlySignal<ReadonlyMap<string, string>>;
  /** True when a command of this quest changed files that can be restored. */
  readonly hasRestorableFiles: ReadonlySignal<boolean>;
  /** Compares files with their content before the task or before one of its commands. */
  readonly fileComparison: FileComparison;
  /** The output of running tools. */
  readonly outputs: LiveOutputs;
  /** Ids of tool calls whose changed files the user chose to keep. Only the card uses them. */
  readonly kept: Signal<readonly string[]>;
  /** The user's own messages, oldest first. */
  readonly history: ReadonlySignal<readonly string[]>;
  /** Increases when the composer should take the focus. */
  readonly focusRequests: Signal<number>;
  /** Answers the approval that is shown, by keys of the composer; null without one. */
  readonly approvalKeys: ReadonlySignal<AnswerByKey | null>;
  readonly takeApprovalKeys: (answer: AnswerByKey | null) => void;
  /** Adds a text to the composer, for the user to edit and send. */
  compose(text: string): void;
  /** Sends the composer's content and clears it. Undelivered content returns to the composer. */
  send(): Promise<void>;
  stop(): void;
  resume(questId: string): void;
  newQuest(): void;
  openQuest(id: string): void;
  edit(message: Message): void;
  cancelEdit(): void;
  undo(): void;
  run(action: ActionName): void;
  command(name: CommandName): void;
  openReceipt(id: string): void;
}

/** The changes that a tool call proposed. */
export function changesOf({ changeId, proposed }: Pick<ToolPart, "changeId" | "proposed">): readonly string[] {
  return [...(changeId === null ? [] : [changeId]), ...(proposed?.changeIds ?? [])];
}

/** Maps each change to the last tool call that belongs to it. */
export function lastCallOfChanges(messages: readonly Message[]): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  for (const { parts } of messages)
    for (const part of parts) if (part.type === "tool") for (const id of changesOf(part)) last.set(id, part.callId);
  return last;
}

/** True for a call that changed restorable files and whose changes the host did not revert at once. */
function changesRestorableFiles(part: Message["parts"][number]): boolean {
  if (part.type !== "tool" || part.touched === undefined || part.touched.checkpointId === null) return false;
  return part.touched.files.some((file) => file.undoable && file.putBack !== true);
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text.trim() !== "").join("\n\n");
}

export function createChat(bridge: Bridge, store: Store, conversation: Conversation, saved: ViewState<SavedChat>): Chat {
  const { initial } = saved;
  const page = signal<"conversation" | "quests">("conversation");
  const draft = signal(joined([...initial.outgoing, initial.draft]));
  const chosen = signal<readonly string[]>(initial.chosen);
  const images = signal<readonly ImageAttachment[]>([]);
  const editing = signal<Message | null>(null);
  const crusader = signal(false);
  const problem = signal<string | null>(
    initial.outgoing.length === 0
      ? null
      : t("This view closed while it was sending a message. Check whether the message arrived before you send it again."),
  );
  const history = signal<readonly string[]>(initial.history);
  const focusRequests = signal(0);
  const approvalKeys = signal<AnswerByKey | null>(null);
  const quest = computed(() => store.quests.value.get(conversation.questId.value ?? "") ?? null);
  // The intermediate string stops updates while streaming text changes no call, so no card is redrawn.
  const changeCalls = computed(() => JSON.stringify([...lastCallOfChanges(conversation.messages.value.map((message) => message.value))]));
  const changeAt = computed(() => new Map(JSON.parse(changeCalls.value) as [string, string][]));
  const lastAnswer = computed(() =>
    JSON.stringify(conversation.messages.value.findLast((message) => message.value.answeredBy !== undefined)?.value.answeredBy ?? null),
  );
  const answeredBy = computed(() => (JSON.parse(lastAnswer.value) as AnsweredBy | null) ?? undefined);
  const hasRestorableFiles = computed(() =>
    conversation.messages.value.some((message) => message.value.parts.some(changesRestorableFiles)),
  );
  const running = computed(() => quest.value?.status === "active" || quest.value?.status === "waiting");

  draft.subscribe((text) => saved.update({ draft: text }));
  chosen.subscribe((paths) => saved.update({ chosen: [...paths] }));
  history.subscribe((texts) => saved.update({ history: [...texts] }));
  const kept = signal<readonly string[]>(initial.kept);
  kept.subscribe((calls) => saved.update({ kept: calls.slice(-maxKept) }));
  conversation.questId.subscribe((questId) => saved.update({ questId }));

  const focus = (): void => {
    focusRequests.value += 1;
  };

  /** Runs a call and shows its failure above the composer. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    problem.value = null;
    try {
      await work();
    } catch (error) {
      problem.value = problemOf(error);
    }
  }

  const mode = createModeChoice({
    quest,
    posture: computed(() => store.info.value?.posture),
    setEdits: (id, edits) => void attempt(async () => store.putQuest(await bridge.call("quests.edits", { id, edits }))),
  });

  function show(questId: string | null): void {
    if (questId !== conversation.questId.peek()) mode.reset();
    if (questId === null) target = { questId };
    conversation.open(questId);
    page.value = "conversation";
    editing.value = null;
    problem.value = null;
  }

  /** The current conversation. Opening another task or starting a new one replaces this object. */
  let target: ConversationRef = { questId: conversation.questId.peek() };
  conversation.questId.subscribe((questId) => {
    if (target.questId !== questId) target = { questId };
  });

  async function deliver({
    target: messageTarget,
    text,
    chosen: picked,
    images: pictures,
    replaces,
    crusader: isCrusader,
    mode,
  }: OutgoingMessage): Promise<void> {
    const attachments: Attachment[] = [...mentioned(text, picked).map((path) => ({ type: "file" as const, path })), ...pictures];
    const current = messageTarget.questId === null ? undefined : store.quests.peek().get(messageTarget.questId);
    const waiting = current?.waitingFor;
    // No loop runs while changes wait for a review, so the message starts the next turn.
    const joins = (current?.status === "active" || current?.status === "waiting") && waiting?.kind !== "review";
    if (current !== undefined && joins && replaces === null && attachments.length === 0 && (!isCrusader || waiting?.kind === "answer")) {
      if (waiting?.kind === "answer") await bridge.call("chat.answer", { questId: current.id, callId: waiting.id, answer: text });
      else await bridge.call("chat.steer", { questId: current.id, text });
      return;
    }
    // Only `chat.send` accepts attachments; a message to a running task joins that task.
    const sent = await bridge.call("chat.send", {
      text,
      ...(messageTarget.questId === null ? {} : { questId: messageTarget.questId }),
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(isCrusader ? { mode: "crusader" as const } : mode === null ? {} : { mode }),
      ...(replaces === null ? {} : { replaceMessageId: replaces.id }),
    });
    messageTarget.questId = sent.questId;
    if (target === messageTarget) conversation.open(sent.questId);
  }

  /** Puts undelivered content back in front of the current draft. */
  function restoreUndelivered(messages: readonly OutgoingMessage[], error: unknown): void {
    problem.value = problemOf(error);
    draft.value = joined([...messages.map(({ text }) => text), draft.peek()]);
    chosen.value = [...messages.flatMap((message) => message.chosen), ...chosen.peek()];
    images.value = [...messages.flatMap((message) => message.images), ...images.peek()];
    const [failed] = messages;
    if (failed?.target === target) editing.value ??= failed.replaces;
    if (messages.some((message) => message.crusader)) crusader.value = true;
  }

  const outbox = createOutbox({ deliver, onUndelivered: restoreUndelivered });
  outbox.queue.subscribe((messages) => saved.update({ outgoing: messages.map(({ text }) => text) }));

  async function send(): Promise<void> {
    const text = draft.value.trim();
    const action = actionIn(text);
    if (action !== null) {
      draft.value = "";
      run(action);
      return;
    }
    if (text === "") {
      if (images.value.length > 0) problem.value = t("Add a message that explains what to do with the image.");
      return;
    }
    problem.value = null;
    history.value = [...history.value.filter((known) => known !== text), text].slice(-maxHistory);
    const message = {
      target,
      text,
      chosen: chosen.value,
      images: images.value,
      replaces: editing.value,
      crusader: crusader.value,
      mode: mode.chosen.value,
    };
    // Queues before clearing the draft, so that the saved state holds the text at every moment.
    const sent = outbox.enqueue(message);
    draft.value = "";
    chosen.value = [];
    images.value = [];
    editing.value = null;
    crusader.value = false;
    await sent;
  }

  function newQuest(): void {
    show(null);
    focus();
  }

  function undo(): void {
    const id = conversation.questId.value;
    if (id === null) problem.value = t("No task to undo. Open a task first.");
    else bridge.ui(undoTask(id));
  }

  function run(action: ActionName): void {
    switch (action) {
      case "new":
        return newQuest();
      case "undo":
        return undo();
      case "model":
        return bridge.ui(commandAction("chooseModel"));
      case "doctor":
        return bridge.ui(commandAction("doctor"));
      case "receipts":
        return bridge.ui(commandAction("openWarRoom", { tab: "receipts" }));
    }
  }

  /** Adds a text to the composer, for the user to edit and send. */
  const compose = (text: string): void => {
    page.value = "conversation";
    draft.value = draft.value.trim() === "" ? text : `${draft.value.trimEnd()}\n${text}`;
    focus();
  };

  bridge.onShow((wanted) => {
    if (wanted.newQuest) newQuest();
    if (wanted.questId !== undefined) show(wanted.questId);
    if (wanted.compose !== undefined) compose(wanted.compose);
    if (wanted.crusader) {
      page.value = "conversation";
      crusader.value = true;
    }
    if (wanted.focus) focus();
  });
  if (initial.questId !== null) conversation.open(initial.questId);
  // The saved state of a destroyed view can be older than the host's state. A task that was created after the
  // last shown one and is unfinished is the one the user was working on.
  const stopRestoring = effect(() => {
    if (store.generation.value === 0) return;
    const newest = store.recentQuests.peek()[0];
    const shown = store.quests.peek().get(initial.questId ?? "");
    const unfinished = newest?.status === "active" || newest?.status === "waiting" || newest?.status === "interrupted";
    if (
      newest !== undefined &&
      unfinished &&
      newest.id !== shown?.id &&
      conversation.questId.peek() === initial.questId &&
      (shown === undefined || newest.createdAt > shown.createdAt)
    )
      conversation.open(newest.id);
    queueMicrotask(() => stopRestoring());
  });

  return {
    bridge,
    store,
    conversation,
    page,
    quest,
    answeredBy,
    running,
    draft,
    chosen,
    images,
    editing,
    outgoing: outbox.queue,
    crusader,
    mode,
    problem,
    changeAt,
    hasRestorableFiles,
    fileComparison: createFileComparison(bridge, store),
    outputs: createLiveOutputs(bridge, conversation),
    kept,
    history,
    focusRequests,
    approvalKeys,
    takeApprovalKeys(answer) {
      approvalKeys.value = answer;
    },
    send,
    stop: () => {
      const id = conversation.questId.value;
      if (id !== null && running.value) void attempt(async () => store.putQuest(await bridge.call("chat.cancel", { questId: id })));
    },
    resume: (questId) => void attempt(async () => store.putQuest(await bridge.call("quests.resume", { id: questId }))),
    newQuest,
    compose,
    openQuest: (id) => {
      show(id);
      focus();
    },
    edit: (message) => {
      editing.value = message;
      draft.value = plainText(message);
      chosen.value = message.parts.flatMap((part) => (part.type === "file" ? [part.path] : []));
      images.value = message.parts.flatMap((part) => (part.type === "image" ? [part as ImageAttachment] : []));
      focus();
    },
    cancelEdit: () => {
      editing.value = null;
      draft.value = "";
      chosen.value = [];
      images.value = [];
    },
    undo,
    run,
    command: (name) => bridge.ui(commandAction(name)),
    openReceipt: (receiptId) => bridge.ui({ action: "openReceipt", receiptId }),
  };
}
