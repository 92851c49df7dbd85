import { readOwn } from "./checkpoint-entries.ts";
import { type FileImage, isSpecial } from "./file-image.ts";
import type { ObjectStore } from "./object-store.ts";
import type { Plan, Reversal } from "./restore-plan.ts";
import { displayPath, fromBytes } from "../byte-path.ts";
import { decodeText } from "../text/encoding.ts";
import { unifiedDiff } from "../text/hunks.ts";

/** Number of files with line diffs, and the size in bytes above which a file has none. */
const maxShown = 500;
const maxBytes = 2 * 1024 * 1024;

/** Describes a restore for people: one unified diff per file, or a sentence for files without lines. */
export async function describeReversals(
  { reversals, conflicts }: Plan,
  { objects }: { objects: ObjectStore },
): Promise<{ path: string; diff: string }[]> {
  const described: { path: string; diff: string }[] = [];
  for (const reversal of reversals) {
    const path = reversal.file.display;
    const diff =
      described.length < maxShown
        ? await describe(reversal, objects)
        : `(${wordOf(reversal)}; line diff omitted because of the number of files)\n`;
    described.push({ path, diff });
  }
  return [...described, ...conflicts.map(({ path, message }) => ({ path, diff: `(not restored: ${message})` }))];
}

async function describe(reversal: Reversal, objects: ObjectStore): Promise<string> {
  const { file, current, target, unsaved } = reversal;
  const path = file.display;
  if (current?.kind === "folder" || isSpecial(current?.kind) || target?.hash === "") return `(${wordOf(reversal)})\n`;
  const now = current === null ? null : current.kind === "link" ? null : await readOwn(file);
  const then = target === null ? null : await objects.get(target.hash);
  if (current?.kind === "link" || target?.kind === "link") {
    const to = target?.kind === "link" && then !== null ? ` to ${displayPath(fromBytes(then))}` : "";
    return `(${wordOf(reversal)}${to})\n`;
  }
  const [from, to] = [now === null ? null : decodeText(now), then === null ? null : decodeText(then)];
  if ((now !== null && from === null) || (then !== null && to === null)) return `Binary file ${path} differs\n`;
  if ((now?.byteLength ?? 0) > maxBytes || (then?.byteLength ?? 0) > maxBytes) return `(${wordOf(reversal)}; too large for a line diff)\n`;
  const text = unifiedDiff(path, unsaved ?? from?.text ?? null, to?.text ?? null);
  const modes = current !== null && target !== null && current.mode !== target.mode;
  return modes ? `old mode ${current.mode.toString(8)}\nnew mode ${target.mode.toString(8)}\n${text}` : text;
}

function wordOf({ current, target }: Pick<Reversal, "current" | "target">): string {
  if (target === null) return `this ${nameOf(current)} will be deleted`;
  if (current === null) return `this ${nameOf(target)} will be created again`;
  if (nameOf(current) !== nameOf(target)) return `this ${nameOf(current)} will become a ${nameOf(target)} again`;
  return `this ${nameOf(target)} will be restored`;
}

function nameOf(image: FileImage): string {
  return image?.kind ?? "file";
}
