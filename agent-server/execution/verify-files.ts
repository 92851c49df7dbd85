import { type FileImage, type FileOutcome, type FilePath, readImage, sha256, type Touch } from "../workspace/workspace.ts";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";

const Image = z.object({ hash: z.string(), mode: z.int() }).nullable();

/** The expected content of a file after an effect, and its content right before and right after the effect. */
export const Expectation = z.object({
  path: z.object({ absolute: z.string(), display: z.string() }),
  /** Null when no file is expected; a null `mode` accepts every mode. */
  expected: z.object({ hash: z.string(), mode: z.int().nullable() }).nullable(),
  before: Image,
  /** Read right after the effect. */
  found: Image,
});
export type Expectation = z.infer<typeof Expectation>;

/** What the disk must hold after a successful effect; null where the content cannot be predicted. */
export function expectationOf(touch: Touch, before: FileImage, found: FileImage, outcome: FileOutcome | undefined): Expectation | null {
  const { absolute, display } = touch.path;
  const path = { absolute, display };
  if (outcome?.as === "untouched" || outcome?.as === "unsaved") return null;
  // An editor can format on save, so the saved content is expected, unless the save changed nothing.
  const formatted = outcome?.as === "saved" && outcome.hash !== (before?.hash ?? null);
  if (outcome?.as === "saved" && (formatted || touch.planned === undefined))
    return { path, expected: outcome.hash === null ? null : { hash: outcome.hash, mode: null }, before, found };
  if (touch.planned === undefined) return null;
  if (touch.planned === null) return { path, expected: null, before, found };
  return { path, expected: { hash: sha256(touch.planned), mode: touch.plannedMode ?? before?.mode ?? null }, before, found };
}

/**
 * The finding for one file. `wrong`: the effect did not write the expected content. `changed`: it did, and
 * someone else changed the file since. `later`: a later action of Lancelot did. `moved`: the path now resolves to another file.
 * `unreadable`: the file could not be read.
 */
export interface FileFinding {
  readonly path: string;
  readonly state: "ok" | "later" | "changed" | "wrong" | "moved" | "unreadable";
  /** A sentence without its full stop; empty for `ok` and `later`. */
  readonly message: string;
}

/** Reads files again and compares them with what an effect should have written. Findings are returned, never thrown. */
export async function verifyFiles(
  expectations: readonly Expectation[],
  deps: { governance: Pick<Governance, "resolvePath">; touchedLater: (path: FilePath) => boolean },
): Promise<FileFinding[]> {
  return Promise.all(expectations.map((expectation) => verifyFile(expectation, deps)));
}

async function verifyFile(
  { path, expected, before, found }: Expectation,
  { governance, touchedLater }: Parameters<typeof verifyFiles>[1],
): Promise<FileFinding> {
  const { display } = path;
  const finding = (state: FileFinding["state"], message = ""): FileFinding => ({ path: display, state, message });
  if (!matches(found, expected)) return finding("wrong", wrongMessage(display, expected, before, found));
  try {
    const resolved = governance.resolvePath(path.absolute);
    if (!resolved.ok || resolved.absolute !== path.absolute)
      return finding("moved", `${display} now resolves to another file than the one that was written`);
    const now = await readImage(path);
    if (matches(now, expected)) return finding("ok");
    // Looked up after reading the file, because a later action takes its checkpoint before it writes.
    if (touchedLater(path)) return finding("later");
    return finding("changed", changedMessage(display, expected, before, now));
  } catch (error) {
    if (!(error instanceof LancelotError)) throw error;
    if (error.code === "denied") return finding("moved", `${display} now resolves to another file than the one that was written`);
    return finding("unreadable", `${display} could not be read back (${error.message})`);
  }
}

function matches(image: FileImage, expected: Expectation["expected"]): boolean {
  if (image === null || expected === null) return image === null && expected === null;
  return image.hash === expected.hash && (expected.mode === null || expected.mode === image.mode || process.platform === "win32");
}

function wrongMessage(display: string, expected: Expectation["expected"], before: FileImage, found: FileImage): string {
  if (expected === null) return `${display} should be deleted, but still exists`;
  if (found === null) return `${display} should exist after the write, but does not`;
  if (found.hash === expected.hash && expected.mode !== null)
    return `${display} has mode ${octal(found.mode)}, expected ${octal(expected.mode)}`;
  if (found.hash === before?.hash) return `${display} should be written, but its content is unchanged`;
  return `${display} has other content than the action wrote`;
}

function changedMessage(display: string, expected: Expectation["expected"], before: FileImage, now: FileImage): string {
  if (now === null) return `${display} was deleted by someone else after it was written`;
  if (expected !== null && now.hash === before?.hash) return `${display} was reverted by someone else after it was written`;
  return `${display} was changed by someone else after it was ${expected === null ? "deleted" : "written"}`;
}

function octal(mode: number): string {
  return mode.toString(8);
}
