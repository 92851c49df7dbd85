// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { App as ChatApp } from "../../../webviews/chat/chat-app.tsx";
import { setTexts } from "../../../webviews/shared/l10n.ts";
import { createStore } from "../../../webviews/shared/store.ts";
import { createViewState } from "../../../webviews/shared/view-state.ts";
import { panels } from "../../../webviews/war-room/panels.tsx";
import { App as WarRoomApp } from "../../../webviews/war-room/war-room-app.tsx";
import { createWarRoom } from "../../../webviews/war-room/war-room-state.ts";
import { emptyWarRoom, SavedWarRoom } from "../../../webviews/war-room/war-room-types.ts";
import { settle, startChat } from "../../support/chat-page.ts";
import { createFakeView } from "../../support/fake-view.ts";
import { emptyMemoryAnswers } from "../../support/webview-harness/memory-samples.ts";
import { sampleStats } from "../../support/webview-harness/samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

// These elements need a browser; test/integration/webviews.test.ts covers them.
vi.mock("@vscode-elements/elements/dist/vscode-option/index.js", () => ({}));
vi.mock("@vscode-elements/elements/dist/vscode-single-select/index.js", () => ({}));

let root: HTMLElement;
eachWithRoot((made) => {
  root = made;
});

beforeAll(() => {
  HTMLElement.prototype.scrollIntoView = () => undefined;
  const bundle = JSON.parse(readFileSync(join(import.meta.dirname, "../../../l10n/bundle.l10n.json"), "utf8")) as Record<string, string>;
  setTexts(Object.fromEntries(Object.keys(bundle).map((text) => [text, `⟦${text}⟧`])));
});
afterAll(() => setTexts({}));

/** Visible texts and labels that contain letters outside a translated text. */
function untranslated(): string[] {
  expect(root.textContent).toContain("⟦");
  const found: string[] = [];
  for (const element of root.querySelectorAll("*")) {
    for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) found.push(node.textContent ?? "");
    for (const name of ["title", "aria-label", "placeholder"]) found.push(element.getAttribute(name) ?? "");
  }
  const outside = (text: string): string => {
    let rest = text;
    // Texts can be nested as arguments of others.
    while (/⟦[^⟦⟧]*⟧/.test(rest)) rest = rest.replaceAll(/⟦[^⟦⟧]*⟧/g, "");
    return rest;
  };
  return [...new Set(found.filter((text) => /\p{L}{2}/u.test(outside(text))))];
}

it("the chat shows only translated texts", async () => {
  const { chat } = await startChat({ messages: [], answers: { "quests.list": { items: [] } } });
  void act(() => render(<ChatApp chat={chat} />, root));
  await settle();
  expect(untranslated()).toEqual([]);
});

it.each(panels.map(({ id }) => id))("the panel %s shows only translated texts", async (tab) => {
  const view = createFakeView();
  const none = { items: [] };
  const answers: Record<string, unknown> = {
    ...{
      "quests.list": none,
      "approvals.list": none,
      "approvals.rules": none,
      "changes.list": none,
      "receipts.search": none,
      "trust.list": none,
    },
    ...{ "trust.proposals": none, "learning.rules": none, "learning.proposals": none, "flags.list": none, "tools.providers": none },
    ...emptyMemoryAnswers,
    "governance.stats": sampleStats({ decisions: 0, topRules: [], problems: [], policyVersion: null, soulVersion: null }),
  };
  for (const [name, answer] of Object.entries(answers)) view.answer(name, () => answer);
  const api = { postMessage: () => undefined, getState: () => ({ ...emptyWarRoom, tab }), setState: () => undefined };
  const warRoom = createWarRoom(view.bridge, createStore(view.bridge), createViewState(api, SavedWarRoom, emptyWarRoom));
  void act(() => render(<WarRoomApp warRoom={warRoom} />, root));
  await view.hostReady();
  await settle();
  await settle();
  expect(untranslated().filter((text) => !text.startsWith("No answer for"))).toEqual([]);
});
