import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Frame, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/host/built-host.ts";
import { byWords } from "../support/model-server/script.ts";
import { faults, newTask, openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorRoom, openEditorRoom } from "../support/workbench/editor-fixture.ts";
import type { Workbench } from "../support/workbench/workbench.ts";

/** 4,000 tokens read and 1,000 written at 100 dollars a million: 50 cents an answer. */
const usage = { inputTokens: 4000, outputTokens: 1000 };
const prices = 'updated: 2026-11-22\nprices:\n  - { provider: work, models: ["*"], input: 100, output: 100 }\n';

/** What an answer costs, seen and limited in a real editor. */
describe("usage and cost", () => {
  let room: EditorRoom;
  let workbench: Workbench;
  let chat: Frame;
  let warRoom: Frame;
  const footer = (name: RegExp): Locator => chat.locator("footer").getByRole("button", { name });
  const block = (name: string): Locator => warRoom.getByRole("region", { name, exact: true });

  beforeAll(async () => {
    room = await openEditorRoom({
      owners: { "config/prices.yaml": prices },
      script: byWords({
        "What is here": [{ text: "A small shop.", usage }],
        "And what else": [{ text: "Its tests.", usage }],
      }),
    });
    ({ workbench } = room);
    chat = await openChat(workbench);
  });
  afterAll(() => room?.close());

  it("stand with each answer: model, lane and why; the footer has context and cost", async () => {
    await send(chat, "What is here");
    await said(chat, "A small shop.").waitFor();
    const line = chat.locator(".answered").last();
    await line.getByText("test-model · Fast").waitFor();
    expect(await line.getAttribute("title")).toMatch(/^Answered by .*lane Fast\. \S+/);
    await footer(/Cost of this task: \$0\.50 · Today: \$0\.50/).waitFor();
    await footer(/^Model: test-model, Fast\. Choose another for this task/).waitFor();
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("64-cost");
  });

  it("are set out in the War Room, and a cap set there stops the next call", async () => {
    await footer(/Cost of this task/).click();
    warRoom = await workbench.view("war-room");
    await block("Today").getByText("$0.50").waitFor();
    await block("By provider").getByText("Our cluster").waitFor();
    await block("By task").getByRole("button", { name: "What is here" }).waitFor();
    await block("Decisions of the router").getByText("answered").first().waitFor();
    await warRoom.getByLabel("For a day, US dollars").fill("one");
    await warRoom.getByText("An amount above 0").waitFor();
    await warRoom.getByLabel("For a day, US dollars").fill("0.75");
    await warRoom.getByRole("button", { name: "Save" }).click();
    await warRoom.getByText("Saved: no cap for a task, $0.75 for a day.").waitFor();
    await warRoom.getByRole("button", { name: "Receipt", exact: true }).waitFor();
    expect(readFileSync(join(room.data, "config/usage.yaml"), "utf8")).toContain("day_usd: 0.75");
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("65-usage");

    const sent = room.server.requests.length;
    await newTask(chat);
    await send(chat, "And what else");
    await said(chat, "Not sent: the next call could cost up to").waitFor();
    await chat.getByRole("log").getByText("Of the cap of $0.75 for today, $0.50 is spent").waitFor();
    expect(room.server.requests.length).toBe(sent);
    await footer(/Today: \$0\.50 of \$0\.75/).waitFor();
    await workbench.shot("66-cap");
  });

  it("go on after the cap was raised", async () => {
    const { page } = workbench;
    const input = page.locator(".quick-input-widget input.input");
    await chat.getByRole("button", { name: "Change the caps" }).click();
    await page.locator(".quick-input-title", { hasText: "(1 of 2)" }).waitFor();
    await input.press("Enter");
    await page.locator(".quick-input-title", { hasText: "(2 of 2)" }).waitFor();
    await until("the cap as it is", async () => (await input.inputValue()) === "0.75");
    await input.fill("20");
    await input.press("Enter");
    await page.locator('.statusbar [id="status.notifications"]').click();
    await page.locator(".notifications-center").getByRole("button", { name: "Resume Task" }).click();
    await said(chat, "Its tests.").waitFor();
    await footer(/Today: \$1\.00 of \$20\.00/).waitFor();
    await block("Today").getByText("$1.00 of $20.00").waitFor();
  });

  it("leave the choice of lane or model for one task to the owner", async () => {
    const { page } = workbench;
    await footer(/Choose another for this task/).click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Automatic" }).waitFor();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Deep" }).first().click();
    await footer(/chosen for this task/).waitFor();
  });
});
