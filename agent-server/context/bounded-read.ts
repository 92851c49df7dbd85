import { open } from "node:fs/promises";

export interface BoundedText {
  text: string;
  /** Bytes of the whole file. */
  size: number;
  truncated: boolean;
  binary: boolean;
}

/**
 * Reads at most `maxBytes` from the start of a regular file. Null when it cannot be read.
 * The caller must pass a path that the policy resolved, or one of the host's own files.
 */
export async function readBounded(absolute: string, maxBytes: number): Promise<BoundedText | null> {
  let file;
  try {
    file = await open(absolute, "r");
  } catch {
    return null;
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return null;
    const buffer = Buffer.alloc(Math.min(stat.size, maxBytes));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    const bytes = buffer.subarray(0, bytesRead);
    return {
      text: new TextDecoder("utf-8").decode(bytes),
      size: stat.size,
      truncated: stat.size > bytesRead,
      binary: bytes.subarray(0, 8192).includes(0),
    };
  } catch {
    return null;
  } finally {
    await file.close();
  }
}
