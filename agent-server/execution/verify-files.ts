import { type FileImage, type FileOutcome, type FilePath, readImage, sha256, type Touch } from "../workspace/workspace.ts";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";

const Image = z.object({ hash: z.string(), mode: z.int() }).nullable();

/** What a file is to hold after an effect, and what it held right before and right after it. */
export const Expectation = z.object({
  path: z.object({ absolute: z.string(), display: z.string() }),
  /** Null: no file. `mode` null: whatever it has. */
  expected: z.object({ hash: z.string(), mode: z.int().nullable() }).nullable(),
  before: Image,
  /** Read when the effect had ended. */
  found: Image,
});
export type Expectation = z.infer<typeof Expectation>;

/** What must be on the disk for an effect to have worked; null where nothing can be expected of a touched file. */
export function expectationOf(touch: Touch, before: FileImage, found: FileImage, left: FileOutcome | undefined): Expectation | null {
  const { absolute, display } = touch.path;
  const path = { absolute, display };
  if (left?.as === "untouched" || left?.as === "unsaved") return null;
  // Editors save in their own way (a formatter), so what they read back as counts, unless that is what was there before.
  const formatted = left?.as === "saved" && left.hash !== (before?.hash ?? null);
  if (left?.as === "saved" && (formatted || touch.planned === undefined))
    return { path, expected: left.hash === null ? null : { hash: left.hash, mode: null }, before, found };
  if (touch.planned === undefined) return null;
  if (touch.planned === null) return { path, expected: null, before, found };
  return { path, expected: { hash: sha256(touch.planned), mode: touch.plannedMode ?? before?.mode ?? null }, before, found };
}

/**
 * What verification found of one file. `wrong`: the effect did not leave what it was to leave. `changed`: it did, and somebody
 * else changed the file since, whose work that is. `later`: a later action of ours did. `moved`: the path leads elsewhere now.
 * `unreadable`: it could not be looked at.
 */
export interface FileFinding {
  readonly path: string;
  readonly state: "ok" | "later" | "changed" | "wrong" | "moved" | "unreadable";
  /** A sentence without its full stop; empty for `ok` and `later`. */
  readonly message: string;
}

/** Looks, with fresh eyes, whether files are as an effect was to leave them. Never throws for what it finds. */
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
  if (!matches(found, expected)) return finding("wrong", wrongWords(display, expected, before, found));
  try {
    const resolved = governance.resolvePath(path.absolute);
    if (!resolved.ok || resolved.absolute !== path.absolute)
      return finding("moved", `${display} leads elsewhere now than when it was written`);
    const now = await readImage(path);
    if (matches(now, expected)) return finding("ok");
    // Looked up after the file was read: who writes later takes a checkpoint first.
    if (touchedLater(path)) return finding("later");
    return finding("changed", changedWords(display, expected, before, now));
  } catch (error) {
    if (!(error instanceof LancelotError)) throw error;
    if (error.code === "denied") return finding("moved", `${display} leads elsewhere now than when it was written`);
    return finding("unreadable", `${display} could not be read back (${error.message})`);
  }
}

function matches(image: FileImage, expected: Expectation["expected"]): boolean {
  if (image === null || expected === null) return image === null && expected === null;
  return image.hash === expected.hash && (expected.mode === null || expected.mode === image.mode || process.platform === "win32");
}

function wrongWords(display: string, expected: Expectation["expected"], before: FileImage, found: FileImage): string {
  if (expected === null) return `${display} was to be deleted and is still there`;
  if (found === null) return `${display} was to be written and is not there`;
  if (found.hash === expected.hash && expected.mode !== null)
    return `${display} has the permissions ${octal(found.mode)} and was to have ${octal(expected.mode)}`;
  if (found.hash === before?.hash) return `${display} was to be written and reads as before`;
  return `${display} holds other bytes than were to be written`;
}

function changedWords(display: string, expected: Expectation["expected"], before: FileImage, now: FileImage): string {
  if (now === null) return `${display} was removed by somebody else after it was written`;
  if (expected !== null && now.hash === before?.hash) return `${display} was put back by somebody else after it was written`;
  return `${display} was changed by somebody else after it was ${expected === null ? "deleted" : "written"}`;
}

function octal(mode: number): string {
  return mode.toString(8);
}
