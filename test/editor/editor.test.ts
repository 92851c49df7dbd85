import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as esbuild from "esbuild";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { root } from "../support/setup/project.mjs";
import { openWorkbench, type Workbench } from "../support/workbench/workbench.ts";

/** What a suite asks the owner's hand to do, as it says it: `@type some words`, `@pick Receipts`. */
const hand = /^@(type|pick) (.+)$/;

/**
 * The owner's part in the real workbench: the editor's inputs cannot be answered from inside. Its modal dialogs are not shown to
 * tests in the extension host at all (each counts as cancelled); test/e2e/soul.test.ts presses those.
 */
async function play(page: Page, act: string, text: string): Promise<void> {
  const input = page.locator(".quick-input-widget input.input");
  await input.waitFor();
  if (act === "type") await input.fill(text);
  else await page.locator(".quick-input-list").getByRole("option", { name: text }).first().waitFor();
  if (act === "pick") await page.locator(".quick-input-list").getByRole("option", { name: text }).first().click();
  else await input.press("Enter");
}

/** The suites of test/editor/suite run by Mocha inside a real extension host; their lines are shown and their failures fail this test. */
test("suites inside the extension host", async () => {
  const outfile = join(root, "test-output/editor-suite/index.cjs");
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ["test/editor/suite/index.ts"],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node22",
    external: ["vscode", "mocha"],
    logLevel: "warning",
    sourcemap: "inline",
  });
  const workspace = mkdtempSync(join(tmpdir(), "lancelot-editor-"));
  cpSync(join(root, "media/sample"), workspace, { recursive: true });
  const lines: string[] = [];
  const exit = Promise.withResolvers<number>();
  const opened = Promise.withResolvers<Workbench>();
  const workbench = await openWorkbench({
    workspace,
    // A browser's workbench saves by itself after a second, unless told otherwise.
    settings: { "files.autoSave": "off" },
    development: {
      testsPath: outfile,
      onLog: (line) => {
        lines.push(line);
        const wish = hand.exec(line);
        if (wish === null) console.log(line);
        else void opened.promise.then(({ page }) => play(page, wish[1] ?? "", wish[2] ?? "")).catch(exit.reject);
      },
      onExit: exit.resolve,
    },
  });
  opened.resolve(workbench);
  const timer = setTimeout(() => exit.reject(new Error(`The suites did not end in 150 s.\n${lines.join("\n")}`)), 150_000);
  try {
    const code = await exit.promise;
    expect(code, lines.join("\n")).toBe(0);
    expect(lines.join("\n")).toMatch(/[1-9]\d* passing/);
  } finally {
    clearTimeout(timer);
    await workbench.shot("editor-suites");
    await workbench.close();
    rmSync(workspace, { recursive: true, force: true });
  }
});
