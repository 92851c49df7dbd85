import { lstatSync, type Stats } from "node:fs";
import { join, relative, sep } from "node:path";
import type { Storage } from "../../storage/storage.ts";
import { errno } from "../file-errors.ts";
import { workspaceLayer } from "./workspace-layer.ts";

/**
 * Tells whether a task may have another version of a file than the workspace: a proposed change, an entry of its own layer, or anything
 * outside the workspace, where each task has folders of its own.
 * @param root the workspace; absolute, links resolved
 */
export function createTaskCopies({ db }: Storage, root: string, folderOf: (questId: string) => string) {
  const proposed = db.prepare("SELECT 1 FROM changes WHERE quest_id = ? AND absolute = ? AND status = 'pending' LIMIT 1");
  return (questId: string, absolute: string): boolean => {
    const path = relative(root, absolute);
    if (path === "" || path === ".." || path.startsWith(`..${sep}`)) return true;
    if (proposed.get(questId, absolute) !== undefined) return true;
    let at = join(folderOf(questId), workspaceLayer(root).name, "upper");
    const names = path.split(sep);
    for (const [index, name] of names.entries()) {
      at = join(at, name);
      const stats = entry(at);
      if (stats === "unreadable") return true;
      if (stats === null) return false;
      if (index === names.length - 1 || !stats.isDirectory()) return true;
    }
    return true;
  };
}

function entry(path: string): Stats | null | "unreadable" {
  try {
    return lstatSync(path);
  } catch (error) {
    return errno(error) === "ENOENT" ? null : "unreadable";
  }
}
