import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/setup/project.mjs";
import { buildEditorSuite, isRequest, playUser } from "../support/workbench/editor-suite.ts";
import { openWorkbench, type Workbench } from "../support/workbench/workbench.ts";

/** The suites of test/editor/suite run by Mocha inside a real extension host; their lines are shown and their failures fail this test. */
test("suites inside the extension host", async () => {
  const outfile = await buildEditorSuite();
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
        if (isRequest(line)) playUser(async () => (await opened.promise).page, line).catch(exit.reject);
        else console.log(line);
      },
      onExit: exit.resolve,
    },
  });
  opened.resolve(workbench);
  try {
    const code = await exit.promise;
    expect(code, lines.join("\n")).toBe(0);
    expect(lines.join("\n")).toMatch(/[1-9]\d* passing/);
  } finally {
    await workbench.shot("editor-suites");
    await workbench.close();
    rmSync(workspace, { recursive: true, force: true });
  }
});
