import type { Frame } from "playwright-core";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorFixture, openEditorFixture } from "../support/workbench/editor-fixture.ts";

/** A model that another extension offers through the editor, as Copilot does, does a task of Lancelot's. */
describe("the editor's own models", () => {
  let room: EditorFixture;
  let chat: Frame;

  beforeAll(async () => {
    room = await openEditorFixture({
      settings: { "chat.disableAIFeatures": false },
      owners: { "config/models.yaml": "active: editor\n" },
    });
    chat = await openChat(room.workbench);
  });
  afterAll(() => room?.close());

  it("do a task, with calls on the road of tools, under the name the editor gives them", async () => {
    await send(chat, "Count the files");
    await said(chat, "The editor's model saw package.json.").waitFor();
    await chat.locator(".tool-title", { hasText: "List" }).waitFor();
    await chat.locator(".footer", { hasText: "Counter" }).waitFor();
    await room.workbench.shot("60-editor-model");
  });
});
