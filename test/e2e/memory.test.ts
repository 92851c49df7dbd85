import type { Frame, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/host/built-host.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { faults, newTask, openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorRoom, openEditorRoom } from "../support/workbench/editor-fixture.ts";
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
  let room: EditorRoom;
  let workbench: Workbench;
  let chat: Frame;
  let warRoom: Frame;
  const dialog = (): Locator => workbench.page.locator(".monaco-dialog-box");
  const part = (name: RegExp): Locator => warRoom.getByRole("group", { name: "Parts of memory" }).getByRole("button", { name });
  const ask = async (question: string): Promise<void> => {
    await newTask(chat);
    await send(chat, question);
  };

  beforeAll(async () => {
    room = await openEditorRoom({ script: answer, settings: { "window.autoDetectColorScheme": true } });
    ({ workbench } = room);
    chat = await openChat(workbench);
  });
  afterAll(() => room?.close());

  it("keeps what the owner says at once, and what the model wants in the core waits", async () => {
    await send(chat, `How is the shop put on the server? Remember that our staging server is called ${server}.`);
    await said(chat, "Found, and noted for later.").waitFor();
    await chat
      .getByRole("log")
      .getByText(/Remembered .*kestrel-7/)
      .first()
      .waitFor();
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("memory-1-told");
    await chat.getByRole("button", { name: "Open memory" }).first().click();
    warRoom = await workbench.view("war-room");
    await part(/^Quarantine/)
      .getByText("1")
      .waitFor();
  });

  it("gives a later task what is remembered, and nothing of what waits", async () => {
    await ask("What is the staging server called?");
    await said(chat, `It is called ${server}.`).waitFor();
    await ask("Which script deploys?");
    await said(chat, "I do not know the script.").waitFor();
  });

  it("shows the owner what waits with its reason, and lets it in on their word in the editor's own dialog", async () => {
    await workbench.command("Lancelot: Open Memory");
    await warRoom.getByRole("region", { name: "About you" }).waitFor();
    await workbench.shot("memory-2-core");
    await part(/^Quarantine/).click();
    await warRoom.getByRole("option", { name: /is deployed with/ }).click();
    await warRoom.getByText("Found while the owner asked.").waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("memory-3-quarantine");
    await warRoom.getByRole("listbox").press("p");
    await dialog().getByText(learned).waitFor();
    await workbench.shot("memory-4-promote");
    await dialog().getByRole("button", { name: "Approve" }).click();
    await warRoom.getByText("Nothing waits for you.").waitFor();
    await part(/^Core blocks/).click();
    await warRoom.getByRole("region", { name: "This workspace" }).getByText(learned).first().waitFor();
  });

  it("stands in the next task's prompt then, as the compiled context says", async () => {
    await ask("Which script deploys?");
    await said(chat, `It is ${script}.`).waitFor();
    await part(/^Contexts/).click();
    await warRoom
      .getByRole("option", { name: /Which script deploys\?/ })
      .first()
      .click();
    await warRoom.getByRole("button", { name: new RegExp(`This workspace: .*${script}`) }).waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("memory-5-context");
  });

  it("is gone for the next task once the owner rolls the commit back", async () => {
    await part(/^Core blocks/).click();
    await warRoom.getByRole("region", { name: "This workspace" }).getByRole("button", { name: "History" }).click();
    await warRoom.locator(".history").getByRole("button", { name: "Commit", exact: true }).click();
    await warRoom.locator(".detail .diff-line.added", { hasText: learned }).waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("memory-6-commit");
    await warRoom.getByRole("button", { name: "Roll back…", exact: true }).click();
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
    await part(/^Search/).click();
    await warRoom.getByRole("searchbox", { name: "Search memory" }).fill("staging servers");
    await warRoom.getByRole("listbox", { name: "What is remembered, best match first" }).waitFor();
    const unmatched = warRoom.getByRole("option", { name: /Which script deploys/ });
    await until("what does not fit is gone", async () => (await unmatched.count()) === 0);
    const found = warRoom.getByRole("option", { name: new RegExp(`^our staging server is called ${server}`) });
    await found.first().click();
    await warRoom.getByRole("heading", { name: "History" }).waitFor();
    await workbench.shot("memory-8-search");
    await warRoom.getByRole("button", { name: /^Forget/ }).click();
    await warRoom.getByText("It is no longer remembered.").waitFor();
    await ask("What is the staging server called?");
    await said(chat, "I do not know its name.").waitFor();
    await warRoom.getByRole("button", { name: "Undo" }).click();
    await until("it is remembered again", async () => (await warRoom.getByText("It is no longer remembered.").count()) === 0);
    await ask("What is the staging server called?");
    await said(chat, `It is called ${server}.`).waitFor();
  });

  it("is found from anywhere by the palette, which leads to it in the War Room", async () => {
    await workbench.command("Lancelot: Search Memory");
    const rows = workbench.page.locator(".quick-input-list .monaco-list-row");
    await workbench.page.locator(".quick-input-widget input.input").fill("staging server");
    await until("the best match is first", async () => (await rows.first().innerText()).startsWith("Archive"));
    await workbench.shot("memory-8-palette");
    await workbench.page.keyboard.press("Enter");
    await warRoom.locator(".detail .item-text", { hasText: `our staging server is called ${server}` }).waitFor();
  });

  it("is the owner's to add to, to correct and to set aside, and comes back from there", async () => {
    await part(/^Core blocks/).click();
    const mission = warRoom.getByRole("region", { name: "Mission", exact: true });
    await mission.getByRole("button", { name: /^Add entry/ }).click();
    await mission.getByRole("textbox").fill("The shop sells tea to everybody.");
    await mission.getByRole("button", { name: "Add", exact: true }).click();
    await mission.getByText("The shop sells tea to everybody.").waitFor();
    await mission.getByRole("button", { name: /^Edit/ }).click();
    await mission.getByRole("textbox").fill("The shop sells tea and coffee to everybody.");
    await workbench.shot("memory-9-edit");
    await mission.getByRole("textbox").press("Control+Enter");
    await mission.getByText("The shop sells tea and coffee to everybody.").waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await mission.getByRole("button", { name: /^Set aside/ }).click();
    await mission.getByRole("textbox").fill("Not sure any more.");
    await mission.getByRole("textbox").press("Enter");
    await mission.getByText("Nothing yet.").waitFor();
    await part(/^Quarantine/).click();
    await warRoom.getByRole("option", { name: /tea and coffee/ }).click();
    await warRoom.getByRole("heading", { name: "Put back into Mission" }).waitFor();
    await warRoom.getByRole("button", { name: /^Deny/ }).click();
    await warRoom.getByRole("textbox").press("Enter");
    await warRoom.getByText("Nothing waits for you.").waitFor();
    await warRoom.getByRole("button", { name: "Denied", exact: true }).click();
    await warRoom.getByRole("option", { name: /tea and coffee/ }).click();
    await warRoom.getByRole("button", { name: "Let it in after all…" }).click();
    await dialog().getByRole("button", { name: "Approve" }).click();
    await part(/^Core blocks/).click();
    await mission.getByText("The shop sells tea and coffee to everybody.").waitFor();
  });

  it("looks right where there is little room, in the dark and in high contrast", async () => {
    const { page } = workbench;
    await part(/^Core blocks/).click();
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
