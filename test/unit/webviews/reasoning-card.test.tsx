// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import type { ReasoningPart } from "../../../agent-server/contract/chat.ts";
import { ReasoningCard } from "../../../webviews/chat/reasoning-card.tsx";
import { startChat } from "../../support/chat-page.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
eachWithRoot((made) => {
  root = made;
});

const part: ReasoningPart = {
  type: "reasoning",
  strategy: "Read **first**",
  risks: ["Slow"],
  gaps: [],
  thinking: "",
  experiences: 0,
  receiptId: null,
};

async function draw(more: Partial<ReasoningPart>): Promise<void> {
  const { chat } = await startChat({});
  void act(() => render(<ReasoningCard part={{ ...part, ...more }} chat={chat} />, root));
}

it("is collapsed, and shows missing capabilities without being opened", async () => {
  await draw({ gaps: ["no network"], receiptId: "r1" });
  expect(root.querySelector("details")?.open).toBe(false);
  expect(root.querySelector('[data-testid="gaps"]')?.closest("details")).toBeNull();
  expect(root.querySelector('[data-testid="gaps"]')?.textContent).toContain("no network");
  expect(root.querySelector('[data-testid="receipt"]')).not.toBeNull();
});

it("has no empty lists", async () => {
  await draw({ risks: [] });
  expect(root.querySelectorAll("ul")).toHaveLength(0);
  expect(root.querySelector('[data-testid="gaps"]')).toBeNull();
});
