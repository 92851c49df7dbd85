// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import type { Message, Part } from "../../../agent-server/contract/chat.ts";
import { GuardedMessage } from "../../../webviews/chat/message.tsx";
import { startChat } from "../../support/chat-page.ts";
import { sampleMessage } from "../../support/webview-harness/samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
eachWithRoot((made) => {
  root = made;
});

/** Messages that no host sends, but a fault in the page could also be in the page. */
const bad: readonly (readonly [string, unknown])[] = [
  ["a text that is none", { type: "text", text: 5 }],
  ["a tool call without its fields", { type: "tool" }],
  ["a reasoning without text", { type: "thinking" }],
];

it.each(bad)("one message that cannot be drawn hides no other: %s", async (_what, part) => {
  const { chat } = await startChat({});
  const good = (text: string): Message => sampleMessage({ role: "assistant", parts: [{ type: "text", text }] });
  const messages = [
    good("before"),
    sampleMessage({ role: "assistant", parts: [{ type: "text", text: "kept words" }, part as Part] }),
    good("after"),
  ];
  void act(() =>
    render(
      <>
        {messages.map((message, index) => (
          <GuardedMessage key={index} message={signal(message)} chat={chat} />
        ))}
      </>,
      root,
    ),
  );
  expect(root.querySelectorAll("article")).toHaveLength(3);
  expect(root.querySelectorAll(".unreadable")).toHaveLength(1);
  for (const text of ["before", "kept words", "after"]) expect(root.textContent).toContain(text);
});
