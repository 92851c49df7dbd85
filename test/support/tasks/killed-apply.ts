import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GeneratedRequest } from "../../../agent-server/workspace/workspace.ts";

/** Folders and files of each kind of step in the trees that are killed on. */
const merged = 12;
const perFolder = 15;

/** What the workspace has: dependencies that are partly replaced, a build that is recreated, a folder that is deleted. */
export function fillWorkspace(lower: string): void {
  for (let index = 0; index < merged; index += 1) {
    const folder = join(lower, `node_modules/p${index}`);
    mkdirSync(folder, { recursive: true });
    for (let file = 0; file < perFolder; file += 1) writeFileSync(join(folder, `${file}.js`), `old ${index} ${file}`);
  }
  for (const name of ["dist/deep", "cache"]) {
    mkdirSync(join(lower, name), { recursive: true });
    for (let file = 0; file < perFolder; file += 1) writeFileSync(join(lower, name, `${file}.js`), `old ${file}`);
  }
  mkdirSync(join(lower, "src"));
  writeFileSync(join(lower, "src/a.ts"), "source");
}

/**
 * What the task wrote, as a layer has it. Deletions are made by `remove`, which writes a deletion mark: `cache`, a file of each dependency.
 */
export function fillLayer(upper: string, remove: (path: string) => void): void {
  for (let index = 0; index < merged; index += 1) {
    const folder = join(upper, `node_modules/p${index}`);
    mkdirSync(folder, { recursive: true });
    for (let file = 0; file < perFolder; file += 2) writeFileSync(join(folder, `${file}.js`), `new ${index} ${file}`);
    remove(join(folder, "1.js"));
    symlinkSync("0.js", join(folder, "link.js"));
    mkdirSync(join(folder, "new"));
    writeFileSync(join(folder, "new/x.js"), "x");
  }
  // Recreated, as the request says.
  mkdirSync(join(upper, "dist/other"), { recursive: true });
  writeFileSync(join(upper, "dist/other/y.js"), "y");
  remove(join(upper, "cache"));
  for (let index = 0; index < merged; index += 1) {
    mkdirSync(join(upper, `packages/q${index}/out`), { recursive: true });
    writeFileSync(join(upper, `packages/q${index}/out/z.js`), "z");
  }
  writeFileSync(join(upper, "app.log"), "log");
  mkdirSync(join(upper, "src"));
  writeFileSync(join(upper, "src/a.ts"), "changed source");
}

export function generatedRequest(lower: string, task: string, id: string): GeneratedRequest {
  return {
    taskFolder: task,
    id,
    upper: join(task, "workspace/upper"),
    lower,
    opaque: new Map([["dist", ["deep", ...Array.from({ length: perFolder }, (_, file) => `${file}.js`)]]]),
    paths: ["node_modules", "dist", "cache", "app.log", ...Array.from({ length: merged }, (_, index) => `packages/q${index}/out`)],
    judgeName: () => null,
  };
}
