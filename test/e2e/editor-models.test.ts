import type { Frame } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorRoom, openEditorRoom } from "../support/workbench/editor-room.ts";
import { modelExtension } from "../support/workbench/model-extension.ts";

/** A model that another extension offers through the editor, as Copilot does, does a task of Lancelot's. */
describe("the editor's own models", () => {
  let room: EditorRoom;
  let chat: Frame;

  beforeAll(async () => {
    room = await openEditorRoom({
      extensions: [await modelExtension()],
      settings: { "chat.disableAIFeatures": false },
      owners: { "config/models.yaml": "active: editor\n" },
    });
    chat = await openChat(room.workbench);
  });
  afterAll(() => room?.close());

  it("answer after the editor asked the owner, make calls through the road of tools, and are refused without consent", async () => {
    const { page } = room.workbench;
    const consent = page.locator(".monaco-dialog-box");
    await send(chat, "Count the files");
    await consent.waitFor().catch(async () => room.workbench.shot("60-none"));
    expect(await consent.innerText()).toContain("language model");
    await room.workbench.shot("60-editor-model-consent");
    await consent.getByRole("button", { name: "Allow" }).click();
    await said(chat, "The editor's model saw package.json.").waitFor();
    await chat.locator(".tool-title", { hasText: "List" }).waitFor();
    await room.workbench.shot("61-editor-model");
  });
});
