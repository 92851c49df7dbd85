import { join } from "node:path";
import * as esbuild from "esbuild";
import type { Page } from "playwright-core";
import { root } from "../setup/project.mjs";

/** Bundles the suites of test/editor/suite for an extension host. @returns the path of the bundle */
export async function buildEditorSuite(): Promise<string> {
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
  return outfile;
}

/** What a suite asks the user's hand to do, as it prints it: `@type some words`, `@pick Receipts`. */
const request = /^@(type|pick) (.+)$/;

/**
 * Does what a printed line asks of the user, because the editor's inputs cannot be answered from inside an extension host.
 * @returns false when the line asks for nothing
 */
export async function playUser(page: () => Promise<Page>, line: string): Promise<boolean> {
  const [, act, text = ""] = request.exec(line.trim()) ?? [];
  if (act === undefined) return false;
  const quickInput = (await page()).locator(".quick-input-widget");
  const input = quickInput.locator("input.input");
  await input.waitFor();
  if (act === "type") {
    await input.fill(text);
    await input.press("Enter");
  } else await quickInput.locator(".quick-input-list").getByRole("option", { name: text }).first().click();
  return true;
}

/** Whether a printed line is a request, which is not shown to whoever reads the output. */
export const isRequest = (line: string): boolean => request.test(line.trim());
