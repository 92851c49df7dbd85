import type { PathContext } from "./types.ts";
import * as nodePath from "node:path";
import { patternOf } from "./shell-fields.ts";
import { asks, type Finding, holds } from "./command-findings.ts";
import { type Dirent, readdirSync } from "node:fs";

const maxGlobMatches = 256;

const maxWalkEntries = 4000;

/** What any program may read of a system: headers, documentation, what says which system it is. */
export const openFolders =
  /^\/(?:usr\/(?:include|share|lib|lib64|libexec|bin|sbin|src|local\/(?:include|share|lib|bin|opt|go))|lib|lib64|bin|sbin|opt\/homebrew\/(?:include|share|lib|bin|opt))(?:\/|$)|^\/(?:private\/)?etc\/(?:os-release|lsb-release|debian_version|alpine-release|redhat-release|issue|timezone|localtime|hosts|hostname|services|protocols|shells|mime\.types)$/;

/** The files a pattern means; null when they are too many or the pattern cannot be read. Hidden names need a written dot. */
export function expandGlob(root: string, segments: readonly string[]): { absolute: string; relative: string }[] | null {
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
      if (looked > maxWalkEntries) return null;
      for (const entry of entries) {
        if (entry.name.startsWith(".") && !segment.startsWith(".") && !segment.startsWith("\\.")) continue;
        if (pattern?.test(entry.name) !== true || (!isLast && entry.isFile())) continue;
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

/** Folders of software of others and of build results; searches pass them by or find nothing private in them. */
const passedBy = new Set([
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

/** True when a folder holds names that look like flags. */
export function hasDashNames(context: PathContext): boolean {
  return (context.cwds ?? []).some((cwd) => {
    const resolved = context.resolve(cwd);
    return resolved.ok && (read(resolved.absolute)?.some((entry) => entry.name.startsWith("-")) ?? true);
  });
}

/** The first secret file below a folder, by a walk that does not follow links; asked when it is too large to be sure. */
export function findSecret(root: string, name: RegExp | null, skipsHidden: boolean, inside: boolean, context: PathContext): Finding | null {
  if (!inside && openFolders.test(root)) return null;
  const folders = [root];
  let looked = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of read(folder) ?? []) {
      looked += 1;
      if (looked > maxWalkEntries) {
        return asks(
          "search-large",
          "The folder is too large to be sure that no secret file is read.",
          ["Search with search_files, or name a smaller folder."],
          ["read"],
        );
      }
      if (skipsHidden && entry.name.startsWith(".")) continue;
      const absolute = nodePath.join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!passedBy.has(entry.name)) folders.push(absolute);
        // A folder is passed on itself only when it is asked for by name; the files in it are looked at one by one.
        if ((name !== null && !name.test(entry.name)) || !couldBeSecret(absolute, entry.name, context)) continue;
      } else if (name !== null && !name.test(entry.name)) continue;
      else if (!couldBeSecret(absolute, entry.name, context)) continue;
      const resolved = context.resolve(absolute);
      if (resolved.ok && resolved.sensitive === "secret") {
        return holds(
          "secret-search",
          `This reads every file below a folder, and ${resolved.display} among them is a secret file.`,
          ["Search with search_files or git grep, which leave secret files out.", "Name the folders to search."],
          ["sensitive", "credentials", "read"],
        );
      }
    }
  }
  return null;
}

function couldBeSecret(absolute: string, name: string, context: PathContext): boolean {
  if (context.judgeName === null) return true;
  const root = context.resolve(".");
  const relative = root.ok ? nodePath.relative(root.absolute, absolute) : name;
  return relative.startsWith("..") || context.judgeName(relative) === "secret";
}
