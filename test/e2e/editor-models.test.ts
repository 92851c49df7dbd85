import type { Frame } from "playwright-core";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorFixture, openEditorFixture } from "../support/workbench/editor-fixture.ts";

/** A model that another extension offers through the editor, as Copilot does, does a task of Lancelot's. */
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
});
