import { readFileSync } from "node:fs";
import type { Frame, Locator } from "playwright-core";
import { until } from "../host/built-host.ts";
import type { Workbench } from "./workbench.ts";

const axe = readFileSync(new URL("../../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** What axe finds in a view. */
export async function faults(view: Frame): Promise<string[]> {
  await view.evaluate(axe);
  return view.evaluate(async () => {
    type Violations = { violations: { id: string; nodes: { html: string }[] }[] };
    const { axe: tool } = globalThis as unknown as { axe: { run(root: Document): Promise<Violations> } };
    const { violations } = await tool.run(document);
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  });
}

/** Opens the chat of the sidebar, unless it is open: a second click would close it. */
export async function openChat(workbench: Workbench): Promise<Frame> {
  const { page } = workbench;
  const open = page.locator(".activitybar .action-item.checked", { has: page.locator('a[aria-label^="Lancelot"]') });
  if ((await open.count()) === 0) await page.locator('.activitybar a[aria-label^="Lancelot"]').click();
  const chat = await workbench.view("chat");
  await chat.locator("textarea").waitFor();
  return chat;
}

export async function send(chat: Frame, text: string): Promise<void> {
  await chat.locator("textarea").fill(text);
  await chat.locator("textarea").press("Enter");
}

export async function newTask(chat: Frame): Promise<void> {
  await chat.getByTestId("new-task").first().click();
  await until("the composer is empty", async () => (await chat.locator("textarea").inputValue()) === "");
}

/** A text of the conversation; the live region repeats some of it. */
export function said(chat: Frame, text: string): Locator {
  return chat.getByRole("log").getByText(text).first();
}
