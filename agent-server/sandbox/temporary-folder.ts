import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** False when there is no process of that number any more. */
export function processRuns(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Makes a folder for temporary files, whose name cannot be guessed, and takes away those of the same purpose whose process is gone.
 * @returns its path, resolved.
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

/** The folder for temporary files is everybody's: what is another user's stays. */
function removeOwn(path: string): void {
  try {
    if (lstatSync(path).uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
  } catch {
    // Somebody else takes it away at this moment.
  }
}
