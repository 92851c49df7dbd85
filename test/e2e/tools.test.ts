// @module-tag sandbox
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Frame, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/host/built-host.ts";
import { byWords } from "../support/model-server/script.ts";
import type { Turn } from "../support/model-server/turn.ts";
import { edits } from "../support/tasks/two-file-change.ts";
import { faults, newTask, openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorFixture, openEditorFixture } from "../support/workbench/editor-fixture.ts";
import type { Workbench } from "../support/workbench/workbench.ts";

const run = (command: string): Turn => ({ text: "I run it.", toolCalls: [{ name: "run_command", args: { command } }] });
const writing = "echo '// more' >> src/cart.js && mkdir -p made && echo new > made/new.txt && printf '\\033[32mwritten\\033[0m\\n'";
/** Changes five places of one file, as a lint fixer does. */
const fixer = "sed -i -E 's/^line (0|10|20|30|38)$/LINE \\1/' lines.txt";
/** Prints until it is stopped. */
const endless = "for i in $(seq 1 100000); do echo tick $i; sleep 0.05; done";
/** Answers with a page until it is stopped. */
const page = "<title>Served</title><h1>From the task</h1>";
const server = `node -e 'require("http").createServer((_, answer) => { console.log("asked"); answer.setHeader("content-type", "text/html"); answer.end("${page}"); }).listen(4321, "127.0.0.1", () => console.log("listens"))'`;

/** Commands in a real sandbox, seen and handled in a real editor. Engines have tests of their own; here the system's sandbox runs them. */
describe("commands", () => {
  let fixture: EditorFixture;
  let workbench: Workbench;
  let chat: Frame;
  const card = (title: string): Locator => chat.locator(".tool", { has: chat.locator(".tool-title", { hasText: title }) }).last();

  beforeAll(async () => {
    fixture = await openEditorFixture({
      // Then a terminal's lines are in the page, to be read.
      settings: { "terminal.integrated.gpuAcceleration": "off" },
      dataFiles: { "config/sandbox.yaml": "version: 1\nengine: unix:///nonexistent/docker.sock\n" },
      script: byWords({
        "Run the tests": [run("node --test"), { text: "One test fails." }],
        "Write by a command": [run(writing), { text: "It is written." }],
        "Fix the duration": [
          { text: "I fix it.", toolCalls: [{ name: "edit_file", args: edits[1] }] },
          run("node --test"),
          { text: "The tests pass with the fix." },
        ],
        "Fix the style": [run(fixer), { text: "The style is fixed." }],
        "Serve the page": [
          { text: "I start it.", toolCalls: [{ name: "run_command", args: { command: server, background: true } }] },
          { text: "It is running." },
        ],
        "Go on and on": [run(endless), { text: "It ended." }],
      }),
    });
    ({ workbench } = fixture);
    chat = await openChat(workbench);
  });
  afterAll(() => fixture?.close());

  it("run in the sandbox, print into their card, and say how they ended", async () => {
    await send(chat, "Run the tests");
    await said(chat, "One test fails.").waitFor();
    const tests = card("Run node --test");
    await tests.locator(".command-end .verdict-deny", { hasText: "1" }).waitFor();
    await tests.locator("summary").click();
    await tests.locator(".command-facts .codicon-vm").waitFor();
    await tests.locator(".command-facts .codicon-circle-slash").waitFor();
    await tests.getByTestId("show-all-lines").click();
    await tests.locator(".terminal-line", { hasText: "duration" }).first().waitFor();
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("40-command");
  });

  it("lead to the place in a file that their output names", async () => {
    const { page } = workbench;
    const tests = card("Run node --test");
    const lines = tests.locator(".terminal-lines.all");
    const link = lines.getByRole("button", { name: /duration\.(test\.)?js:\d+:\d+/ }).first();
    // The list holds the lines in sight alone: scrolled as a person does until the link comes.
    await until("a link to the test", async () => {
      if ((await link.count()) > 0) return true;
      await lines.evaluate((element) => element.scrollBy(0, 300));
      return false;
    });
    const line = /:(\d+):\d+/.exec(await link.innerText())?.[1];
    await link.click();
    await page.locator(".tab.active", { hasText: /duration\.(test\.)?js/ }).waitFor();
    await page.locator(".statusbar").getByText(`Ln ${line}, Col`).waitFor();
  });

  it("propose what they change: nothing is in the workspace before the review, and a part can be accepted", async () => {
    const before = fixture.read("src/cart.js");
    await newTask(chat);
    await send(chat, "Write by a command");
    await said(chat, "It is written.").waitFor();
    expect(await chat.locator("section.approval").count()).toBe(0);
    const changed = chat.locator('section.change[data-path="src/cart.js"]').last();
    await changed.locator(".change-origin").waitFor();
    await chat.locator('section.change[data-path="made/new.txt"]').last().waitFor();
    expect([fixture.read("src/cart.js"), existsSync(join(fixture.workspace, "made"))]).toEqual([before, false]);
    await card("Run echo").locator("summary").click();
    await card("Run echo").getByTestId("containment:transactional").waitFor();
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("41-command-proposed");
    await chat.locator('section.change[data-path="made/new.txt"]').last().getByTestId("accept-file").click();
    await until("the new file is there", () => existsSync(join(fixture.workspace, "made/new.txt")));
    await changed.getByTestId("reject-file").click();
    await chat.locator(".status-line .state .codicon-check").waitFor();
    expect(fixture.read("src/cart.js")).toBe(before);
    await card("Run echo").locator("summary").click();
  });

  it("open in a terminal with their output, typed and not run", async () => {
    const { page } = workbench;
    await card("Run echo").locator("summary").click();
    await card("Run echo").getByTestId("open-in-terminal").click();
    const rows = page.locator(".terminal-wrapper.active .xterm-rows");
    await rows.getByText("written", { exact: false }).first().waitFor();
    await until("the command is typed", async () => (await rows.innerText()).replaceAll("\u00a0", " ").includes("echo '// more'"));
    await workbench.shot("43-command-terminal");
    expect(fixture.read("src/cart.js")).not.toContain("more");
    await workbench.command("Terminal: Kill All Terminals");
  });

  it("in the background show their output, are previewed and stopped", async () => {
    const { page: window } = workbench;
    await newTask(chat);
    await send(chat, "Serve the page");
    await said(chat, "It is running.").waitFor();
    const serving = card("Run node -e");
    await serving.getByTestId("background-state").locator(".verdict-allow").waitFor();
    await serving.getByTestId("preview:4321").click();
    const isShown = async (): Promise<boolean> => {
      const shown = await Promise.all(window.frames().map((frame) => frame.getByRole("heading", { name: "From the task" }).count()));
      return shown.some((count) => count > 0);
    };
    await until("the page is shown", () => isShown().catch(() => false));
    await serving.locator(".terminal-line", { hasText: "asked" }).first().waitFor();
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("42-command-background");
    await serving.getByTestId("stop-background").click();
    await serving.getByTestId("background-actions").waitFor({ state: "detached" });
    expect(await serving.getByTestId("background-state").locator(".verdict-allow").count()).toBe(0);
  });

  it("test a proposed edit before the review; its card says so while the workspace is unchanged", async () => {
    const before = fixture.read("src/duration.js");
    await newTask(chat);
    await send(chat, "Fix the duration");
    await said(chat, "The tests pass with the fix.").waitFor();
    const changed = chat.locator('section.change[data-path="src/duration.js"]').last();
    await changed.getByTestId("evidence:passed").waitFor();
    expect(fixture.read("src/duration.js")).toBe(before);
    expect(await faults(chat)).toEqual([]);
    await workbench.shot("42-tests-passed");
    await changed.getByTestId("accept-file").click();
    await until("the fix is there", () => fixture.read("src/duration.js").includes(edits[1].new_text));
  });

  it("of a lint fixer are reviewed hunk by hunk: accepting three of five leaves exactly those", async () => {
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);
    const fixed = (numbers: readonly number[]) =>
      `${lines.map((line, index) => (numbers.includes(index) ? line.toUpperCase() : line)).join("\n")}\n`;
    writeFileSync(join(fixture.workspace, "lines.txt"), fixed([]));
    await newTask(chat);
    await send(chat, "Fix the style");
    await said(chat, "The style is fixed.").waitFor();
    const changed = chat.locator('section.change[data-path="lines.txt"]').last();
    for (const number of [1, 3, 5]) await changed.getByTestId(`accept-hunk:${number}`).click();
    await until("three hunks are there", () => fixture.read("lines.txt") === fixed([0, 20, 38]));
    await changed.getByTestId("reject-file").click();
    await chat.locator(".status-line .state .codicon-check").waitFor();
    expect(fixture.read("lines.txt")).toBe(fixed([0, 20, 38]));
  });

  it("stop at once from their card, and what they printed stays", async () => {
    await newTask(chat);
    await send(chat, "Go on and on");
    const ticking = card("Run for i in");
    await ticking.locator(".tail").waitFor();
    await ticking.locator("summary").click();
    await ticking.locator(".terminal-line", { hasText: "tick 3" }).first().waitFor();
    await ticking.getByTestId("stop").click();
    await said(chat, "You stopped this task.").waitFor();
    await ticking.locator(".terminal-line", { hasText: "tick 3" }).first().waitFor();
    expect(await ticking.getByTestId("stop").count()).toBe(0);
  });

  it("are set out in the War Room: where they run, providers, routes, Doctor, receipts", async () => {
    await workbench.command("Lancelot: Open War Room");
    const warRoom = await workbench.view("war-room");
    await warRoom.locator("#tab-tools").click();
    await warRoom.locator(".sandbox-place .codicon-shield").waitFor();
    for (const name of ["Git", "Search (ripgrep)"]) await warRoom.getByRole("rowheader", { name }).first().waitFor();
    await warRoom.getByTestId("doctor").click();
    await warRoom.locator(".doctor").getByText("Container engine", { exact: true }).waitFor();
    await warRoom.getByRole("button", { name: "run_command" }).first().waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("44-tools");
  });

  it("are examined by Lancelot: Doctor, a line each", async () => {
    const { page } = workbench;
    await workbench.command("Lancelot: Doctor");
    const list = page.locator(".quick-input-list");
    for (const title of ["Running commands", "Container engine", "Git", "Search program", "Disk space"])
      await list.getByText(title).first().waitFor();
    await workbench.shot("45-doctor");
    await page.keyboard.press("Escape");
  });
});
