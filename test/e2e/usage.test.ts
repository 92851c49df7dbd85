import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Frame, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/host/built-host.ts";
import { byWords } from "../support/model-server/script.ts";
import { faults, newTask, openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorFixture, openEditorFixture } from "../support/workbench/editor-fixture.ts";
import type { Workbench } from "../support/workbench/workbench.ts";

/** 4,000 tokens read and 1,000 written at 100 dollars a million: 50 cents an answer. */
const usage = { inputTokens: 4000, outputTokens: 1000 };
const prices = 'updated: 2026-11-22\nprices:\n  - { provider: work, models: ["*"], input: 100, output: 100 }\n';

/** What an answer costs, seen and limited in a real editor. */
describe("usage and cost", () => {
  let fixture: EditorFixture;
  let workbench: Workbench;
  let chat: Frame;
  let warRoom: Frame;
  const cost = (text: RegExp): Locator => chat.getByTestId("open-usage").filter({ hasText: text });
  const model = (): Locator => chat.getByTestId("choose-model");
  const block = (id: string): Locator => warRoom.getByTestId(`usage:${id}`);

  beforeAll(async () => {
    fixture = await openEditorFixture({
      dataFiles: { "config/prices.yaml": prices },
      script: byWords({
        "What is here": [{ text: "A small shop.", usage }],
        "And what else": [{ text: "Its tests.", usage }],
      }),
    });
    ({ workbench } = fixture);
    chat = await openChat(workbench);
  });
  afterAll(() => fixture?.close());

  it("stand with each answer: model, lane and why; the footer has context and cost", async () => {
    await send(chat, "What is here");
    await said(chat, "A small shop.").waitFor();
    const line = chat.locator(".answered").last();
    await line.getByText("test-model · Fast").waitFor();
    expect(await line.getAttribute("title")).toContain("test-model");
    await cost(/\$0\.50.*\$0\.50/).waitFor();
    await model().filter({ hasText: "test-model" }).waitFor();
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("64-cost");
  });

  it("are set out in the War Room, and a cap set there stops the next call", async () => {
    await cost(/\$/).click();
    warRoom = await workbench.view("war-room");
    await block("today").getByText("$0.50").waitFor();
    await block("by-provider").getByText("Our cluster").waitFor();
    await block("by-task").getByRole("button", { name: "What is here" }).waitFor();
    await block("router").locator(".state .codicon-pass").first().waitFor();
    await warRoom.getByTestId("day-cap").fill("one");
    await warRoom.locator('.amount [role="alert"]').waitFor();
    await warRoom.getByTestId("day-cap").fill("0.75");
    await warRoom.getByTestId("save-caps").click();
    await warRoom.getByTestId("caps-saved").getByText("$0.75").waitFor();
    await warRoom.getByTestId("caps-receipt").waitFor();
    expect(readFileSync(join(fixture.data, "config/usage.yaml"), "utf8")).toContain("day_usd: 0.75");
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("65-usage");

    const sent = fixture.server.requests.length;
    await newTask(chat);
    await send(chat, "And what else");
    await said(chat, "Not sent: the next call could cost up to").waitFor();
    await chat.getByRole("log").getByText("Of the cap of $0.75 for today, $0.50 is spent").waitFor();
    expect(fixture.server.requests.length).toBe(sent);
    await cost(/\$0\.50.*\$0\.75/).waitFor();
    await workbench.shot("66-cap");
  });

  it("continue after the cap was raised", async () => {
    const { page } = workbench;
    const input = page.locator(".quick-input-widget input.input");
    await chat.getByTestId("notice:setCaps").click();
    await page.locator(".quick-input-title", { hasText: "(1 of 2)" }).waitFor();
    await input.press("Enter");
    await page.locator(".quick-input-title", { hasText: "(2 of 2)" }).waitFor();
    await until("the cap as it is", async () => (await input.inputValue()) === "0.75");
    await input.fill("20");
    await input.press("Enter");
    await page.locator('.statusbar [id="status.notifications"]').click();
    await page.locator(".notifications-center").getByRole("button", { name: "Resume Task" }).click();
    await said(chat, "Its tests.").waitFor();
    await cost(/\$1\.00.*\$20\.00/).waitFor();
    await block("today").getByText("$1.00 of $20.00").waitFor();
  });

  it("leave the choice of lane or model for one task to the owner", async () => {
    const { page } = workbench;
    await model().click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Automatic" }).waitFor();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Deep" }).first().click();
    await model().locator(".codicon-pinned").waitFor();
  });
});
