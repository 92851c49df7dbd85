import { homedir } from "node:os";
import * as nodePath from "node:path";
import { fileURLToPath } from "node:url";
import {
  hasEncodedSyntax,
  hasForeignSyntax,
  isForeignName,
  looksShortened,
  type Platform,
  type Refusal,
  refuseText,
  refuseWindows,
} from "./path-syntax.ts";
import { loadPathRules, type PathRules } from "./path-table.ts";
import { contentMatches, type EntryType, isSameEntry, walk } from "./path-resolution.ts";

/** A path as the system would open it, with the policy's verdict. */
export type ResolvedPath =
  | {
      readonly ok: true;
      /** Absolute, with all links resolved. Use this path only. */
      readonly absolute: string;
      /** With forward slashes: relative to the workspace when inside (the root is `.`), else absolute. */
      readonly display: string;
      readonly inside: boolean;
      /** Type of the last part. */
      readonly type: EntryType;
      /** `secret` (tools never read it), `protected` (writes require approval), or null. */
      readonly sensitive: "secret" | "protected" | null;
      /** The rule that makes it sensitive. */
      readonly rule: string | null;
    }
  | ({ readonly ok: false } & Refusal);

export interface PathPolicy {
  /**
   * Resolves a path as the system would and judges it. Never throws. About 20 µs for an existing file: check again
   * right before the effect (`stillSame`) and use `absolute` alone. It cannot detect a hard link to a secret under
   * an ordinary name, a file system mounted over a workspace folder, or a swap between the last check and the open.
   * Therefore files are opened without following a link in their last part.
   */
  readonly resolve: (path: string) => ResolvedPath;
  /** True while a path leads to the same place and gets the same verdict. */
  readonly stillSame: (resolved: ResolvedPath) => boolean;
  /** Judges by name alone, for walks of the workspace that follow no links. `relative` is as in `display`. */
  readonly judgeName: (relative: string) => "secret" | "protected" | null;
  /** True when the content at `place` would be secret at a path of the workspace. `relative` is as in `display`; no link is followed. */
  readonly isSecretFile: (relative: string, place: string) => boolean;
  /** Why a file is reviewed on its own: the program that would obey it. Null for other files. `relative` is as in `display`. */
  readonly obeyed: (relative: string) => string | null;
  /** The message of a path rule. */
  readonly message: (rule: string) => string;
  /** Why writes to an overly broad workspace (a home or a whole disk) require approval; null for an ordinary folder. */
  readonly broad: string | null;
  /** SHA-256 (hex) of the rule table. */
  readonly version: string;
  /** Why the table is unusable; then every path is denied. */
  readonly problem: string | null;
}

export interface PathPolicyDeps {
  /** Absolute; null without a workspace. */
  workspace: string | null;
  dataDir: string;
  configDir: string;
  home?: string;
  platform?: Platform;
}

const ownMessages = new Map([
  ["own.secret", "Lancelot's database, keys and checkpoints are blocked for tools."],
  ["own.data", "Lancelot's settings, soul and rules can only be changed by you, not by tools."],
  ["name.portable", "Windows does not allow this file name, so the project could not be checked out there."],
]);

/** Folders with devices and process information instead of files. */
const systemFolders = ["/dev", "/proc", "/sys", "/.vol"];

/** The path policy of one workspace. With an unusable rule table it denies every path. */
export function createPathPolicy(deps: PathPolicyDeps): PathPolicy {
  const platform: Platform = deps.platform ?? (process.platform === "win32" ? "win32" : process.platform === "darwin" ? "darwin" : "linux");
  const home = deps.home ?? homedir();
  const root = deps.workspace === null ? null : real(deps.workspace);
  const own = [deps.configDir, nodePath.join(deps.configDir, "..", "soul")].map(real);
  const dataDir = real(deps.dataDir);

  let rules: PathRules;
  try {
    rules = loadPathRules(deps.configDir);
  } catch (error) {
    const refused: ResolvedPath = { ok: false, rule: "path.table", message: error instanceof Error ? error.message : String(error) };
    return {
      resolve: () => refused,
      stillSame: () => false,
      judgeName: () => "secret",
      isSecretFile: () => true,
      obeyed: () => null,
      message: () => refused.message,
      broad: null,
      version: "",
      problem: refused.message,
    };
  }

  function resolve(input: string): ResolvedPath {
    const refusal = refuseText(input);
    if (refusal !== null) return { ok: false, ...refusal };
    let path = input;
    let fromUrl = false;
    const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(input)?.[1];
    if (scheme !== undefined || /^file:/i.test(input)) {
      const opened = openUrl(input, platform);
      if (typeof opened !== "string") return { ok: false, ...opened };
      path = opened;
      fromUrl = true;
    } else if (input === "~" || input.startsWith("~/") || (platform === "win32" && input.startsWith("~\\"))) {
      path = nodePath.join(home, input.slice(1));
    }
    if (platform === "win32") {
      const below = root === null ? null : stripRoot(path, root);
      const foreign = refuseWindows(below ?? path);
      if (foreign !== null) return { ok: false, ...foreign };
    }
    if (!nodePath.isAbsolute(path)) {
      if (root === null) {
        return {
          ok: false,
          rule: "path.no-workspace",
          message: "Relative paths need an open folder. Open a folder first.",
        };
      }
      // Not path.join, which would apply `..` before following the link in front of it.
      path = `${root}${nodePath.sep}${path}`;
    }
    return judge(path, input, fromUrl);
  }

  /** True for a system folder, unless the workspace is in one (such as /dev/shm) and contains the path. */
  function isForeignSystem(path: string): boolean {
    return platform !== "win32" && isSystem(path) && !(root !== null && isSystem(root) && stripRoot(path, root) !== null);
  }

  function judge(path: string, input: string, fromUrl: boolean): ResolvedPath {
    const lexical = nodePath.normalize(path);
    if (isForeignSystem(lexical)) return systemRefusal;
    const walked = walk(path);
    if (!walked.ok) return walked;
    const { type } = walked;
    if (type === "missing") {
      // An absolute path may contain existing folders with any name.
      const whole = fromUrl || nodePath.isAbsolute(input) ? null : refuseMissing(input, platform);
      const foreign = whole ?? refuseMissing(walked.missing, platform);
      if (foreign !== null) return { ok: false, ...foreign };
    }
    const below = root === null ? null : relativeTo(root, walked.absolute, platform);
    const inside = below !== null;
    if (fromUrl && !inside) return { ok: false, rule: "path.url", message: "A file: URL must point into the workspace. Use a plain path." };
    const absolute = inside && root !== null ? nodePath.join(root, below) : walked.absolute;
    if (isForeignSystem(absolute)) return systemRefusal;
    const sensitive = sensitivity(absolute, below, lexical, type);
    const display = below === null ? slashes(absolute) : below === "" ? "." : slashes(below);
    return { ok: true, absolute, display, inside, type, sensitive: sensitive?.sensitive ?? null, rule: sensitive?.rule ?? null };
  }

  function sensitivity(absolute: string, below: string | null, lexical: string, type: EntryType) {
    const mine = ownRule(absolute, below);
    if (mine !== null) return mine;
    // The requested name counts as much as its target: `.env` linked to `settings.txt` is still `.env`.
    const asked = root === null ? null : (stripRoot(lexical, root) ?? stripRoot(lexical, deps.workspace ?? root));
    // A folder is judged by its content: `.ssh` is sensitive, a source folder called `credentials` is not.
    const child = type === "directory" ? `${nodePath.sep}-` : "";
    const verdicts = [...rules.judge(absolute + child, (below ?? absolute) + child)];
    if (lexical !== absolute) verdicts.push(...rules.judge(lexical + child, (asked ?? lexical) + child));
    let found: { sensitive: "secret" | "protected"; rule: string } | null = null;
    for (const verdict of verdicts) {
      if (found?.sensitive === "secret" || (found !== null && verdict.sensitive === "protected")) continue;
      if (verdict.content !== null && type === "file" && !contentMatches(absolute, verdict.content)) continue;
      found = verdict;
    }
    if (found !== null || type !== "missing") return found;
    const names = (below ?? absolute).split(/[/\\]/);
    return names.some(isForeignName) ? { sensitive: "protected" as const, rule: "name.portable" } : null;
  }

  /** The innermost of workspace, data folder and Lancelot's other folders determines the owner of a file. */
  function ownRule(absolute: string, below: string | null): { sensitive: "secret" | "protected"; rule: string } | null {
    const inData = relativeTo(dataDir, absolute, platform, true);
    if (inData !== null && !(below !== null && root !== null && isDeeper(root, dataDir))) {
      const owners = /^(?:config|soul)(?:[/\\]|$)|^[A-Z_]+\.md$/.test(inData);
      return owners || inData === "" ? { sensitive: "protected", rule: "own.data" } : { sensitive: "secret", rule: "own.secret" };
    }
    for (const folder of own) {
      if (relativeTo(folder, absolute, platform, true) !== null && !(below !== null && root !== null && isDeeper(root, folder))) {
        return { sensitive: "protected", rule: "own.data" };
      }
    }
    return null;
  }

  function guarded(path: string): ResolvedPath {
    try {
      return resolve(path);
    } catch {
      return { ok: false, rule: "path.unresolvable", message: "The path cannot be resolved." };
    }
  }

  return {
    resolve: guarded,
    stillSame(resolved) {
      if (!resolved.ok) return false;
      const now = guarded(resolved.absolute);
      return (
        now.ok &&
        now.absolute === resolved.absolute &&
        now.inside === resolved.inside &&
        now.type === resolved.type &&
        // The requested name may be sensitive where its target's name is not.
        (now.sensitive === resolved.sensitive || now.sensitive === null)
      );
    },
    judgeName(relative) {
      if (root === null) return null;
      const absolute = nodePath.join(root, relative);
      const mine = ownRule(absolute, relative);
      if (mine !== null) return mine.sensitive;
      let found: "secret" | "protected" | null = null;
      for (const verdict of rules.judge(absolute, relative)) if (found !== "secret") found = verdict.sensitive;
      return found;
    },
    isSecretFile(relative, place) {
      if (root === null) return false;
      const absolute = nodePath.join(root, relative);
      if (ownRule(absolute, relative)?.sensitive === "secret") return true;
      return rules
        .judge(absolute, relative)
        .some(({ sensitive, content }) => sensitive === "secret" && (content === null || contentMatches(place, content)));
    },
    obeyed: rules.obeyed,
    message: (rule) => ownMessages.get(rule) ?? rules.message(rule) ?? "Sensitive file.",
    broad: root === null ? null : broadness(root, real(home)),
    version: rules.version,
    problem: null,
  };
}

const systemRefusal: ResolvedPath = {
  ok: false,
  rule: "path.system",
  message: "Devices and system paths (/dev, /proc, /sys) are not regular files.",
};

function isSystem(path: string): boolean {
  return systemFolders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** Rejects a missing path whose spelling has another meaning elsewhere. */
function refuseMissing(input: string, platform: Platform): Refusal | null {
  if (hasEncodedSyntax(input)) {
    return { rule: "path.encoded", message: "The path contains percent-encoded dots or separators. Write them directly." };
  }
  if (platform === "win32") {
    return looksShortened(input) ? { rule: "path.short-name", message: "Short (8.3) names are not allowed for new files." } : null;
  }
  return hasForeignSyntax(input)
    ? { rule: "path.foreign", message: "Backslashes and drive letters are not supported on this system. Use forward slashes." }
    : null;
}

function openUrl(url: string, platform: Platform): string | Refusal {
  if (!/^file:\/\//i.test(url)) return { rule: "path.scheme", message: "This is a URL, not a file path." };
  try {
    const parsed = new URL(url);
    // The parser drops `localhost` from a file: URL.
    if (parsed.hostname !== "") return { rule: "path.url", message: "A file: URL must not name a host." };
    const path = fileURLToPath(parsed, { windows: platform === "win32" });
    return refuseText(path) ?? path;
  } catch {
    return { rule: "path.url", message: "This file: URL is not valid. Use a plain path." };
  }
}

/**
 * The path relative to a folder; null when it is not below it. On case-insensitive disks a folder with another spelling is
 * recognized by its identity on disk. `fold` ignores case, for denials.
 */
function relativeTo(folder: string, path: string, platform: Platform, fold = false): string | null {
  const exact = fold ? stripRoot(path.toLowerCase(), folder.toLowerCase()) : stripRoot(path, folder);
  if (exact !== null) return path.slice(path.length - exact.length);
  if (fold || platform === "linux") return null;
  const rest: string[] = [];
  for (let ancestor = path; ; ) {
    if (isSameEntry(ancestor, folder)) return rest.join(nodePath.sep);
    const parent = nodePath.dirname(ancestor);
    if (parent === ancestor) return null;
    rest.unshift(nodePath.basename(ancestor));
    ancestor = parent;
  }
}

/** The path relative to a folder by text alone; null when it is elsewhere. */
function stripRoot(path: string, folder: string): string | null {
  if (path === folder) return "";
  const prefix = /[/\\]$/.test(folder) ? folder : folder + nodePath.sep;
  return path.startsWith(prefix) ? path.slice(prefix.length) : null;
}

function isDeeper(path: string, folder: string): boolean {
  const rest = stripRoot(path, folder);
  return rest !== null && rest !== "";
}

function real(path: string): string {
  const walked = walk(nodePath.resolve(path));
  return walked.ok ? walked.absolute : nodePath.resolve(path);
}

function broadness(root: string, home: string): string | null {
  if (nodePath.parse(root).root === root) return "The workspace is a whole disk, so every write requires approval.";
  if (root === home) return "The workspace is your home folder, so every write requires approval.";
  if (stripRoot(home, root) !== null) return "The workspace contains your home folder, so every write requires approval.";
  return null;
}

function slashes(path: string): string {
  return nodePath.sep === "\\" ? path.replaceAll("\\", "/") : path;
}
