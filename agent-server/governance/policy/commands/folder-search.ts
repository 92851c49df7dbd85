import type { LooksLeft, PathContext } from "./types.ts";
import * as nodePath from "node:path";
import { type NamePattern, patternOf } from "./shell-fields.ts";
import { asks, type Finding, alwaysAsks } from "./command-findings.ts";
import { type Dirent, readdirSync } from "node:fs";

const maxGlobMatches = 256;

const maxWalkEntries = 4000;

/** System files that any program may read: headers, documentation, system information. */
export const openFolders =
  /^\/(?:usr\/(?:include|share|lib|lib64|libexec|bin|sbin|src|local\/(?:include|share|lib|bin|opt|go))|lib|lib64|bin|sbin|opt\/homebrew\/(?:include|share|lib|bin|opt))(?:\/|$)|^\/(?:private\/)?etc\/(?:os-release|lsb-release|debian_version|alpine-release|redhat-release|issue|timezone|localtime|hosts|hostname|services|protocols|shells|mime\.types)$/;

/** The files that a pattern matches; null when there are too many or the pattern is invalid. Hidden names need a literal dot. */
export function expandGlob(root: string, segments: readonly string[], looks: LooksLeft): { absolute: string; relative: string }[] | null {
  let found = [{ absolute: root, relative: "" }];
  let looked = 0;
  for (const [index, segment] of segments.entries()) {
    if (segment === "") continue;
    const isLast = index === segments.length - 1;
    const next: typeof found = [];
    const plain = !/[*?[\\({]/.test(segment);
    const pattern = plain ? null : patternOf(segment);
    if (!plain && pattern === null) return null;
    for (const folder of found) {
      if (plain) {
        next.push({ absolute: nodePath.join(folder.absolute, segment), relative: folder.relative + segment + (isLast ? "" : "/") });
        continue;
      }
      const entries = read(folder.absolute);
      if (entries === null) continue;
      looked += entries.length;
      looks.entries -= entries.length;
      if (looked > maxWalkEntries || looks.entries < 0) return null;
      for (const entry of entries) {
        if (entry.name.startsWith(".") && !segment.startsWith(".") && !segment.startsWith("\\.")) continue;
        if (pattern?.(entry.name) !== true || (!isLast && entry.isFile())) continue;
        next.push({ absolute: nodePath.join(folder.absolute, entry.name), relative: folder.relative + entry.name + (isLast ? "" : "/") });
      }
    }
    found = next;
    if (found.length > maxGlobMatches) return null;
  }
  return found;
}

export function read(folder: string): Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return null;
  }
}

/** Dependency and build folders, which searches skip or which contain nothing private. */
const skippedFolders = new Set([
  "node_modules",
  ".git",
  "target",
  ".venv",
  "venv",
  "vendor",
  "__pycache__",
  ".cache",
  "dist",
  ".next",
  ".gradle",
]);

/** True when a folder contains names that look like flags. */
export function hasDashNames(context: PathContext): boolean {
  return (context.cwds ?? []).some((cwd) => {
    const resolved = context.resolve(cwd);
    return resolved.ok && (read(resolved.absolute)?.some((entry) => entry.name.startsWith("-")) ?? true);
  });
}

/** The first secret file below a folder, without following links. A folder that is too large to check requires approval. */
export function findSecret(
  root: string,
  name: NamePattern | null,
  skipsHidden: boolean,
  inside: boolean,
  context: PathContext,
): Finding | null {
  if (!inside && openFolders.test(root)) return null;
  const folders = [root];
  const workspace = context.resolve(".");
  const couldBeSecret = (absolute: string, entry: string): boolean => {
    if (context.judgeName === null) return true;
    const relative = workspace.ok ? nodePath.relative(workspace.absolute, absolute) : entry;
    return relative.startsWith("..") || context.judgeName(relative) === "secret";
  };
  let looked = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of read(folder) ?? []) {
      looked += 1;
      context.looks.entries -= 1;
      if (looked > maxWalkEntries || context.looks.entries < 0) {
        return asks(
          "search-large",
          "The folder is too large to check for secret files.",
          ["Search with search_workspace, or name a smaller folder."],
          ["read"],
        );
      }
      if (skipsHidden && entry.name.startsWith(".")) continue;
      const absolute = nodePath.join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!skippedFolders.has(entry.name)) folders.push(absolute);
        // A folder counts only when it is searched by name; its files are checked one by one.
        if ((name !== null && !name(entry.name)) || !couldBeSecret(absolute, entry.name)) continue;
      } else if (name !== null && !name(entry.name)) continue;
      else if (!couldBeSecret(absolute, entry.name)) continue;
      const resolved = context.resolve(absolute);
      if (resolved.ok && resolved.sensitive === "secret") {
        return alwaysAsks(
          "secret-search",
          `Reads every file below a folder, including the secret file ${resolved.display}.`,
          ["Search with search_workspace or git grep, which skip secret files.", "Name the folders to search."],
          ["sensitive", "credentials", "read"],
        );
      }
    }
  }
  return null;
}
