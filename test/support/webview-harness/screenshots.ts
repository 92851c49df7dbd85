// Takes a picture of every state of the views in every theme: `node test/support/webview-harness/screenshots.ts [folder] [name…]`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser, newViewPage, serveViews, themeNames } from "./open.ts";
import { states } from "./states.ts";
import { findChromium } from "../setup/chromium.mjs";

const [folder = "test-output/webviews", ...names] = process.argv.slice(2);
const executable = findChromium();
if (executable === null) throw new Error("No Chromium was found; set CHROMIUM_PATH.");
mkdirSync(folder, { recursive: true });
const views = await serveViews();
const browser = await launchBrowser(executable);
const view = await newViewPage(browser, views);
for (const state of states) {
  if (names.length > 0 && !names.includes(state.name)) continue;
  for (const theme of themeNames) {
    for (const width of [320, 1000]) {
      await view.open(state, { theme, width });
      await view.page.screenshot({ path: join(folder, `${state.name}-${theme}-${width}.png`) });
      for (const error of view.errors) console.error(`${state.name} ${theme} ${width}: ${error}`);
    }
  }
}
await browser.close();
await views.close();
