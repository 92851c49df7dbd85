import type { Frame, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/host/built-host.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { faults, newTask, openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorFixture, openEditorFixture } from "../support/workbench/editor-fixture.ts";
import type { Workbench } from "../support/workbench/workbench.ts";

const server = "kestrel-7";
const script = "tools/ship.sh";
const learned = `The shop is deployed with ${script}, which wants the tests to pass first.`;

/** All that a request holds besides what was said in this conversation. */
function promptOf({ system, messages }: SeenRequest): string {
  const said = messages.filter(({ role }) => role !== "user").map(({ text, toolResults }) => `${text} ${JSON.stringify(toolResults)}`);
  return [system, ...messages.filter(({ role }) => role === "user").map(({ text }) => text), ...said].join("\n");
}

/**
 * A model that knows nothing but what it is told: it answers what stands in its prompt, and says so when it does not. In its first task it
 * learns how deployments are made, and wants that to be remembered.
 */
function answer(request: SeenRequest): Turn {
  const asked = request.messages.findLast(({ role, text }) => role === "user" && text.includes("?"))?.text ?? "";
  const prompt = promptOf(request);
  if (asked.includes("How is the shop put on the server?")) {
    if (request.messages.some(({ role }) => role === "tool" || role === "assistant")) return { text: "Found, and noted for later." };
    const args = {
      target: "core:workspace_state",
      content: learned,
      reason: "Found while the owner asked.",
      confidence: 0.9,
      kind: "fact",
    };
    return { text: "I keep what I found.", toolCalls: [{ name: "memory_insert", args: { ...args, provenance: "package.json" } }] };
  }
  if (asked.includes("What is the staging server called?"))
    return { text: prompt.includes(server) ? `It is called ${server}.` : "I do not know its name." };
  if (asked.includes("Which script deploys?")) return { text: prompt.includes(script) ? `It is ${script}.` : "I do not know the script." };
  return { text: "I have no words for this." };
}

/** What one task learns, a later one uses, and the owner takes back: seen in a real editor. */
describe("memory", () => {
  let fixture: EditorFixture;
  let workbench: Workbench;
  let chat: Frame;
  let warRoom: Frame;
  const dialog = (): Locator => workbench.page.locator(".monaco-dialog-box");
  const section = (id: string): Locator => warRoom.getByTestId(`section:${id}`);
  const block = (id: string): Locator => warRoom.getByTestId(`block:${id}`);
  const ask = async (question: string): Promise<void> => {
    await newTask(chat);
    await send(chat, question);
  };

  beforeAll(async () => {
    fixture = await openEditorFixture({ script: answer, settings: { "window.autoDetectColorScheme": true } });
    ({ workbench } = fixture);
    chat = await openChat(workbench);
  });
  afterAll(() => fixture?.close());

  it("keeps what the owner says at once, and the model's core edits wait for approval", async () => {
    await send(chat, `How is the shop put on the server? Remember that our staging server is called ${server}.`);
    await said(chat, "Found, and noted for later.").waitFor();
    await chat
      .getByRole("log")
      .getByText(/Remembered .*kestrel-7/)
      .first()
      .waitFor();
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("memory-1-told");
    await chat.getByTestId("notice:openMemory").first().click();
    warRoom = await workbench.view("war-room");
    await section("quarantine").getByText("1").waitFor();
  });

  it("gives a later task what is remembered, and nothing of what waits", async () => {
    await ask("What is the staging server called?");
    await said(chat, `It is called ${server}.`).waitFor();
    await ask("Which script deploys?");
    await said(chat, "I do not know the script.").waitFor();
  });

  it("shows the owner what waits with its reason, and lets it in on their word in the editor's own dialog", async () => {
    await workbench.command("Lancelot: Open Memory");
    await block("human").waitFor();
    await workbench.shot("memory-2-core");
    await section("quarantine").click();
    await warRoom.getByRole("option", { name: /is deployed with/ }).click();
    await warRoom.getByText("Found while the owner asked.").waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("memory-3-quarantine");
    await warRoom.getByRole("listbox").press("a");
    await dialog().getByText(learned).waitFor();
    await workbench.shot("memory-4-promote");
    await dialog().getByRole("button", { name: "Approve" }).click();
    await warRoom.getByTestId("placeholder:shield").waitFor();
    await section("core").click();
    await block("workspace_state").getByText(learned).first().waitFor();
  });

  it("stands in the next task's prompt then, as the compiled context says", async () => {
    await ask("Which script deploys?");
    await said(chat, `It is ${script}.`).waitFor();
    await section("contexts").click();
    await warRoom
      .getByRole("option", { name: /Which script deploys\?/ })
      .first()
      .click();
    await warRoom.locator('[data-testid^="item:"]', { hasText: script }).first().waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("memory-5-context");
  });

  it("is gone for the next task once the owner rolls the commit back", async () => {
    await section("core").click();
    await block("workspace_state").locator('[data-testid^="history:"]').click();
    await warRoom.locator('.history [data-testid^="commit:"]').click();
    await warRoom.locator(".detail .diff-line.added", { hasText: learned }).waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("memory-6-commit");
    await warRoom.getByTestId("roll-back-commit").click();
    const input = workbench.page.locator(".quick-input-widget input.input");
    await input.fill("The script was renamed.");
    await input.press("Enter");
    await dialog().getByRole("button", { name: "Roll Back" }).click();
    await warRoom.getByRole("option", { name: /The script was renamed\./ }).waitFor();
    await workbench.shot("memory-7-rolled-back");
    await ask("Which script deploys?");
    await said(chat, "I do not know the script.").waitFor();
    await ask("What is the staging server called?");
    await said(chat, `It is called ${server}.`).waitFor();
  });

  it("is found by its words, forgotten in place, and brought back by Undo", async () => {
    await section("search").click();
    await warRoom.getByTestId("search-memory").fill("staging servers");
    await warRoom.getByRole("listbox").waitFor();
    const unmatched = warRoom.getByRole("option", { name: /Which script deploys/ });
    await until("what does not fit is gone", async () => (await unmatched.count()) === 0);
    const found = warRoom.getByRole("option", { name: new RegExp(`^our staging server is called ${server}`) });
    await found.first().click();
    await warRoom.locator(".detail .history").waitFor();
    await workbench.shot("memory-8-search");
    await warRoom.locator('[data-testid^="forget:"]').click();
    await warRoom.getByTestId("deleted-item").waitFor();
    await ask("What is the staging server called?");
    await said(chat, "I do not know its name.").waitFor();
    await warRoom.getByTestId("undo-memory").click();
    await until("it is remembered again", async () => (await warRoom.getByTestId("deleted-item").count()) === 0);
    await ask("What is the staging server called?");
    await said(chat, `It is called ${server}.`).waitFor();
  });

  it("is found from anywhere by the palette, which leads to it in the War Room", async () => {
    const best = workbench.page.locator(".quick-input-list .monaco-list-row").first().filter({ hasText: "Archive" });
    // The list closes when something else takes the focus, as it does for a person: then it is opened again.
    await until("the best match is first", async () => {
      await workbench.command("Lancelot: Search Memory");
      try {
        await workbench.page.locator(".quick-input-widget input.input").fill("staging server", { timeout: 10_000 });
        await best.waitFor({ timeout: 10_000 });
        return true;
      } catch {
        return false;
      }
    });
    await workbench.shot("memory-8-palette");
    await workbench.page.keyboard.press("Enter");
    await warRoom.locator(".detail .item-text", { hasText: `our staging server is called ${server}` }).waitFor();
  });

  it("can be added, edited, quarantined and approved again by the owner", async () => {
    await section("core").click();
    const mission = block("mission");
    await mission.getByTestId("add-entry:mission").click();
    await mission.getByRole("textbox").fill("The shop sells tea to everybody.");
    await mission.getByTestId("new-entry-submit").click();
    await mission.getByText("The shop sells tea to everybody.").waitFor();
    await mission.locator('[data-testid^="edit:"]').click();
    await mission.getByRole("textbox").fill("The shop sells tea and coffee to everybody.");
    await workbench.shot("memory-9-edit");
    await mission.getByRole("textbox").press("Control+Enter");
    await mission.getByText("The shop sells tea and coffee to everybody.").waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await mission.locator('[data-testid^="quarantine:"]').click();
    await mission.getByRole("textbox").fill("Not sure any more.");
    await mission.getByRole("textbox").press("Enter");
    await mission.getByTestId("empty-block").waitFor();
    await section("quarantine").click();
    await warRoom.getByRole("option", { name: /tea and coffee/ }).click();
    await warRoom.getByTestId("reject-entry").click();
    await warRoom.getByRole("textbox").press("Enter");
    await warRoom.getByTestId("placeholder:shield").waitFor();
    await warRoom.getByTestId("status:denied").click();
    await warRoom.getByRole("option", { name: /tea and coffee/ }).click();
    await warRoom.getByTestId("approve-entry").click();
    await dialog().getByRole("button", { name: "Approve" }).click();
    await section("core").click();
    await mission.getByText("The shop sells tea and coffee to everybody.").waitFor();
  });

  it("looks right where there is little room, in the dark and in high contrast", async () => {
    const { page } = workbench;
    await section("core").click();
    await page.setViewportSize({ width: 760, height: 900 });
    await workbench.shot("memory-10-narrow");
    const wide = await warRoom.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(wide).toBe(0);
    await page.setViewportSize({ width: 1400, height: 900 });
    for (const [media, look, name] of [
      [{ colorScheme: "dark" }, "vscode-dark", "dark"],
      [{ forcedColors: "active" }, "vscode-high-contrast", "contrast"],
    ] as const) {
      await page.emulateMedia(media);
      await warRoom.locator(`body.${look}`).waitFor();
      expect(await faults(warRoom)).toEqual([]);
      await workbench.shot(`memory-11-${name}`);
    }
  });
});
