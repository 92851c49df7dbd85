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
