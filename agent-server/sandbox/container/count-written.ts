import { writtenScript } from "./container-scripts.ts";
import type { WriteCount, WrittenBytes } from "./disk-usage.ts";
import { runScript } from "./run-script.ts";
import type { WarmContainer } from "./warm-container.ts";

const countWithin = 5_000;

/**
 * Counts what the commands of a container wrote, by the kernel's counts of their processes. The container's own process has the counts of
 * orphaned processes that have ended. A command that keeps its count secret, or the engine from asking, gets everything that is gone on its account.
 */
export function countWritten(warm: WarmContainer): WriteCount {
  const atStart = warm.supervisor.written().then(readCounts);
  atStart.catch(() => undefined);
  return {
    windowMs: Number.POSITIVE_INFINITY,
    async now() {
      try {
        const [uid = ""] = warm.user.split(":");
        const lines = (await runScript(warm, writtenScript, [uid], countWithin)).split("\n").filter((line) => line !== "");
        const counts = [...lines.map(readCounts), readCounts(await warm.supervisor.written()), negative(await atStart)];
        return counts.reduce<WrittenBytes | null>(
          (sum, one) => (sum === null || one === null ? null : { files: sum.files + one.files, all: sum.all + one.all }),
          { files: 0, all: 0 },
        );
      } catch {
        return null;
      }
    },
  };
}

/** Null where the kernel or the process does not tell. */
function readCounts(text: string): WrittenBytes | null {
  const [output, written] = ["wchar", "write_bytes"].map((name) => new RegExp(`(?:^|\\s)${name}: (\\d{1,19})(?:\\s|$)`).exec(text)?.[1]);
  if (output === undefined || written === undefined) return null;
  return { files: Number(written), all: Math.max(Number(output), Number(written)) };
}

function negative(counts: WrittenBytes | null): WrittenBytes | null {
  return counts === null ? null : { files: -counts.files, all: -counts.all };
}
