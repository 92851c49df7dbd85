import { spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A folder of an ordinary user with the folder `task` in it, which contains a folder of root. Only root can make it: import this before
 * `ordinary-user.ts`. Null where this process is not root.
 */
export const foreignBase: string | null = process.getuid?.() === 0 ? make() : null;

function make(): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-foreign-")));
  mkdirSync(join(base, "task/theirs"), { recursive: true });
  writeFileSync(join(base, "task/theirs/file"), "of root");
  chmodSync(join(base, "task/theirs"), 0o755);
  for (const folder of [base, join(base, "task")]) chownSync(folder, 1000, 1000);
  // Only root can remove it, once this process has ended.
  spawn("sh", ["-c", 'read -r end; rm -rf "$0"', base], { stdio: ["pipe", "ignore", "ignore"], detached: true }).unref();
  return base;
}
