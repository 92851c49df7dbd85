import { readdirSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { Log } from "../security/security.ts";
import { openForReading, type SecretPaths } from "../workspace/workspace.ts";

export interface SecretLearnerDeps {
  /** Receives the start of each secret file; redaction then finds its values everywhere. */
  readonly learn: (path: string, bytes: Uint8Array) => void;
  readonly log: Log;
}

/**
 * Learns the values of secret files below `root`, those included that commands may read. It reads only files that changed, and never throws,
 * because a command whose secrets are masked may run all the same.
 */
export type LearnSecrets = (root: string, found: SecretPaths) => Promise<void>;

/** Bytes of a file that are read. */
const maxBytes = 256 * 1024;
/** Most files that are read in folders that contain nothing but secrets. */
const maxInFolders = 500;

export function createSecretLearner({ learn, log }: SecretLearnerDeps): LearnSecrets {
  const known = new Map<string, string>();

  async function read(absolute: string, path: string): Promise<void> {
    const { handle, stats } = await openForReading({ absolute, display: path });
    try {
      const stamp = `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
      if (known.get(absolute) === stamp) return;
      const bytes = Buffer.alloc(Math.min(stats.size, maxBytes));
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
      learn(path, bytes.subarray(0, bytesRead));
      known.set(absolute, stamp);
    } finally {
      await handle.close();
    }
  }

  return async (root, { files, folders, readable }) => {
    for (const path of [...files, ...readable, ...filesIn(root, folders)]) {
      await read(join(root, path), path).catch((error: unknown) => {
        // A file that is gone, or that is no regular one, teaches nothing.
        if (!(error instanceof LancelotError)) log(`the secret file ${path} could not be read`, error);
      });
    }
  };
}

function filesIn(root: string, folders: readonly string[]): string[] {
  const files: string[] = [];
  const left = [...folders];
  for (let folder = left.pop(); folder !== undefined && files.length < maxInFolders; folder = left.pop()) {
    try {
      for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
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
