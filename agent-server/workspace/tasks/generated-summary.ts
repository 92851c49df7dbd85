import type { GeneratedGroup } from "../../contract/changes.ts";
import type { LayerChange } from "./layer-scan.ts";
import type { GeneratedFiles } from "./task-store.ts";

/** Groups of a summary. */
const maxGroups = 50;

/** Summarizes generated files; null for none. @param changes in the order of `scanLayer`: a folder before its content */
export function generatedFiles(
  changes: readonly LayerChange[],
  folders: ReadonlySet<string>,
  receiptId: string | null,
): GeneratedFiles | null {
  if (changes.length === 0) return null;
  const paths: string[] = [];
  const roots = new Set<string>();
  const groups = new Map<string, { created: number; modified: number; deleted: number }>();
  for (const { path, before, after } of changes) {
    if (!isBelow(path, roots)) {
      roots.add(path);
      paths.push(path);
    }
    if ((after ?? before)?.kind === "folder") continue;
    const name = groupOf(path, folders);
    const counts = groups.get(name) ?? { created: 0, modified: 0, deleted: 0 };
    counts[before === null ? "created" : after === null ? "deleted" : "modified"] += 1;
    groups.set(name, counts);
  }
  return { paths, groups: largestFirst(groups), receiptId, at: new Date().toISOString() };
}

function largestFirst(groups: ReadonlyMap<string, Omit<GeneratedGroup, "name">>): GeneratedGroup[] {
  const total = ({ created, modified, deleted }: Omit<GeneratedGroup, "name">): number => created + modified + deleted;
  const sorted = [...groups].map(([name, counts]): GeneratedGroup => ({ name, ...counts })).toSorted((a, b) => total(b) - total(a));
  return sorted.slice(0, maxGroups);
}

/** Counts changed files by the folder at the top of the workspace, largest first. */
export function summarizeGenerated(
  files: readonly { readonly path: string; readonly change: "created" | "modified" | "deleted" }[],
): GeneratedGroup[] {
  const groups = new Map<string, { created: number; modified: number; deleted: number }>();
  for (const { path, change } of files) {
    const [name = path] = path.split("/");
    const counts = groups.get(name) ?? { created: 0, modified: 0, deleted: 0 };
    counts[change] += 1;
    groups.set(name, counts);
  }
  return largestFirst(groups);
}

function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  for (let slash = path.lastIndexOf("/"); slash !== -1; slash = path.lastIndexOf("/", slash - 1))
    if (folders.has(path.slice(0, slash))) return true;
  return false;
}

/** The outermost folder with a name of generated folders, else the folder of the file, else the file. */
function groupOf(path: string, folders: ReadonlySet<string>): string {
  const parts = path.split("/");
  const index = parts.findIndex((part) => folders.has(part));
  if (index !== -1) return parts.slice(0, index + 1).join("/");
  return parts.length === 1 ? path : parts.slice(0, -1).join("/");
}
