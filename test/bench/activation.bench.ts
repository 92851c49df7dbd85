import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectEnv, projectNode, root } from "../support/setup/project.mjs";
import { run as runProgram } from "../support/setup/say.mjs";
import { until } from "../support/host/built-host.ts";
import { openWorkbench } from "../support/workbench/workbench.ts";
import type { BenchRow } from "./bench-row.ts";

/** An extension that registers one command, packed as users install it. */
async function packBareExtension(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({
      name: "bare",
      publisher: "bench",
      version: "1.0.0",
      engines: { vscode: "^1.101.0" },
      main: "./main.cjs",
      activationEvents: ["onStartupFinished"],
    }),
  );
  writeFileSync(
    join(folder, "main.cjs"),
    'exports.activate = (context) => context.subscriptions.push(require("vscode").commands.registerCommand("bench.bare", () => {}));\n',
  );
  writeFileSync(join(folder, "README.md"), "A bare extension to measure beside.\n");
  const vsix = join(folder, "bare.vsix");
  await runProgram(
    projectNode(),
    [
      join(root, "node_modules/@vscode/vsce/vsce"),
      "package",
      "--no-dependencies",
      "--allow-missing-repository",
      "--skip-license",
      "--out",
      vsix,
    ],
    {
      cwd: folder,
      env: projectEnv(),
      quiet: true,
    },
  );
  return vsix;
}

/** Activation as the editor itself measures it (Developer: Show Running Extensions), beside an extension that does nothing. */
export async function run(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-bench-"));
  const bare = await packBareExtension(join(folder, "bare"));
  // High enough for every row: the list draws only those in sight.
  const workbench = await openWorkbench({ workspace: folder, extensions: [bare], viewport: { width: 1400, height: 3000 } });
  try {
    await until("Lancelot has been activated", () => workbench.hostPids().length > 0);
    await workbench.command("Developer: Show Running Extensions");
    const activation = async (name: string) => {
      const row = workbench.page
        .locator(".runtime-extensions-editor .extension", { hasText: name })
        .filter({ hasText: /Activation: \d+ms|\d+ms/ })
        .first();
      await row.waitFor();
      return Number(/(\d+)ms/.exec(await row.innerText())?.[1] ?? Number.NaN);
    };
    const ours = await activation("Lancelot");
    const theirs = Math.max(1, await activation("bare"));
    return [
      {
        name: "activation",
        ours,
        bare: theirs,
        ratio: ours / theirs,
        unit: "ms",
        note: "as the editor reports it, beside an extension with one command",
      },
    ];
  } finally {
    await workbench.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
