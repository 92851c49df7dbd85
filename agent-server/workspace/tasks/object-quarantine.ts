import { existsSync } from "node:fs";
import { appendFile, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { createPace } from "../effects/tree-walk.ts";
import { type Git, gitOf } from "../git/git.ts";
import { acceptedMistakes, borrowObjects } from "../git/git-transfer.ts";
import { objectFormat } from "../git/ref-state.ts";
import { inUntrustedFolder, type UntrustedFolder } from "./untrusted-folder.ts";

/** What may be imported at once. */
export interface ImportLimits {
  /** Object and pack files that are copied, and their bytes. */
  readonly files: number;
  readonly fileBytes: number;
  /** New objects, and the bytes of their content. */
  readonly objects: number;
  readonly contentBytes: number;
}

const defaultLimits: ImportLimits = {
  files: 200_000,
  fileBytes: 512 * 1024 * 1024,
  objects: 200_000,
  contentBytes: 1024 * 1024 * 1024,
};

const megabyte = 1024 * 1024;
/** Memory that git may request at once: no commit, tree or delta needs more. Larger files are streamed. */
const maxAllocation = 192 * megabyte;
/** The same for reading commits, where it limits the differences of a commit to a million files. */
const maxReading = 8 * megabyte;
/** Timeout without output (ms), which also ends the reading of content that was compressed to hide its size. */
const quietMs = 120_000;

/** Objects of a task that git has verified. They exist only as long as the folder they were verified in. */
export interface VerifiedObjects {
  /** A private repository with the new objects, which also reads those of the real one. */
  readonly git: Git;
  /** Exactly the new objects; null when there are none. */
  readonly pack: string | null;
  readonly count: number;
}

/**
 * Copies the objects that a task wrote, and verifies those which `tips` need beyond the real repository: hashes, format, names in trees, and
 * that nothing is missing. Git reads the copies in one private repository, of which only a pack reaches a second one, where every hash is
 * computed again. Both have settings of this product only, and no source of objects besides the real repository.
 * @param upper the layer's `.git`
 * @param known hashes of the real repository, whose objects are complete
 * @throws LancelotError `denied` for damaged, unsafe or incomplete objects, `too_large`, `cancelled`, `unavailable`.
 */
export async function verifyObjects(of: {
  git: Git;
  upper: string;
  tips: readonly string[];
  known: readonly string[];
  /** Empty and private. */
  folder: string;
  signal: AbortSignal;
  limits?: ImportLimits;
}): Promise<VerifiedObjects> {
  const { git, upper, folder, signal, limits = defaultLimits } = of;
  const range = [...new Set(of.tips), ...[...new Set(of.known)].map((hash) => `^${hash}`), ""].join("\n");
  const unverified = await openPrivate(git, join(folder, "unverified"), signal);
  const packs = await copyObjects({ upper, real: git.repository.commonDir, target: unverified.repository.gitDir, limits, signal });
  const verified = await openPrivate(git, join(folder, "verified"), signal);
  const reading = await gitOf(verified.repository, verified.repository.workTree, signal, maxReading);
  try {
    for (const pack of packs) await unverified.run("index-pack", [pack], undefined, { quietMs });
    const hashes = await newObjects(unverified, range);
    await expectSize(unverified, hashes, limits);
    if (hashes.length === 0) return { git: reading, pack: null, count: 0 };
    const input = `${hashes.join("\n")}\n`;
    const written = await unverified.run("pack-objects", ["-q", "--window=0", join(folder, "new")], undefined, { input, quietMs });
    const pack = join(verified.repository.gitDir, "objects", "pack", `pack-${written.trim()}.pack`);
    await mkdir(join(verified.repository.gitDir, "objects", "pack"));
    // Its list of hashes is left behind, because it has the names that the task gave to its objects.
    await rename(join(folder, `new-${written.trim()}.pack`), pack);
    const strict = `--strict=${acceptedMistakes.map((id) => `${id}=ignore`).join(",")}`;
    await verified.run("index-pack", [strict, pack], undefined, { quietMs });
    const count = (await newObjects(verified, range)).length;
    return { git: reading, pack, count };
  } catch (error) {
    throw damaged(error);
  }
}

async function openPrivate(git: Git, folder: string, signal: AbortSignal): Promise<Git> {
  const gitDir = await borrowObjects(git.repository, folder, objectFormat(git));
  await appendFile(join(gitDir, "config"), "[core]\n\tbigFileThreshold = 16m\n[pack]\n\tthreads = 1\n");
  return gitOf({ gitDir, commonDir: gitDir, workTree: folder }, folder, signal, maxAllocation);
}

/** Lists the objects that only the tips reach, and fails for a missing one. */
async function newObjects(git: Git, range: string): Promise<string[]> {
  const listed = await git.run("rev-list", ["--objects", "--no-object-names", "--stdin"], undefined, { input: range, quietMs });
  return listed.split("\n").filter((hash) => hash !== "");
}

async function expectSize(git: Git, hashes: readonly string[], limits: ImportLimits): Promise<void> {
  const input = hashes.map((hash) => `${hash}\n`).join("");
  const sizes = hashes.length === 0 ? "" : await git.run("cat-file", ["--batch-check=%(objectsize)"], undefined, { input, quietMs });
  const bytes = sizes.split("\n").reduce((sum, size) => sum + (Number(size) || 0), 0);
  if (hashes.length > limits.objects || bytes > limits.contentBytes) {
    throw new LancelotError(
      "too_large",
      `The task's commits have ${hashes.length} objects and ${Math.round(bytes / megabyte)} MB, which is more than the limit. They were not imported.`,
    );
  }
}

/**
 * Copies object and pack files, by their form alone: no index of a pack, no alternates, and nothing that is no regular file. Files that the
 * real repository has are left out, because git touches a pack when it has an object already, and an overlay then copies all of it. One with
 * other content is no loss: its objects are missing then.
 * @returns the packs.
 */
async function copyObjects(of: {
  upper: string;
  /** `.git` folders. */
  real: string;
  target: string;
  limits: ImportLimits;
  signal: AbortSignal;
}): Promise<string[]> {
  const { upper, limits, signal } = of;
  const pace = createPace();
  const packs: string[] = [];
  let files = 0;
  let bytes = 0;
  const copyFrom = async (folder: UntrustedFolder, inner: string, wanted: RegExp, rename?: () => string): Promise<void> => {
    const to = join(of.target, "objects", inner);
    for (const { name, kind } of folder.entries(limits.files)) {
      if (kind !== "file" || !wanted.test(name) || existsSync(join(of.real, "objects", inner, name))) continue;
      if (signal.aborted) throw new LancelotError("cancelled", "The import was stopped before anything was changed.");
      await pace();
      files += 1;
      if (files > limits.files)
        throw new LancelotError("too_large", `The task wrote more than ${limits.files} git objects, so its commits were not imported.`);
      await mkdir(to, { recursive: true });
      bytes += folder.copy(name, join(to, rename?.() ?? name), limits.fileBytes - bytes) ?? 0;
    }
  };
  await inUntrustedFolder(upper, (repository) =>
    repository.within("objects", async (objects) => {
      for (const { name, kind } of objects.entries(limits.files)) {
        if (kind !== "folder") continue;
        if (/^[0-9a-f]{2}$/.test(name)) await objects.within(name, (inner) => copyFrom(inner, name, /^(?:[0-9a-f]{38}|[0-9a-f]{62})$/));
        if (name === "pack") {
          const numbered = (): string => {
            packs.push(join(of.target, "objects", "pack", `pack-${packs.length}.pack`));
            return `pack-${packs.length - 1}.pack`;
          };
          await objects.within(name, (inner) => copyFrom(inner, name, /\.pack$/, numbered));
        }
      }
    }),
  );
  return packs;
}

/** What git said about the objects; a full disk, a timeout and a cancellation stay what they are. */
function damaged(error: unknown): unknown {
  if (!(error instanceof LancelotError) || !(error.cause instanceof Error)) return error;
  if (/No space left on device|Disk quota exceeded/.test(error.cause.message)) return error;
  return new LancelotError(
    "denied",
    "The task's commits are damaged, incomplete or unsafe, so they were not imported. Its files are not affected.",
    { cause: error.cause },
  );
}
