import { imageOf, sameImage } from "../checkpoints/checkpoint-entries.ts";
import { type FileImage, isSpecial } from "../checkpoints/file-image.ts";
import { formatBytes } from "../text/output-bounds.ts";
import type { FilePath } from "../file-operations.ts";
import type { Acceptance } from "./change-decisions.ts";
import type { ChangedImages } from "./change-store.ts";

/** What a path holds, for a change that is decided as a whole. */
export interface WholeContent {
  readonly image: FileImage;
  /** Bytes of a file; the target of a link. */
  readonly size: number;
  readonly linkTarget?: string;
}

/** One line that stands for the content in the texts of a change; null where nothing exists. */
export function describeContent({ image, size, linkTarget }: WholeContent): string | null {
  if (image === null) return null;
  if (image.kind === "link") return `Link to ${linkTarget ?? "an unknown target"}\n`;
  const mode = (image.mode & 0o7777).toString(8).padStart(3, "0");
  if (isSpecial(image.kind)) return `Special file (${image.kind})\n`;
  if (image.kind === "folder") return `Folder, mode ${mode}\n`;
  return `File, ${formatBytes(size)}, mode ${mode}, SHA-256 ${image.hash.slice(0, 12)}\n`;
}

/** Plans the acceptance of a change that is decided as a whole: a conflict when the path no longer holds what the change was made from. */
export async function planWhole(
  path: FilePath,
  { before, after }: ChangedImages,
): Promise<Acceptance & { readonly current: FileImage; readonly isNeeded: boolean }> {
  const current = await imageOf(path);
  const isDone = sameImage(current, after);
  const fits = isDone || sameImage(current, before);
  return {
    accepted: new Set(fits ? [0] : []),
    conflicts: new Set(fits ? [] : [0]),
    text: null,
    problem: fits ? null : `${path.display} was changed in the meantime. It was not overwritten.`,
    current,
    isNeeded: !isDone,
  };
}
