import { act } from "preact/test-utils";
import type { Message, Quest } from "../../agent-server/contract/chat.ts";
import { type Chat, createChat, emptyChat, SavedChat } from "../../webviews/chat/chat-state.ts";
import { createConversation } from "../../webviews/shared/conversation.ts";
import { createStore } from "../../webviews/shared/store.ts";
import { createViewState } from "../../webviews/shared/view-state.ts";
import { createFakeView, type FakeView, settled } from "./fake-view.ts";
import { sampleMessage, sampleQuest } from "./webview-harness/samples.ts";

export interface ChatPage {
  readonly view: FakeView;
  readonly chat: Chat;
  /** What the view keeps over a reload. */
  readonly kept: Partial<SavedChat>;
}

export interface ChatPageOptions {
  saved?: SavedChat;
  quest?: Quest;
  messages?: readonly Message[];
  answers?: Readonly<Record<string, unknown>>;
}

/** The state of a chat joined to a host that answers, as its page makes it. */
export async function startChat(options: ChatPageOptions = {}): Promise<ChatPage> {
  const { saved = emptyChat, quest = sampleQuest(), messages = [sampleMessage()], answers = {} } = options;
  const view = createFakeView(saved);
  const kept: Partial<SavedChat> = {};
  const all: Readonly<Record<string, unknown>> = {
    "quests.get": { quest, messages },
    "quests.list": { items: [quest] },
    "changes.list": { items: [] },
    "approvals.list": { items: [] },
    "receipts.search": { items: [] },
    "chat.send": { questId: "quest-1", messageId: "m" },
    "chat.steer": { messageId: "m" },
    "chat.answer": { ok: true },
    // Stopping it changes it, so it is newer than what was shown.
    "chat.cancel": {
      ...quest,
      status: "cancelled",
      updatedAt: new Date(Date.parse(quest?.updatedAt ?? new Date().toISOString()) + 1).toISOString(),
    },
    "host.info": {
      ...{ name: "lancelot", version: "1", protocolVersion: 1, pid: 1, workspace: "shop", trusted: true, posture: "supervised" },
      ...{ startedAt: "2026-01-01T00:00:00.000Z", safeMode: false, sleeping: null, maxRunningTasks: 4, lastEventSeq: 0 },
    },
    ...answers,
  };
  for (const [name, answer] of Object.entries(all)) view.answer(name, () => answer);
  view.answer("workspace.files", ({ query }) => ({
    items: ["src/total.ts", "src/line.ts"].filter((path) => path.includes(String(query))),
  }));
  const store = createStore(view.bridge);
  const api = { postMessage: () => undefined, getState: () => saved, setState: (state: unknown) => Object.assign(kept, state) };
  const chat = createChat(view.bridge, store, createConversation(view.bridge, store), createViewState(api, SavedChat, emptyChat));
  await view.hostReady();
  return { view, chat, kept };
}

/** Lets answers and effects come, and draws what came of them. */
export async function settle(): Promise<void> {
  await act(async () => {
    await settled();
  });
}

/** Returns the first button with this test id. @throws Error when there is none. */
export function buttonIn(root: ParentNode, testId: string): HTMLButtonElement {
  const found = root.querySelector<HTMLButtonElement>(`button[data-testid="${testId}"]`);
  if (found === null) throw new Error(`There is no button with the test id ${testId}.`);
  return found;
}

/** Returns the first field with this test id. @throws Error when there is none. */
export function fieldIn(root: ParentNode, testId: string): HTMLInputElement {
  const found = root.querySelector<HTMLInputElement>(`input[data-testid="${testId}"], textarea[data-testid="${testId}"]`);
  if (found === null) throw new Error(`There is no field with the test id ${testId}.`);
  return found;
}
