// @module-tag views
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser } from "playwright-core";
import type { Message } from "../../agent-server/contract/chat.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  launchBrowser,
  newViewPage,
  serveViews,
  themeNames,
  type Look,
  type ViewPage,
  type ViewServer,
  wear,
} from "../support/webview-harness/open.ts";
import { answerText, sampleCommand, sampleMessage, sampleQuest, sampleReceipt } from "../support/webview-harness/samples.ts";
import { states, type ViewState } from "../support/webview-harness/states.ts";
import { soak } from "../support/soak.ts";
import { findChromium } from "../support/setup/chromium.mjs";

const executable = findChromium();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

if (executable === null && process.env.CI === "true") throw new Error("CI needs a Chromium: install it or set CHROMIUM_PATH.");

// Without a Chromium there is no page to look at.
describe.skipIf(executable === null)("views in a browser", () => {
  let browser: Browser;
  let views: ViewServer;

  beforeAll(async () => {
    [views, browser] = await Promise.all([serveViews(), launchBrowser(executable ?? "")]);
  });
  afterAll(async () => {
    await browser.close();
    await views.close();
  });

  describe.concurrent.each(["chat", "war-room"] as const)("the %s", (name) => {
    const [usual, other] = name === "chat" ? [320, 1000] : [1000, 320];
    let view: ViewPage;
    beforeAll(async () => {
      view = await newViewPage(browser, views);
      // Not by addScriptTag, which the page's content policy refuses.
      await view.page.addInitScript(axe);
    });
    afterAll(() => view.page.close());

    const findings = (rules: object): Promise<string[]> =>
      view.page.evaluate(
        async (options) => {
          const { violations } = await (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run(options);
          return violations.map(
            ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ")}`,
          );
        },
        // What passed is not reported, which takes longer than the rules.
        { ...rules, resultTypes: ["violations"], selectors: false },
      );
    const overflow = (): Promise<number[]> =>
      view.page.evaluate(() => {
        const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
        return [scrollWidth - clientWidth, scrollHeight - clientHeight];
      });

    it.each(states.filter((state) => state.view === name))(
      "$name has no accessibility findings, errors or overflow in any theme",
      { concurrent: false },
      async (state) => {
        const thorough = soak || state.everyLook === true;
        await view.open(state, { theme: "dark", width: other });
        expect(await overflow(), "dark, other width").toEqual([0, 0]);
        if (thorough) {
          for (const theme of themeNames) {
            await wear(view.page, { theme, width: other });
            expect(await findings({}), theme).toEqual([]);
          }
        }
        for (const [index, theme] of themeNames.entries()) {
          await wear(view.page, { theme, width: usual });
          expect(await overflow(), theme).toEqual([0, 0]);
          // A theme changes colors only, so that after the first one the other rules would find the same again. The states take turns
          // with the themes: each theme sees a third of them, and all in the soak.
          if (thorough || index === 0) expect(await findings({}), theme).toEqual([]);
          else if (index === 1 + (states.indexOf(state) % (themeNames.length - 1)))
            expect(await findings({ runOnly: ["color-contrast"] }), theme).toEqual([]);
        }
        expect(view.errors).toEqual([]);
      },
    );
  });

  const look: Look = { theme: "dark", width: 320 };
  let view: ViewPage;
  beforeAll(async () => {
    view = await newViewPage(browser, views);
  });

  async function open(state: ViewState, shown: Look = look): Promise<ViewPage> {
    await view.open(state, shown);
    return view;
  }

  function withMessages(messages: Message[]): ViewState {
    const state = states.find(({ name }) => name === "chat-running");
    if (state === undefined) throw new Error("The state chat-running is gone.");
    const answers = { ...state.recording.answers, "quests.get": { quest: sampleQuest({ status: "active" }), messages } };
    return { ...state, recording: { ...state.recording, answers } };
  }

  const answer = (id: string, seq: number, text: string, open = false): Message =>
    sampleMessage({ id, seq, role: "assistant", open, parts: [{ type: "text", text }] });

  it.each([
    ["300 px wide", { width: 300, height: 820 }],
    ["twice as large", { width: 300, height: 410 }],
  ])("keeps an approval's action and buttons in view, %s", async (_, size) => {
    for (const state of states.filter(({ name }) => name === "chat-approval" || name === "chat-approval-queue")) {
      const { page } = await open(state);
      await page.setViewportSize(size);
      for (const element of [".approval .card-title", ...["allow-once", "allow-for-task", "deny"].map((id) => `[data-testid=${id}]`)]) {
        const box = await page.locator(element).boundingBox();
        const covered = await page.locator(element).evaluate((target) => {
          const { left, top, width, height } = target.getBoundingClientRect();
          return !target.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        });
        expect({ element, covered, isIn: box !== null && box.y >= 0 && box.y + box.height <= size.height }).toEqual({
          element,
          covered: false,
          isIn: true,
        });
      }
    }
  });

  it("follows a streaming answer, holds still while the owner reads above, and jumps back", async () => {
    const { page } = await open(withMessages([sampleMessage(), answer("m", 1, "", true)]));
    const list = page.locator(".messages");
    const fromEnd = (): Promise<number> => list.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
    let sent = 0;
    const stream = (paragraphs: number): Promise<void> => {
      const text = "A paragraph of the answer, long enough to wrap.\n\n".repeat(paragraphs);
      const offset = sent;
      sent += text.length;
      return page.evaluate(
        ([at, message]) =>
          window.emit("delta", { questId: "quest-1", messageId: "m", partIndex: 0, kind: "text", offset: at, text: message }),
        [offset, text] as const,
      );
    };
    await stream(40);
    await expect.poll(() => list.evaluate((element) => element.scrollHeight)).toBeGreaterThan(1500);
    await expect.poll(fromEnd).toBeLessThan(2);
    await list.evaluate((element) => {
      element.scrollTop = 200;
    });
    await page.getByTestId("jump-to-latest").waitFor();
    const height = await list.evaluate((element) => element.scrollHeight);
    await stream(20);
    await expect.poll(() => list.evaluate((element) => element.scrollHeight)).toBeGreaterThan(height);
    expect(await list.evaluate((element) => element.scrollTop)).toBe(200);
    await page.getByTestId("jump-to-latest").click();
    await expect.poll(fromEnd).toBeLessThan(2);
  });

  it("keeps the elements and the selection of what has streamed", async () => {
    const { page } = await open(withMessages([sampleMessage(), answer("m", 1, "First words.\n\nSecond", true)]));
    const kept = await page.evaluate(async () => {
      const first = document.querySelector(".message.assistant p");
      if (first === null) return "no paragraph";
      getSelection()?.selectAllChildren(first);
      for (let at = 20; at < 220; at += 10) {
        window.emit("delta", { questId: "quest-1", messageId: "m", partIndex: 0, kind: "text", offset: at, text: " more text" });
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      return `${document.querySelector(".message.assistant p") === first} ${getSelection()?.toString()}`;
    });
    expect(kept).toBe("true First words.");
  });

  it("keeps a long conversation small and shows what came before on scrolling up", async () => {
    const long = Array.from({ length: 3000 }, (_, seq) =>
      seq % 2 === 0 ? sampleMessage({ id: `m${seq}`, seq }) : answer(`m${seq}`, seq, `Answer ${seq}\n\n${answerText}`),
    );
    const { page } = await open(withMessages(long));
    const articles = page.locator("article");
    await expect.poll(() => articles.count()).toBe(40);
    await page.getByText("Answer 2999").waitFor();
    await page.locator(".messages").evaluate((element) => {
      element.scrollTop = 300;
    });
    await page.locator(".messages").hover();
    await page.mouse.wheel(0, -2000);
    await expect.poll(() => articles.count()).toBe(80);
    // What was on screen stays there: the list does not jump to its new beginning.
    expect(await page.locator(".messages").evaluate((element) => element.scrollTop)).toBeGreaterThan(500);
  });

  describe("what a command prints", () => {
    const part = (text: string) => ({
      ...sampleCommand({ status: "running", durationMs: null, output: null, live: { text, skipped: 0 } }),
      command: { text: "npm test", cwd: ".", place: "container" as const, network: false, exitCode: null, ended: null },
    });
    const printing = (text: string): ViewState =>
      withMessages([sampleMessage({ id: "m", seq: 1, role: "assistant", open: true, parts: [part(text)] })]);

    it("streams into its open card, and a flood of chunks leaves the page small and quick to draw", async () => {
      const { page, errors } = await open(printing("start\n"));
      await page.locator(".tool summary").click();
      await page.locator(".tool-body .terminal-line", { hasText: "start" }).waitFor();
      const measured = await page.evaluate(async () => {
        let at = "start\n".length;
        let frames = 0;
        let drawings = 0;
        let counting = true;
        const count = (): void => {
          frames += 1;
          if (counting) requestAnimationFrame(count);
        };
        requestAnimationFrame(count);
        const box = document.querySelector(".tool-body");
        if (box === null) return null;
        new MutationObserver(() => {
          drawings += 1;
        }).observe(box, { childList: true, subtree: true, characterData: true });
        for (let index = 0; index < 10_000; index += 1) {
          const text = `\u001b[3${index % 8}mchunk ${index}\u001b[0m with some words of a build\n`;
          window.emit("toolOutput", { questId: "quest-1", messageId: "m", callId: "call-command", offset: at, text });
          at += text.length;
          // As they come from a process: some hundred between two drawings of the page.
          if (index % 250 === 0) await new Promise((resolve) => setTimeout(resolve));
        }
        const shown = (): boolean => box.textContent.includes("chunk 9999");
        while (!shown()) await new Promise((resolve) => setTimeout(resolve));
        counting = false;
        return { frames, drawings, lines: box.querySelectorAll(".terminal-line").length };
      });
      expect(measured?.lines).toBe(20);
      // Once a frame at the most, not once a chunk.
      expect(measured?.drawings).toBeLessThanOrEqual((measured?.frames ?? 0) + 2);
      await page.getByTestId("show-all-lines").click();
      await page.locator(".terminal-lines.all .terminal-line", { hasText: "chunk 9999" }).waitFor();
      expect(await page.locator(".terminal-lines.all .terminal-line").count()).toBeLessThan(100);
      expect(await page.locator(".terminal-note").count()).toBe(1);
      expect(errors).toEqual([]);
    });

    it("keeps thousands of lines out of the page; scrolling reaches each, and following stops while the owner reads above", async () => {
      const lines = Array.from({ length: 3000 }, (_, index) => `line ${index + 1}`).join("\n");
      const { page } = await open(printing(lines));
      await page.locator(".tool summary").click();
      await page.getByTestId("show-all-lines").click();
      const box = page.locator(".terminal-lines.all");
      await box.getByText("line 3000", { exact: true }).waitFor();
      await box.evaluate((element) => {
        element.scrollTop = 0;
      });
      await box.getByText("line 1", { exact: true }).waitFor();
      await page.evaluate((offset) => {
        window.emit("toolOutput", { questId: "quest-1", messageId: "m", callId: "call-command", offset, text: "\nlast" });
      }, lines.length);
      await expect.poll(() => box.evaluate((element) => element.scrollHeight)).toBeGreaterThan(3001 * 18);
      expect(await box.evaluate((element) => element.scrollTop)).toBe(0);
    });

    it("leads to pages and to places in files", async () => {
      const { page } = await open(printing("at src/a.ts:12:5\nsee http://localhost:3000/\n"));
      await page.locator(".tool summary").click();
      await page.getByRole("button", { name: "src/a.ts:12:5" }).click();
      await page.getByRole("button", { name: "http://localhost:3000/" }).click();
      const asked = await page.evaluate(() => window.posted.filter(({ type }) => type === "ui"));
      expect(asked).toMatchObject([
        { ui: { command: "lancelot.openAt", args: [{ path: "src/a.ts", cwd: ".", line: "12", column: "5" }] } },
        { ui: { command: "lancelot.openLink", args: [{ url: "http://localhost:3000/" }] } },
      ]);
    });
  });

  it("colors code with a script that the page's policy allows", async () => {
    const { page, errors } = await open(withMessages([answer("m", 0, answerText)]));
    await page.locator(".code-keyword").first().waitFor();
    expect(errors).toEqual([]);
  });

  it("keeps a ledger of many pages out of the page, by mouse and by keyboard", async () => {
    const state = states.find(({ name }) => name === "war-room-receipts");
    if (state === undefined) throw new Error("The state war-room-receipts is gone.");
    const items = Array.from({ length: 20_000 }, (_, index) => sampleReceipt(index));
    const recording = { ...state.recording, answers: { ...state.recording.answers, "receipts.search": { items } } };
    const { page } = await open({ ...state, recording }, { theme: "dark", width: 1000 });
    const rows = page.locator('.virtual-list [role="option"]');
    await rows.first().waitFor();
    expect(await rows.count()).toBeLessThan(60);
    await page.locator(".virtual-list").focus();
    await page.keyboard.press("End");
    await page.locator('[role="option"][aria-posinset="20000"][aria-selected="true"]').waitFor();
    expect(await rows.count()).toBeLessThan(60);
    await page.keyboard.press("Enter");
    await page.getByRole("tree").waitFor();
  });
});
