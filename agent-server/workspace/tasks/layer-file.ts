import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { errno } from "../file-errors.ts";
import { decodeText } from "../text/encoding.ts";
import { inUntrustedFolder, type UntrustedFolder } from "./untrusted-folder.ts";

/**
 * The text of a file that only a task's layer has, such as build output. No link is followed.
 * @param upper what the task wrote @param path relative to the workspace, with forward slashes
 * @returns null when the layer has no such file, or it is not text
 * @throws LancelotError `too_large`.
 */
export async function readLayerText(upper: string, path: string, maxBytes: number): Promise<string | null> {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  const read = (folder: UntrustedFolder, above: readonly string[]): Promise<Buffer | null> => {
    const [first, ...rest] = above;
    return first === undefined ? Promise.resolve(folder.read(name, maxBytes)) : folder.within(first, (inner) => read(inner, rest));
  };
  const bytes = await inUntrustedFolder(upper, (folder) => read(folder, parts));
  return bytes === null ? null : (decodeText(bytes)?.text ?? null);
}

/** Entries of a folder that are listed. */
const maxListed = 5_000;

/** Entries other than folders below a folder of the layer, relative to the layer. */
export function filesBelow(upper: string, folder: string): string[] {
  try {
    return readdirSync(join(upper, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .slice(0, maxListed)
      .map((entry) => relative(upper, join(entry.parentPath, entry.name)));
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR" || errno(error) === "EACCES") return [];
    throw error;
  }
}
