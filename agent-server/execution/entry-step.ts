import { basename, dirname } from "node:path";
import type { FileImage, TargetFile } from "../workspace/workspace.ts";
import type { IntentSpec } from "./action.ts";

/**
 * What governance decides about when a path is brought from one image to another. For a link or a folder it is writing to the folder above,
 * because a link's own path leads elsewhere.
 * @param of.below the deepest folder above the path that exists, where others are missing
 */
export function entryStep(of: {
  readonly file: TargetFile;
  readonly current: FileImage;
  readonly target: FileImage;
  readonly below?: string | undefined;
}): IntentSpec {
  const { file, current, target, below } = of;
  const action = target === null ? "delete" : "write";
  if (below === undefined && current?.kind === undefined && target?.kind === undefined)
    return { capability: "file_ops", action, args: { path: file.asked, absolute: file.absolute } };
  const above = dirname(below ?? file.absolute);
  return { capability: "file_ops", action: "write", args: { path: above, absolute: above, entry: basename(file.absolute) } };
}
