import { basename, dirname } from "node:path";
import { displayPath, type FileImage, type TargetFile } from "../workspace/workspace.ts";
import type { IntentSpec } from "./action.ts";

/**
 * The intent to bring a path from one image to another. For a link, and for a folder that is created or removed, policy judges the parent
 * folder, because the target of the link is not written. Where `file.asked` names another folder, policy judges that one.
 */
export function entryStep({ file, current, target }: { file: TargetFile; current: FileImage; target: FileImage }): IntentSpec {
  const action = target === null ? "delete" : "write";
  const isFile = current?.kind === undefined && target?.kind === undefined;
  const isFolderMode = current?.kind === "folder" && target?.kind === "folder";
  if (file.asked === file.absolute && (isFile || isFolderMode))
    return { capability: "file_ops", action, args: { path: file.asked, absolute: file.absolute } };
  const above = file.asked === file.absolute ? dirname(file.absolute) : file.asked;
  return { capability: "file_ops", action: "write", args: { path: above, absolute: above, entry: displayPath(basename(file.absolute)) } };
}
