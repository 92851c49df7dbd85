// Takes a picture of every state of the views in every theme: `node test/support/webview-harness/screenshots.ts [folder] [name…]`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildViews, launchBrowser, openView, themeNames } from "./open.ts";
import { states } from "./states.ts";
import { findChromium } from "../setup/chromium.mjs";

const [folder = "test-output/webviews", ...names] = process.argv.slice(2);
const executable = findChromium();
if (executable === null) throw new Error("No Chromium was found; set CHROMIUM_PATH.");
mkdirSync(folder, { recursive: true });
const files = await buildViews();
const browser = await launchBrowser(executable);
for (const state of states) {
  if (names.length > 0 && !names.includes(state.name)) continue;
  for (const theme of themeNames) {
    for (const width of [320, 1000]) {
      const { page, errors } = await openView(browser, files, state, { theme, width });
      await page.screenshot({ path: join(folder, `${state.name}-${theme}-${width}.png`) });
      for (const error of errors) console.error(`${state.name} ${theme} ${width}: ${error}`);
      await page.close();
    }
  }
}
await browser.close();
