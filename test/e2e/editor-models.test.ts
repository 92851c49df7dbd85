import type { Frame } from "playwright-core";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorFixture, openEditorFixture } from "../support/workbench/editor-fixture.ts";

/** A model that another extension offers through the editor, as Copilot does, does a task of Lancelot's, also from the editor's chat. */
describe("the editor's own models", () => {
  let fixture: EditorFixture;
  let chat: Frame;

  beforeAll(async () => {
    fixture = await openEditorFixture({
      settings: { "chat.disableAIFeatures": false },
      dataFiles: { "config/models.yaml": "active: editor\n" },
    });
    chat = await openChat(fixture.workbench);
  });
  afterAll(() => fixture?.close());

  it("do a task, with calls through the execution pipeline, under the name the editor gives them", async () => {
    await send(chat, "Count the files");
    await said(chat, "The editor's model saw package.json.").waitFor();
    await chat.locator(".tool-title", { hasText: "List" }).waitFor();
    await chat.locator(".footer", { hasText: "Counter" }).waitFor();
    await fixture.workbench.shot("60-editor-model");
  });

  it("answer in the editor's own chat when the user writes to @lancelot", async () => {
    const { page } = fixture.workbench;
    await fixture.workbench.command("Chat: Open Chat");
    const input = page.locator(".interactive-input-part .monaco-editor").first();
    await input.waitFor();
    await input.click();
    await page.keyboard.type("@lancelot Count the files ");
    await page.locator(".interactive-input-part .view-lines", { hasText: "Count the files" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.locator(".interactive-response", { hasText: "The editor's model saw package.json." }).first().waitFor();
    await fixture.workbench.shot("61-participant");
    // The window is shared with other files.
    await page.keyboard.press("Control+Alt+B");
    await page.locator(".part.auxiliarybar").waitFor({ state: "hidden" });
  });
});
