// Uses a full disk, which the given folder is, in the ways that tasks do, and prints the codes of the errors as JSON.
// Arguments: the full folder (64 KiB), a folder with space.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { applyGenerated, putInView } from "../../../../agent-server/workspace/workspace.ts";
import { openFoldersHost } from "../folders-fixture.ts";

const [full = "", space = ""] = process.argv.slice(2);
const big = Buffer.alloc(1_000_000, 1);
const codes: Record<string, unknown> = {};
async function attempt(name: string, work: () => unknown): Promise<void> {
  try {
    await work();
    codes[name] = "done";
  } catch (error) {
    codes[name] = (error as { code?: unknown }).code;
  }
}

const work = join(full, "work");
mkdirSync(join(work, "dist"), { recursive: true });
writeFileSync(join(work, "dist/a.js"), "old");
await attempt("put", () => putInView({ merged: work, lower: work }, "dist/a.js", big, 0o644));
const upper = join(space, "task/workspace/upper");
mkdirSync(join(upper, "dist"), { recursive: true });
writeFileSync(join(upper, "dist/a.js"), "new");
writeFileSync(join(upper, "dist/b.js"), big);
await attempt("apply", () =>
  applyGenerated({
    taskFolder: join(space, "task"),
    id: "full",
    upper,
    lower: work,
    opaque: new Map(),
    paths: ["dist"],
    judgeName: () => null,
  }),
);
codes["workspace"] = [readdirSync(join(work, "dist")), readFileSync(join(work, "dist/a.js"), "utf8")];
codes["layer"] = readdirSync(join(upper, "dist")).sort();

const data = join(space, "data");
const { folders, storage } = openFoldersHost(data, work, { max_task_bytes: 1e12, keep_task_days: 30 });
folders.use("before").release();
execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "none", join(data, "tasks")]);
await attempt("use", () => folders.use("after"));
storage.close();
process.stdout.write(`${JSON.stringify(codes)}\n`);
