import { createHash } from "node:crypto";
import { createReadStream, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import * as z from "zod";

/** The state of a file's content: its checksum matched, did not match, or was not verified since the file changed. */
type Verdict = "right" | "wrong" | "unknown";

/**
 * Verifies checksums of model files, once for each state of a file: damaged weights load without an error and produce nonsense. Results are
 * stored beside the files.
 */
export interface Verifier {
  verdict(path: string): Verdict;
  /** Reads the file if its content is unknown. @throws LancelotError `cancelled`, or the file system's error */
  verify(path: string, sha256: string, signal: AbortSignal): Promise<boolean>;
  /** Records a file whose checksum was just verified. */
  remember(path: string): void;
}

const Notes = z.record(z.string(), z.object({ stamp: z.string(), right: z.boolean() }));

export function createVerifier(folder: string): Verifier {
  const file = join(folder, ".verified.json");
  let notes: z.infer<typeof Notes> | undefined;

  function known(path: string): Verdict {
    notes ??= read(file);
    const note = notes[basename(path)];
    if (note === undefined || note.stamp !== stampOf(path)) return "unknown";
    return note.right ? "right" : "wrong";
  }

  function keep(path: string, stamp: string | null, right: boolean): void {
    if (stamp === null) return;
    // Another window may have recorded other files meanwhile.
    notes = { ...read(file), [basename(path)]: { stamp, right } };
    const draft = `${file}.${process.pid}`;
    try {
      writeFileSync(draft, JSON.stringify(notes));
      renameSync(draft, file);
    } catch {
      // On a full disk, it is verified again after the next start.
    }
  }

  return {
    verdict: known,
    async verify(path, sha256, signal) {
      const before = known(path);
      if (before !== "unknown") return before === "right";
      const stamp = stampOf(path);
      const hash = createHash("sha256");
      for await (const chunk of createReadStream(path, { signal, highWaterMark: 1 << 20 }))
        hash.update(z.instanceof(Uint8Array).parse(chunk));
      const right = hash.digest("hex") === sha256;
      // A file that changed while it was read is verified again.
      if (stamp === stampOf(path)) keep(path, stamp, right);
      return right;
    },
    remember: (path) => keep(path, stampOf(path), true),
  };
}

/** Changes with every write to the file, even one that keeps its size and modification time; null without a file. */
export function stampOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.size} ${found.mtimeMs} ${found.ctimeMs} ${found.ino}`;
}

function read(file: string): z.infer<typeof Notes> {
  try {
    return Notes.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return {};
  }
}
