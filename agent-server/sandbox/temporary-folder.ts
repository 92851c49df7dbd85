import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** False when no process with this id exists. */
export function processRuns(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Creates a temporary folder with an unpredictable name, and removes those of the same purpose whose process has ended.
 * @returns its resolved path
 */
export function makeTemporaryFolder(purpose: string): string {
  const top = realpathSync(tmpdir());
  const start = `lancelot-${purpose}-`;
  for (const name of readdirSync(top)) {
    const pid = name.startsWith(start) ? Number(/^(\d+)-/.exec(name.slice(start.length))?.[1] ?? "0") : 0;
    if (pid > 0 && !processRuns(pid)) removeOwn(join(top, name));
  }
  return mkdtempSync(join(top, `${start}${process.pid}-`));
}

/** Removes only folders of the current user, since the temporary folder is shared. */
function removeOwn(path: string): void {
  try {
    if (lstatSync(path).uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
  } catch {
    // Another host is removing it at the same time.
  }
}
