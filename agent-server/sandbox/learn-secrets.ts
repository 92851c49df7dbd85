import { readdirSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { Log } from "../security/security.ts";
import { openForReading, type SecretIndex } from "../workspace/workspace.ts";

export interface SecretLearnerDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  readonly index: Pick<SecretIndex, "find">;
  /** Receives the start of each secret file; redaction then finds its values everywhere. */
  readonly learn: (path: string, bytes: Uint8Array) => void;
  readonly log: Log;
}

/** Bytes of a file that are read. */
const maxBytes = 256 * 1024;
/** Most files that are read in folders that contain nothing but secrets. */
const maxInFolders = 500;

/**
 * Learns the values of the workspace's secret files, those included that commands may read. Call it before each command: it reads only files
 * that changed. Never throws, because a command whose secrets are masked may run all the same.
 */
export function createSecretLearner({ workspace, index, learn, log }: SecretLearnerDeps): () => Promise<void> {
  const known = new Map<string, string>();

  async function read(path: string): Promise<void> {
    const { handle, stats } = await openForReading({ absolute: join(workspace, path), display: path });
    try {
      const stamp = `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
      if (known.get(path) === stamp) return;
      const bytes = Buffer.alloc(Math.min(stats.size, maxBytes));
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
      learn(path, bytes.subarray(0, bytesRead));
      known.set(path, stamp);
    } finally {
      await handle.close();
    }
  }

  function filesIn(folders: readonly string[]): string[] {
    const files: string[] = [];
    const left = [...folders];
    for (let folder = left.pop(); folder !== undefined && files.length < maxInFolders; folder = left.pop()) {
      try {
        for (const entry of readdirSync(join(workspace, folder), { withFileTypes: true })) {
          const path = `${folder}/${entry.name}`;
          if (entry.isDirectory()) left.push(path);
          else if (entry.isFile()) files.push(path);
        }
      } catch {
        // A folder that cannot be read is hidden from commands as a whole.
      }
    }
    return files.slice(0, maxInFolders);
  }

  return async () => {
    try {
      const { files, folders } = await index.find({ others: [], isReadable: () => false });
      for (const path of [...files, ...filesIn(folders)]) {
        await read(path).catch((error: unknown) => {
          // A file that is gone, or that is no regular one, teaches nothing.
          if (!(error instanceof LancelotError)) log(`the secret file ${path} could not be read`, error);
        });
      }
    } catch (error) {
      log("the secret files of the workspace could not be listed", error);
    }
  };
}
