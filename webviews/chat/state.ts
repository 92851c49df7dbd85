import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import * as z from "zod";
import type { Attachment, Message, Quest } from "../../agent-server/contract/chat.ts";
import type { AnsweredBy } from "../../agent-server/contract/router.ts";
import { type Bridge, problemOf } from "../shared/bridge.ts";
import { type CommandName, commandAction, undoTask } from "../shared/commands.ts";
import type { Conversation } from "../shared/conversation.ts";
import { t } from "../shared/l10n.ts";
import { createLiveOutputs, type LiveOutputs } from "../shared/live-output.ts";
import { plainText } from "../shared/message-log.ts";
import type { Store } from "../shared/store.ts";
import type { ViewState } from "../shared/view-state.ts";
import { type ActionName, actionIn } from "./commands.ts";
import { createDiffering, type Differing } from "./differing.ts";
import type { ImageAttachment } from "./images.ts";
import { mentioned } from "./mentions.ts";
import { createOutbox, type Parcel, type Place } from "./outbox.ts";

/** What the chat keeps over a reload. Pictures are left out: they are large, and what is kept is kept in memory. */
export const SavedChat = z.object({
  questId: z.string().nullable(),
  draft: z.string(),
  chosen: z.array(z.string()),
  history: z.array(z.string()),
  /** Messages whose arrival was not known yet. */
  outgoing: z.array(z.string()).default([]),
  /** Calls whose changed files the owner kept. */
  kept: z.array(z.string()).default([]),
});
export type SavedChat = z.infer<typeof SavedChat>;
export const emptyChat: SavedChat = { questId: null, draft: "", chosen: [], history: [], outgoing: [], kept: [] };

const longestHistory = 50;
const longestKept = 200;

/** What the owner does in the chat, and the state that is the chat's own. */
export interface Chat {
  readonly bridge: Bridge;
  readonly store: Store;
  readonly conversation: Conversation;
  readonly page: Signal<"conversation" | "quests">;
  readonly quest: ReadonlySignal<Quest | null>;
  /** Which model gave the last answer here; undefined before one is known. */
  readonly answeredBy: ReadonlySignal<AnsweredBy | undefined>;
  /** The loop runs or waits for the owner: words steer it instead of starting a turn. */
  readonly running: ReadonlySignal<boolean>;
  readonly draft: Signal<string>;
  /** Files picked for mentions; those still in the text go along. */
  readonly chosen: Signal<readonly string[]>;
  readonly images: Signal<readonly ImageAttachment[]>;
  /** The message that is being edited to be sent again. */
  readonly editing: ReadonlySignal<Message | null>;
  /** Messages on their way, oldest first. */
  readonly outgoing: ReadonlySignal<readonly Parcel[]>;
  /** The next message is sent in crusader mode: its edits are applied after a checkpoint, unasked. */
  readonly crusader: Signal<boolean>;
  readonly problem: Signal<string | null>;
  /** For each change of this quest, the last tool call that belongs to it: where the change is shown. */
  readonly changeAt: ReadonlySignal<ReadonlyMap<string, string>>;
  /** A command of this quest left files that can be put back. */
  readonly leftFiles: ReadonlySignal<boolean>;
  /** Which files differ from what they were before the task, or before one of its commands. */
  readonly differing: Differing;
  /** What running tools print. */
  readonly outputs: LiveOutputs;
  /** Calls whose changed files the owner kept; only the card remembers it. */
  readonly kept: Signal<readonly string[]>;
  /** Own messages, oldest first. */
  readonly history: ReadonlySignal<readonly string[]>;
  /** Grows when the composer should take the focus. */
  readonly focusRequests: Signal<number>;
  /** Sends what the composer holds and empties it; what does not arrive comes back into it. */
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

/** For each change, the id of the last tool call that belongs to it. */
export function lastCallOfChanges(messages: readonly Message[]): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  for (const { parts } of messages)
    for (const part of parts) if (part.type === "tool" && part.changeId !== null) last.set(part.changeId, part.callId);
  return last;
}

/** True for a call that changed files which can be put back, and were not at once. */
function leavesFiles(part: Message["parts"][number]): boolean {
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
      : t("This view was closed while a message was on its way. See whether it arrived before you send it again."),
  );
  const history = signal<readonly string[]>(initial.history);
  const focusRequests = signal(0);
  const quest = computed(() => store.quests.value.get(conversation.questId.value ?? "") ?? null);
  // Through a text, so that streaming words, which change no call, draw no card again.
  const changeCalls = computed(() => JSON.stringify([...lastCallOfChanges(conversation.messages.value.map((message) => message.value))]));
  const changeAt = computed(() => new Map(JSON.parse(changeCalls.value) as [string, string][]));
  const lastAnswer = computed(() =>
    JSON.stringify(conversation.messages.value.findLast((message) => message.value.answeredBy !== undefined)?.value.answeredBy ?? null),
  );
  const answeredBy = computed(() => (JSON.parse(lastAnswer.value) as AnsweredBy | null) ?? undefined);
  const leftFiles = computed(() => conversation.messages.value.some((message) => message.value.parts.some(leavesFiles)));
  const running = computed(() => quest.value?.status === "active" || quest.value?.status === "waiting");

  draft.subscribe((text) => saved.update({ draft: text }));
  chosen.subscribe((paths) => saved.update({ chosen: [...paths] }));
  history.subscribe((texts) => saved.update({ history: [...texts] }));
  const kept = signal<readonly string[]>(initial.kept);
  kept.subscribe((calls) => saved.update({ kept: calls.slice(-longestKept) }));
  conversation.questId.subscribe((questId) => saved.update({ questId }));

  const focus = (): void => {
    focusRequests.value += 1;
  };

  /** Runs a call whose failure is told above the composer. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    problem.value = null;
    try {
      await work();
    } catch (error) {
      problem.value = problemOf(error);
    }
  }

  function show(questId: string | null): void {
    if (questId === null) place = { questId };
    conversation.open(questId);
    page.value = "conversation";
    editing.value = null;
    problem.value = null;
  }

  /** Of the conversation on show; another one when the owner goes to another task or begins a new one. */
  let place: Place = { questId: conversation.questId.peek() };
  conversation.questId.subscribe((questId) => {
    if (place.questId !== questId) place = { questId };
  });

  async function deliver({ place: of, text, chosen: picked, images: pictures, replaces, crusader: unasked }: Parcel): Promise<void> {
    const attachments: Attachment[] = [...mentioned(text, picked).map((path) => ({ type: "file" as const, path })), ...pictures];
    const current = of.questId === null ? undefined : store.quests.peek().get(of.questId);
    const waiting = current?.waitingFor;
    // While changes wait for a review no loop runs that words could join: they start the next turn.
    const joins = (current?.status === "active" || current?.status === "waiting") && waiting?.kind !== "review";
    if (current !== undefined && joins && replaces === null && attachments.length === 0 && (!unasked || waiting?.kind === "answer")) {
      if (waiting?.kind === "answer") await bridge.call("chat.answer", { questId: current.id, callId: waiting.id, answer: text });
      else await bridge.call("chat.steer", { questId: current.id, text });
      return;
    }
    // Only a message carries attachments; one sent to a running task joins it just as well.
    const sent = await bridge.call("chat.send", {
      text,
      ...(of.questId === null ? {} : { questId: of.questId }),
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(unasked ? { mode: "crusader" as const } : {}),
      ...(replaces === null ? {} : { replaceMessageId: replaces.id }),
    });
    of.questId = sent.questId;
    if (place === of) conversation.open(sent.questId);
  }

  /** Puts what did not arrive back before what was written since. */
  function returned(parcels: readonly Parcel[], error: unknown): void {
    problem.value = problemOf(error);
    draft.value = joined([...parcels.map(({ text }) => text), draft.peek()]);
    chosen.value = [...parcels.flatMap((parcel) => parcel.chosen), ...chosen.peek()];
    images.value = [...parcels.flatMap((parcel) => parcel.images), ...images.peek()];
    const [failed] = parcels;
    if (failed?.place === place) editing.value ??= failed.replaces;
    if (parcels.some((parcel) => parcel.crusader)) crusader.value = true;
  }

  const outbox = createOutbox({ deliver, returned });
  outbox.parcels.subscribe((parcels) => saved.update({ outgoing: parcels.map(({ text }) => text) }));

  async function send(): Promise<void> {
    const text = draft.value.trim();
    const action = actionIn(text);
    if (action !== null) {
      draft.value = "";
      run(action);
      return;
    }
    if (text === "") {
      if (images.value.length > 0) problem.value = t("Say what to do with the picture.");
      return;
    }
    problem.value = null;
    history.value = [...history.value.filter((known) => known !== text), text].slice(-longestHistory);
    const parcel = { place, text, chosen: chosen.value, images: images.value, replaces: editing.value, crusader: crusader.value };
    // Into the outbox first: what is kept over a reload holds the words at every moment.
    const sent = outbox.put(parcel);
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
    if (id === null) problem.value = t("There is no task to undo. Open one first.");
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
      case "receipts":
        return bridge.ui(commandAction("openWarRoom", { tab: "receipts" }));
    }
  }

  bridge.onShow((wanted) => {
    if (wanted.newQuest) newQuest();
    if (wanted.questId !== undefined) show(wanted.questId);
    if (wanted.compose !== undefined) {
      page.value = "conversation";
      draft.value = draft.value.trim() === "" ? wanted.compose : `${draft.value.trimEnd()}\n${wanted.compose}`;
    }
    if (wanted.crusader) {
      page.value = "conversation";
      crusader.value = true;
    }
    if (wanted.focus || wanted.compose !== undefined) focus();
  });
  if (initial.questId !== null) conversation.open(initial.questId);
  // The state of a view that was torn down in the middle of something may be older than what the host knows: a task that was
  // begun after the last one shown, and has not ended, is what the owner was at.
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
    outgoing: outbox.parcels,
    crusader,
    problem,
    changeAt,
    leftFiles,
    differing: createDiffering(bridge, store),
    outputs: createLiveOutputs(bridge, conversation),
    kept,
    history,
    focusRequests,
    send,
    stop: () => {
      const id = conversation.questId.value;
      if (id !== null && running.value) void attempt(async () => store.putQuest(await bridge.call("chat.cancel", { questId: id })));
    },
    resume: (questId) => void attempt(async () => store.putQuest(await bridge.call("quests.resume", { id: questId }))),
    newQuest,
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
