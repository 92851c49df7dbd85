import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { expect, test } from "vitest";
import { root } from "../support/setup/project.mjs";
import { openWorkbench } from "../support/workbench/workbench.ts";

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
  const workbench = await openWorkbench({
    workspace,
    development: {
      testsPath: outfile,
      onLog: (line) => {
        lines.push(line);
        console.log(line);
      },
      onExit: exit.resolve,
    },
  });
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
