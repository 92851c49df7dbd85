import type { Frame, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/host/built-host.ts";
import { byWords } from "../support/model-server/script.ts";
import type { Turn } from "../support/model-server/turn.ts";
import { edits } from "../support/tasks/two-file-change.ts";
import { faults, newTask, openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorFixture, openEditorFixture } from "../support/workbench/editor-fixture.ts";

const editing = (args: (typeof edits)[number]): Turn => ({ text: "I change it.", toolCalls: [{ name: "edit_file", args }] });

/** The mode of the composer, and restoring what it applied, in a real editor. */
describe("the mode beside the message field", () => {
  let fixture: EditorFixture;
  let chat: Frame;
  const mode = (): Locator => chat.getByTestId("mode");
  const isMode = (value: string) => until(`the mode is ${value}`, async () => (await mode().inputValue()) === value);

  beforeAll(async () => {
    fixture = await openEditorFixture({
      script: byWords({
        "Fix the minutes": [editing(edits[1]), { text: "The minutes are right." }],
        "Change the comma": [editing(edits[2]), { text: "The comma is there." }],
        "Change the comment": [editing(edits[3]), { text: "The comment is proposed." }],
      }),
    });
    chat = await openChat(fixture.workbench);
  });
  afterAll(() => fixture?.close());

  it("applies edits in Auto-apply, chosen by the keyboard, for this task alone", async () => {
    await isMode("review");
    await chat.locator("textarea").press("Control+.");
    await isMode("auto");
    await send(chat, "Fix the minutes");
    await said(chat, "The minutes are right.").waitFor();
    expect(fixture.read("src/duration.js")).toContain(edits[1].new_text);
    await isMode("auto");
    expect(await faults(chat)).toEqual([]);
    await fixture.workbench.shot("70-auto-apply");
  });

  it("restores the files to a message of the task, after a look at what changes, and takes it back", async () => {
    const { page } = fixture.workbench;
    const first = fixture.read("src/duration.js");
    await send(chat, "Change the comma");
    await said(chat, "The comma is there.").waitFor();
    const second = fixture.read("src/duration.js");
    expect(second).toContain(edits[2].new_text);
    await chat.getByTestId("restore-to-message").last().click();
    const dialog = page.locator(".monaco-dialog-box");
    await dialog.getByText("src/duration.js").waitFor();
    await fixture.workbench.shot("71-restore");
    await dialog.getByRole("button", { name: "Restore Files" }).click();
    await until("the file is as before the message", () => fixture.read("src/duration.js") === first);
    await fixture.workbench.command("Notifications: Show Notifications");
    await page.locator(".notifications-center").getByRole("button", { name: "Redo" }).click();
    await until("the file is as after the message", () => fixture.read("src/duration.js") === second);
  });

  it("proposes edits again in the next task", async () => {
    await newTask(chat);
    await isMode("review");
    const before = fixture.read("src/cart.js");
    await send(chat, "Change the comment");
    await said(chat, "The comment is proposed.").waitFor();
    await chat.locator('section.change[data-path="src/cart.js"]').last().waitFor();
    expect(fixture.read("src/cart.js")).toBe(before);
  });
});
