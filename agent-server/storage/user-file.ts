import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { LancelotError } from "../contract/errors.ts";

/**
 * Writes a configuration file of the user as a whole or not at all.
 * @param fileName how messages call it, such as `config/flags.yaml`
 * @throws LancelotError `unavailable`
 */
export function writeUserFile(path: string, fileName: string, text: string): void {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(draft, text, { mode: 0o600, flag: "wx", flush: true });
    renameSync(draft, path);
  } catch (cause) {
    rmSync(draft, { force: true });
    throw new LancelotError("unavailable", `${fileName} in the data folder cannot be written. Check its permissions and the free space.`, {
      cause,
    });
  }
}

/** The text of a configuration file of the user; null without one. @throws LancelotError `unavailable` */
export function readUserFile(path: string, fileName: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null;
    throw new LancelotError("unavailable", `${fileName} in the data folder cannot be read. Check its permissions.`, { cause });
  }
}
