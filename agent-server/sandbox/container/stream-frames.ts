/** Thrown when the engine's output is not a valid sequence of frames. */
export class FrameError extends Error {}

/**
 * Splits the engine's multiplexed stream. A frame has an eight-byte header (stream, three zeros, length) and that many bytes. Passes bytes
 * on
 * as they arrive, without buffering frames.
 */
export function createFrames(take: (stream: "stdout" | "stderr", bytes: Uint8Array) => void): (chunk: Uint8Array) => void {
  const header = Buffer.alloc(8);
  let filled = 0;
  let left = 0;
  let stream: "stdout" | "stderr" = "stdout";
  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (left > 0) {
        const bytes = chunk.subarray(at, at + left);
        at += bytes.length;
        left -= bytes.length;
        take(stream, bytes);
        continue;
      }
      const part = chunk.subarray(at, at + 8 - filled);
      header.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled < 8) return;
      if ((header[0] ?? 9) > 2 || header[1] !== 0 || header[2] !== 0 || header[3] !== 0)
        throw new FrameError("The container engine sent an invalid output stream.");
      stream = header[0] === 2 ? "stderr" : "stdout";
      left = header.readUInt32BE(4);
      filled = 0;
    }
  };
}
