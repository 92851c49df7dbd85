import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Frame, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { editorPatienceMs, runCli, sampleWorkspace, until } from "../support/host/built-host.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { Script } from "../support/model-server/turn.ts";
import { edits, said, task, twoFileScript, useModelServer } from "../support/tasks/two-file-change.ts";
import { openWorkbench, type Workbench } from "../support/workbench/workbench.ts";

const workspace = sampleWorkspace();
const data = mkdtempSync(join(tmpdir(), "lancelot-e2e-"));
let server: ModelServer;
let workbench: Workbench;
let chat: Frame;

const read = (path: string) => readFileSync(join(workspace.path, path), "utf8");
const original = { duration: read("src/duration.js"), cart: read("src/cart.js") };
const change = (path: string): Locator => chat.locator(`section.change[data-path="${path}"]`).last();
const hunkButton = (decision: "accept" | "reject", number: number, path: string) => change(path).getByTestId(`${decision}-hunk:${number}`);

async function openChat(): Promise<void> {
  chat = await workbench.view("chat");
  await chat.locator("textarea").waitFor();
}

async function send(text: string): Promise<void> {
  await chat.locator("textarea").fill(text);
  await chat.locator("textarea").press("Enter");
}

/** Keeps the model at a point until a test has seen the state before it. */
const held: { edits: Promise<void> | null; secondHalf: Promise<void> | null } = { edits: null, secondHalf: null };
const script = twoFileScript();
const heldScript: Script = async (request) => {
  const turn = script(request);
  if (turn.toolCalls?.[0]?.name === "edit_file") await held.edits;
  return turn.text === said.proposed && held.secondHalf !== null ? { ...turn, secondHalf: held.secondHalf } : turn;
};

beforeAll(async () => {
  server = await startModelServer({ script: heldScript });
  useModelServer(data, server.url("openai_compatible"));
  workbench = await openWorkbench({ own: true, workspace: workspace.path, settings: { "lancelot.dataFolder": data } });
});
afterAll(async () => {
  await workbench?.close();
  await server?.close();
  workspace[Symbol.dispose]();
  rmSync(data, { recursive: true, force: true, maxRetries: 5 });
});

describe("a task, its review and its undo", () => {
  it("opens the view with an empty state that says what to try", async () => {
    await workbench.page.locator('.activitybar a[aria-label^="Lancelot"]').click();
    await openChat();
    await chat.getByTestId("start-screen").waitFor();
    await workbench.shot("01-empty");
  });

  it("streams text and shows tool cards while it works", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held.secondHalf = promise;
    await send(task);
    await chat.getByText(said.first).first().waitFor();
    await workbench.shot("02-streaming");
    await chat
      .locator("p")
      .filter({ hasText: new RegExp(`^${said.proposed.slice(0, 20)}`) })
      .first()
      .waitFor();
    expect(await chat.getByText(said.proposed).count()).toBe(0);
    held.secondHalf = null;
    resolve();
    await chat.getByText(said.proposed).first().waitFor();
    expect(await chat.locator("details summary .tool-title").allInnerTexts()).toEqual(
      expect.arrayContaining([expect.stringContaining("src/duration.js"), expect.stringContaining("src/cart.js")]),
    );
  });

  it("proposes two files with five hunks, and writes nothing before the review", async () => {
    await change("src/duration.js").waitFor();
    expect(await change("src/duration.js").locator('[data-testid^="accept-hunk:"]').count()).toBe(3);
    expect(await change("src/cart.js").locator('[data-testid^="accept-hunk:"]').count()).toBe(2);
    expect(read("src/duration.js")).toBe(original.duration);
    expect(read("src/cart.js")).toBe(original.cart);
    await workbench.shot("03-proposed");
  });

  it("accepts a hunk in the chat and another in the diff editor, and rejects a third there", async () => {
    await hunkButton("accept", 1, "src/duration.js").click();
    await until("the first hunk is written", () => read("src/duration.js").includes(edits[0].new_text));
    expect(read("src/duration.js")).not.toContain(edits[1].new_text);

    await change("src/duration.js").getByTestId("review-in-editor").click();
    const { page } = workbench;
    await page.locator(".monaco-diff-editor").first().waitFor();
    const lens = (title: string) => page.locator(".monaco-diff-editor .codelens-decoration a", { hasText: title });
    await lens("Accept hunk").first().waitFor();
    await workbench.shot("04-diff-editor");
    // The cursor stands at the first hunk that is left.
    await page.locator(".monaco-diff-editor .modified-in-monaco-diff-editor .view-lines").click({ position: { x: 5, y: 5 } });
    await page.keyboard.press("Alt+]");
    await page.keyboard.press("Alt+Enter");
    await until("the second hunk is written", () => read("src/duration.js").includes(edits[1].new_text));
    await until("one hunk is left to decide", async () => (await lens("Reject hunk").count()) === 1);
    await lens("Reject hunk").click();
    await until("the third hunk is decided", async () => (await hunkButton("reject", 3, "src/duration.js").count()) === 0);
    expect(read("src/duration.js")).toContain(edits[2].old_text);
  });

  it("accepts one and rejects the last in the chat; the model is told, and ends the task", async () => {
    await hunkButton("accept", 1, "src/cart.js").click();
    await until("the comment is written", () => read("src/cart.js").includes(edits[3].new_text));
    await hunkButton("reject", 2, "src/cart.js").click();
    await chat.getByText(said.after).first().waitFor();
    await workbench.shot("05-reviewed");
    const cart = read("src/cart.js");
    expect(cart).toContain(edits[3].new_text);
    expect(cart).toContain("sum >= discountFrom");
    const reported = JSON.stringify(server.requests.at(-1)?.messages.at(-1));
    expect(reported).toMatch(/accepted/i);
    expect(reported).toMatch(/rejected/i);
  });

  it("shows the receipts in the War Room and verifies the ledger", async () => {
    await workbench.command("Lancelot: Open War Room");
    const warRoom = await workbench.view("war-room");
    await warRoom.locator("#tab-receipts").click();
    await warRoom.getByText("edit_file").first().waitFor();
    await warRoom.getByTestId("verify-ledger").click();
    await warRoom.locator(".verify-result.good").waitFor();
    await workbench.shot("06-receipts");
    const verified = await runCli(["receipts", "verify", "--data", data]);
    expect(verified.stdout).toContain("is intact");
  });

  it("undoes the task: both files are as they were", async () => {
    await chat.getByTestId("undo-task").click();
    const dialog = workbench.page.locator(".monaco-dialog-box");
    await dialog.waitFor();
    await workbench.shot("07-undo");
    await dialog.getByRole("button", { name: "Undo Task" }).click();
    const files = () => ({ duration: read("src/duration.js"), cart: read("src/cart.js") });
    await expect.poll(files, { timeout: editorPatienceMs }).toEqual(original);
    // What was accepted is no longer called so.
    await change("src/duration.js").locator(".change-heading .state .codicon-discard").waitFor();
    await chat.locator(".status-line .state .codicon-discard").waitFor();
    expect(await chat.getByTestId("undo-task").count()).toBe(0);
  });
});

describe("interruptions", () => {
  it("loses nothing when the window is reloaded in the middle of a task", async () => {
    await chat.getByTestId("new-task").click();
    const release = await sendUntilEdits(`${task} (reload)`);
    await workbench.page.reload();
    await workbench.page.locator(".monaco-workbench").waitFor();
    await openChat();
    release();
    await workbench.shot("08-reloaded");
    await continueIfInterrupted();
    await change("src/cart.js").waitFor();
    await chat.getByText(said.proposed).last().waitFor();
    expect(await chat.getByText(`${task} (reload)`).count()).toBeGreaterThanOrEqual(1);
    await rejectEverything();
  });

  it("resumes after the host was killed in the middle of a task, and runs nothing twice", async () => {
    await chat.getByTestId("new-task").click();
    const release = await sendUntilEdits(`${task} (kill)`);
    const [pid] = workbench.hostPids();
    expect(pid).toBeDefined();
    process.kill(pid ?? 0, "SIGKILL");
    release();
    await until("another host has started", () => workbench.hostPids().some((other) => other !== pid));
    await resumeButton().waitFor();
    await workbench.shot("09-interrupted");
    await continueIfInterrupted();
    await change("src/cart.js").waitFor();
    await workbench.shot("10-resumed");
    const reported = await runCli(["call", "quests.list", '{"limit":1}', "--workspace", workspace.path, "--data", data]);
    const [quest] = (JSON.parse(reported.stdout) as { items: { id: string; title: string }[] }).items;
    const search = { questId: quest?.id, actionType: "tool_call", status: "success", limit: 100 };
    const done = JSON.parse((await runCli(["call", "receipts.search", JSON.stringify(search), "--data", data])).stdout) as {
      items: { actionName: string }[];
    };
    expect(done.items.map((receipt) => receipt.actionName).toSorted(), quest?.title).toEqual([
      ...edits.map(() => "edit_file"),
      "read_file",
      "read_file",
    ]);
    await rejectEverything();
    expect(read("src/duration.js")).toBe(original.duration);
    const verified = await runCli(["receipts", "verify", "--data", data]);
    expect(verified.stdout).toContain("is intact");
  });

  it("leaves no host behind when the editor is killed", async () => {
    const pids = workbench.hostPids();
    expect(pids.length).toBeGreaterThan(0);
    workbench.kill();
    await until("every host has ended", () => pids.every((pid) => !isAlive(pid)));
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Sends a task whose model has read both files and holds its edits. @returns lets it go on */
async function sendUntilEdits(text: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  held.edits = promise;
  const asked = server.requests.length + 2;
  await send(text);
  await chat.getByText(said.first).first().waitFor();
  await server.requested(asked);
  return () => {
    held.edits = null;
    resolve();
  };
}

const resumeButton = (): Locator => chat.locator('[data-testid="resume"], [data-testid="notice:resume"]').last();

/** Resumes a quest whose host ended. */
async function continueIfInterrupted(): Promise<void> {
  const resume = resumeButton();
  await until(
    "the task goes on or asks to be resumed",
    async () => (await resume.count()) > 0 || (await change("src/cart.js").count()) > 0,
  );
  if ((await resume.count()) > 0) await resume.click();
}

async function rejectEverything(): Promise<void> {
  for (const path of ["src/duration.js", "src/cart.js"]) await change(path).getByTestId("reject-file").click();
  await chat.getByText(said.after).last().waitFor();
}
