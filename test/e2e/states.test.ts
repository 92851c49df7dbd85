import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Frame } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/host/built-host.ts";
import { byWords } from "../support/model-server/script.ts";
import type { ModelServer } from "../support/model-server/server.ts";
import type { Turn } from "../support/model-server/turn.ts";
import { faults, newTask, openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorFixture, openEditorFixture } from "../support/workbench/editor-fixture.ts";
import type { Workbench } from "../support/workbench/workbench.ts";

function call(name: string, args: unknown): Turn {
  return { text: "Working on it.", toolCalls: [{ name, args }] };
}

describe("without a key and a local model", () => {
  let fixture: EditorFixture;
  let workbench: Workbench;
  let chat: Frame;

  beforeAll(async () => {
    fixture = await openEditorFixture({});
    ({ workbench } = fixture);
    chat = await openChat(workbench);
  });
  afterAll(() => fixture?.close());

  it("says so, and offers a model, a key, and the local model with its size", async () => {
    await chat.locator(".no-model").waitFor();
    await chat.locator(".local-model", { hasText: /\d [GM]B/ }).waitFor();
    await chat.getByTestId("download-local-model").waitFor();
    const quickPick = workbench.page.locator(".quick-input-widget");
    for (const [button, row] of [
      ["choose-model", "Set API Key for Anthropic"],
      ["set-api-key", "ANTHROPIC_API_KEY"],
    ] as const) {
      await chat.locator(".no-model").getByTestId(button).click();
      await quickPick.getByText(row).first().waitFor();
      await workbench.page.keyboard.press("Escape");
      await quickPick.waitFor({ state: "hidden" });
    }
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("20-no-model");
  });

  it("keeps a message that was sent all the same", async () => {
    await send(chat, "Fix the duration test.");
    await chat.getByTestId("notice:chooseModel").first().waitFor();
    await said(chat, "Fix the duration test.").waitFor();
    await chat.locator('[data-testid="resume"], [data-testid="notice:resume"]').first().waitFor();
  });

  it("names file and line of a broken models.yaml, and sends nothing", async () => {
    mkdirSync(join(fixture.data, "config"), { recursive: true });
    writeFileSync(join(fixture.data, "config/models.yaml"), 'version: "1.0"\nproviders:\n  work:\n    kind: openai_compatibel\n');
    await newTask(chat);
    await send(chat, "Explain the cart.");
    await said(chat, "config/models.yaml in the data folder, line 4").waitFor();
    await said(chat, "nothing is sent to a model").waitFor();
    await workbench.shot("21-broken-config");
  });
});

describe("with a model", () => {
  const remove = call("delete_file", { path: "src/cart.js" });
  const minutes = { old_text: "const minutes = Math.floor(seconds / 60);", new_text: "const minutes = Math.floor((seconds % 3600) / 60);" };
  const edit = (path: string, change: { old_text: string; new_text: string }) => ({ name: "edit_file", args: { path, ...change } });
  let fixture: EditorFixture;
  let server: ModelServer;
  let workbench: Workbench;
  let chat: Frame;
  const cart = () => join(fixture.workspace, "src/cart.js");
  const card = () => chat.locator("section.approval");
  const reported = () => JSON.stringify(server.requests.at(-1)?.messages.at(-1)?.toolResults);

  beforeAll(async () => {
    fixture = await openEditorFixture({
      files: { ".env": "TOKEN=1234\n" },
      // A browser's workbench saves by itself after a second, unless told otherwise; a busy machine takes longer than that.
      settings: { "files.autoSave": "off" },
      script: byWords({
        "Delete the cart": [remove, { text: "It is gone." }],
        "Delete it unseen": [{ ...remove, delayMs: 200 }, { text: "It stays." }],
        "Say no": [remove, { text: "I leave it." }],
        "Read the secrets": [call("read_file", { path: ".env" }), { text: "I may not read them." }],
        "Too many": [{ fault: "http529", retryAfter: 2, text: "Answered after all." }],
        "Wrong key": [{ fault: "http401" }],
        "Stay silent": [{ fault: "hang" }],
        "Take your time": [{ ...call("list_files", {}), delayMs: 150 }, { text: "I heard you." }],
        "What do I see?": [{ text: "You see the duration.\n\n## Risks\n\n- Leap seconds are not counted." }],
        "Ask me": [call("ask_owner", { question: "Which colour?", options: ["Red", "Blue"] }), { text: "So be it." }],
        "Two hunks": [
          {
            text: "Two hunks.",
            toolCalls: [
              edit("src/duration.js", minutes),
              edit("src/duration.js", { old_text: '  return parts.join(" ");', new_text: '  return parts.join(", ");' }),
            ],
          },
          { text: "Proposed." },
          { text: "Understood." },
        ],
      }),
    });
    ({ server, workbench } = fixture);
    chat = await openChat(workbench);
  });
  afterAll(() => fixture?.close());

  it("asks before a file is deleted; a key allows it, and Redo reverts the undo", async () => {
    const { page } = workbench;
    await send(chat, "Delete the cart");
    await card().waitFor();
    await chat.locator(".status-line .codicon-shield").waitFor();
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("22-approval");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Shift+Tab");
    expect(await card().evaluate((element) => element.contains(element.ownerDocument.activeElement))).toBe(true);
    // The card takes no keys at first: pressed until it does.
    await until("the key was taken", async () => {
      if ((await card().count()) > 0) await page.keyboard.press("a");
      return !existsSync(cart());
    });
    await said(chat, "It is gone.").waitFor();

    await chat.getByTestId("undo-task").click();
    await page.locator(".monaco-dialog-box").getByRole("button", { name: "Undo Task" }).click();
    await until("the file is back", () => existsSync(cart()));
    await openNotifications();
    await page.locator(".notifications-center").getByRole("button", { name: "Redo" }).click();
    await until("the file is gone again", () => !existsSync(cart()));
    await chat.getByTestId("undo-task").click();
    await page.locator(".monaco-dialog-box").getByRole("button", { name: "Undo Task" }).click();
    await until("the file is back", () => existsSync(cart()));
  });

  it("takes a reason typed right after D for a reason, and tells the model", async () => {
    await newTask(chat);
    await send(chat, "Say no");
    await card().waitFor();
    await card().focus();
    await until("the card takes keys", async () => {
      await workbench.page.keyboard.press("d");
      return (await card().locator("input").count()) > 0;
    });
    await workbench.page.keyboard.type("that would break the tests");
    await workbench.page.keyboard.press("Enter");
    await said(chat, "I leave it.").waitFor();
    expect(reported()).toContain("that would break the tests");
    expect(existsSync(cart())).toBe(true);
  });

  it("asks by a notification while the chat is hidden", async () => {
    const { page } = workbench;
    await newTask(chat);
    await send(chat, "Delete it unseen");
    await page.locator('.activitybar a[aria-label^="Explorer"]').click();
    const waiting = page.locator('.statusbar .statusbar-item[id$="lancelot.approvals"]');
    await waiting.waitFor();
    await openNotifications();
    await page.locator(".notifications-center").getByText("(T3): Delete src/cart.js").waitFor();
    await page.locator(".notifications-center").getByRole("button", { name: "Review…" }).click();
    await page.locator(".monaco-dialog-box").getByRole("button", { name: "Deny…" }).click();
    await page.locator(".quick-input-widget input.input").waitFor();
    await page.keyboard.press("Enter");
    await page.locator('.activitybar a[aria-label^="Lancelot"]').click();
    await said(chat, "It stays.").waitFor();
    await waiting.waitFor({ state: "detached" });
  });

  it("never reads a secret file, and tells the model why", async () => {
    await newTask(chat);
    await send(chat, "Read the secrets");
    await said(chat, "I may not read them.").waitFor();
    expect(reported()).toContain("Environment files contain keys and passwords");
    expect(JSON.stringify(server.requests)).not.toContain("TOKEN=1234");
  });

  it("words what a provider refuses, tries an overloaded one again, and stops one that hangs at once", async () => {
    await newTask(chat);
    await send(chat, "Wrong key");
    await said(chat, "Our cluster requires an API key").waitFor();
    await newTask(chat);
    await send(chat, "Too many");
    await said(chat, "Our cluster is overloaded (529). Retrying").waitFor();
    await said(chat, "Answered after all.").waitFor();
    await newTask(chat);
    const { closedByClient } = server;
    const asked = server.requests.length;
    await send(chat, "Stay silent");
    await server.requested(asked + 1);
    await chat.getByTestId("stop").first().click();
    await server.closed(closedByClient + 1);
    await said(chat, "You stopped this task.").waitFor();
  });

  it("takes words while it runs, an edited message, and an answer to its question", async () => {
    await newTask(chat);
    await send(chat, "Take your time");
    await said(chat, "Work").waitFor();
    await send(chat, "And mind the commas");
    await said(chat, "I heard you.").waitFor();
    expect(server.requests.at(-1)?.messages.at(-1)?.text).toContain("And mind the commas");
    // What is still running cannot be replaced: its end is shown by the button that goes.
    await until("the task has ended", async () => (await chat.getByTestId("stop").count()) === 0);
    await chat.getByTestId("edit-and-resend").first().click();
    // At once: the click leaves the composer with the message to be edited, its caret at the end.
    await send(chat, "Ask me");
    await chat.getByTestId("option:Blue").click();
    await said(chat, "So be it.").waitFor();
    expect(reported()).toContain("Blue");
  });

  it("completes files and commands, and recalls what was said, by the keyboard", async () => {
    const { keyboard } = workbench.page;
    const field = chat.locator("textarea");
    const list = chat.getByRole("listbox");
    const holds = (text: string) => until(`the field holds “${text}”`, async () => (await field.inputValue()).trim() === text);
    await newTask(chat);
    await field.focus();
    await keyboard.type("See @dur");
    // As a person does: the list is the one for these letters, and the file that is taken is the one that is marked.
    await until("two files fit", async () => (await list.getByRole("option").count()) === 2);
    await keyboard.press("ArrowDown");
    await list.getByRole("option", { name: /duration\.test\.js/, selected: true }).waitFor();
    await keyboard.press("Tab");
    await holds("See @test/duration.test.js");
    await field.fill("");
    await keyboard.type("/ex");
    await list.getByRole("option", { name: /explain/ }).waitFor();
    await keyboard.press("Enter");
    await holds("/explain");
    await field.fill("");
    await keyboard.press("ArrowUp");
    await holds("Ask me");
    await field.fill("");
  });

  it("keeps unsaved edits, and shows as a conflict what does not go with them", async () => {
    const { page } = workbench;
    await newTask(chat);
    await send(chat, "Two hunks");
    await said(chat, "Proposed.").waitFor();
    await page.keyboard.press("Control+P");
    await page.locator(".quick-input-widget input.input").fill("src/duration.js");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "duration.js" }).first().waitFor();
    await page.keyboard.press("Enter");
    const line = page.locator(".editor-instance .view-line", { hasText: "const minutes" });
    await line.first().click();
    await page.keyboard.press("Home");
    await page.keyboard.type("// mine: ");
    const change = chat.locator('section.change[data-path="src/duration.js"]');
    await change.getByTestId("accept-hunk:2").click();
    await page.locator(".editor-instance .view-line", { hasText: 'join(", ")' }).waitFor();
    await change.getByTestId("accept-hunk:1").click();
    await change.getByText("does not merge with your own edits").waitFor();
    await workbench.shot("23-conflict");
    expect((await line.innerText()).replaceAll("\u00a0", " ")).toContain("// mine:");
    expect(fixture.read("src/duration.js")).not.toContain("mine");
    await change.getByTestId("reject-hunk:1").click();
    await said(chat, "Understood.").waitFor();
  });

  it("tells the model what is open and selected, and keeps long parts of its answer in the War Room", async () => {
    const { page } = workbench;
    await page.locator(".editor-instance .view-line", { hasText: "const minutes" }).first().click();
    await page.keyboard.press("End");
    await page.keyboard.press("Shift+Home");
    await newTask(chat);
    await send(chat, "What do I see?");
    await said(chat, "You see the duration.").waitFor();
    const sent = server.requests.at(-1)?.messages.at(-1)?.text ?? "";
    expect(sent).toContain('"src/duration.js" (active)');
    expect(sent).toContain("const minutes");
    await chat.getByTestId("open-artifacts").click();
    const warRoom = await workbench.view("war-room");
    await warRoom.getByTestId("artifact-text").getByText("Leap seconds").waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("24-artifact");
  });

  it("finds, renames and deletes tasks", async () => {
    await chat.getByTestId("toggle-task-list").click();
    await chat.getByTestId("search-tasks").fill("unseen");
    await until("one task is found", async () => (await chat.locator(".quest-list > li").count()) === 1);
    await chat.locator('[data-testid^="rename:"]').press("Enter");
    await chat.getByTestId("task-title").fill("Unseen deletion");
    await workbench.page.keyboard.press("Enter");
    await chat.locator(".quest-title", { hasText: "Unseen deletion" }).waitFor();
    expect(await faults(chat)).toEqual([]);
    await chat.locator('[data-testid^="delete:"]').press("Enter");
    await chat.getByTestId("confirm-delete").click();
    await until("it is gone", async () => (await chat.locator(".quest-list > li").count()) === 0);
    await chat.getByTestId("toggle-task-list").click();
  });

  it("keeps the draft over a reload of the window", async () => {
    await chat.locator("textarea").fill("A draft that stays");
    const loaded = workbench.page.waitForEvent("load");
    await workbench.command("Developer: Reload Window");
    await loaded;
    // The editor may draw the view more than once while it starts.
    await until("the draft is back", async () => {
      for (const frame of workbench.page.frames()) {
        const field = frame.locator('body[data-view="chat"] textarea');
        if ((await field.inputValue({ timeout: 500 }).catch(() => "")) !== "A draft that stays") continue;
        chat = frame;
        return true;
      }
      return false;
    });
  });

  async function openNotifications(): Promise<void> {
    const center = workbench.page.locator(".notifications-center.visible");
    if ((await center.count()) === 0) await workbench.page.locator('.statusbar [id="status.notifications"]').click();
    await center.waitFor();
  }
});
