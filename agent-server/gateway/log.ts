import { destination, type Logger, pino } from "pino";

export type Log = Logger;

/**
 * The host's log: JSON lines on stderr, which the editor shows in its log channel.
 * @param redact applied to every line before it is written.
 */
export function createLog(level: string, redact: (line: string) => string): Log {
  const out = destination({ fd: 2, sync: true });
  // A stream that cannot be written, such as a file on a full disk, must not end the host.
  out.on("error", () => undefined);
  return pino(
    { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` },
    { write: (line: string) => void out.write(redact(line)) },
  );
}
