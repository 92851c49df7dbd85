import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildViews, chromiumPath, launchBrowser, openView, themeNames } from "../support/webview-harness/open.ts";
import { states } from "../support/webview-harness/states.ts";

const executable = chromiumPath();
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

if (executable === undefined && process.env.CI === "true") throw new Error("CI needs a Chromium: install it or set CHROMIUM_PATH.");

// Without a Chromium there is no page to look at.
describe.skipIf(executable === undefined)("views in a browser", () => {
  let browser: Browser;
  let files: ReadonlyMap<string, string>;

  beforeAll(async () => {
    files = await buildViews();
    browser = await launchBrowser(executable ?? "");
  });
  afterAll(async () => {
    await browser.close();
  });

  it.each(states)("$name has no accessibility findings, errors or overflow in any theme", async (state) => {
    const [usual, other] = state.view === "chat" ? [320, 1000] : [1000, 320];
    for (const theme of themeNames) {
      for (const width of theme === "dark" ? [usual, other] : [usual]) {
        const { page, errors } = await openView(browser, files, state, { theme, width });
        // Not by addScriptTag, which the page's content policy refuses.
        await page.evaluate(await readAxe());
        const findings = await page.evaluate(async () => {
          const { violations } = await (window as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run();
          return violations.map(
            ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ")}`,
          );
        });
        expect(findings, `${theme} ${width}`).toEqual([]);
        expect(errors, `${theme} ${width}`).toEqual([]);
        const overflow = await page.evaluate(() => {
          const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
          return [scrollWidth - clientWidth, scrollHeight - clientHeight];
        });
        expect(overflow, `${theme} ${width}`).toEqual([0, 0]);
        await page.close();
      }
    }
  });

  async function readAxe(): Promise<string> {
    const { readFile } = await import("node:fs/promises");
    return readFile(axe, "utf8");
  }
});
