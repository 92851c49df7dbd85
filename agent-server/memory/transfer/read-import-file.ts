import { readFile, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { LancelotError } from "../../contract/errors.ts";

/** Maximum bytes of an imported file. */
const maxBytes = 50_000_000;

/**
 * Reads a file to import. `path` is absolute, or names a file below `exports/` of the data folder.
 * @throws LancelotError `not_found`, `invalid_params` (a folder, a device, another encoding), `too_large`, `unavailable`
 */
export async function readImportFile(path: string, dataDir: string): Promise<string> {
  const file = placeOf(path, dataDir);
  let bytes: Buffer;
  try {
    // Checked before opening, because opening a pipe blocks.
    const facts = await stat(file);
    if (facts.isDirectory()) throw new LancelotError("invalid_params", "That is a folder. Name a file.");
    if (!facts.isFile()) throw new LancelotError("invalid_params", "That is not a regular file.");
    if (facts.size > maxBytes) throw tooLarge();
    bytes = await readFile(file);
  } catch (error) {
    throw toReadError(error);
  }
  if (bytes.length > maxBytes) throw tooLarge();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new LancelotError("invalid_params", "The file is not UTF-8 text, so nothing was imported.", { cause: error });
  }
}

function placeOf(path: string, dataDir: string): string {
  if (path.includes("\0")) throw new LancelotError("invalid_params", "The path is invalid.");
  if (isAbsolute(path)) return path;
  const folder = join(dataDir, "exports");
  const file = resolve(folder, path);
  const inside = relative(folder, file);
  if (inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    throw new LancelotError("invalid_params", "Name a file in the exports folder, or give its absolute path.");
  return file;
}

function tooLarge(): LancelotError {
  return new LancelotError("too_large", `The file is larger than ${String(maxBytes / 1_000_000)} MB, so nothing was imported. Split it.`);
}

function toReadError(error: unknown): unknown {
  if (error instanceof LancelotError) return error;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined) return error;
  if (code === "ENOENT" || code === "ENOTDIR")
    return new LancelotError("not_found", "The file does not exist. Give its absolute path, or its name in the exports folder.", {
      cause: error,
    });
  return new LancelotError("unavailable", "The file cannot be read. Check its permissions.", { data: { reason: code }, cause: error });
}
