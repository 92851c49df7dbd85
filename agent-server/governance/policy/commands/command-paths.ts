import * as nodePath from "node:path";
import { type Field, type NamePattern, startOf } from "./shell-fields.ts";
import { asks, denies, type Finding, alwaysAsks } from "./command-findings.ts";
import { expandGlob, findSecret, openFolders } from "./folder-search.ts";
import { deleteOne, judgeInsideWrite } from "./workspace-writes.ts";
import type { ResolvedPath } from "../path-policy.ts";
import type { PathContext, PathUse } from "./types.ts";

/** Judges a program's use of an argument as a path. Empty when no rule applies. */
export function judgePath(field: Field, use: PathUse, context: PathContext): Finding[] {
  switch (field.kind) {
    case "static":
      return judgeStatic(field.value, use, context, field.quoted === true);
    case "glob":
      return judgeGlob(field.value, use, context);
    case "tree":
      return judgeTree(field.root, field.name, field.skipsHidden === true, use, context);
    case "dynamic":
    default:
      return [judgeUnknown(field.prefix, use, context)];
  }
}

/** Denied and not asked: the paths behind the limit are known to nobody, and one of them may be a secret or a disk. */
const tooManyPaths = denies("too-many-files", "The command names too many files to check.", ["Run it in smaller steps."]);

/** Files that a pattern or a search may name, among which nothing was found yet. */
const tooManyEntries = alwaysAsks("too-many-files", "The command's patterns and searches name too many files to check.", [
  "Name the files or narrower folders, or run it in smaller steps.",
]);

function judgeUnknown(prefix: string, use: PathUse, context: PathContext): Finding {
  if (use === "read" || use === "list" || use === "search" || use === "maybe") {
    return asks(
      "unknown-file",
      "Reads a file whose name is known only at run time.",
      ["Name the file itself, or read it with read_file."],
      ["read"],
    );
  }
  const isTree = use === "delete-tree" || use === "change-tree";
  if (isTree && isGuarded(prefix === "" ? "/" : prefix, context)) {
    return {
      ...alwaysAsks(
        "unknown-tree",
        "Recursively deletes or changes a folder known only at run time, possibly a whole disk or home.",
        ["Name the folder itself.", deleteOne],
        ["delete", "destroy"],
      ),
      risk: "critical",
    };
  }
  return alwaysAsks(
    "unknown-target",
    "Writes or deletes a file whose name is known only at run time.",
    ["Name the file itself."],
    ["write"],
  );
}

/** Every location of a path, for the possible working folders. */
function places(path: string, context: PathContext): string[] | null {
  if (nodePath.isAbsolute(path)) return [path];
  if (context.cwds === null) return null;
  return context.cwds.map((cwd) => (cwd === "." ? path : `${cwd}/${path}`));
}

function judgeStatic(path: string, use: PathUse, context: PathContext, quoted: boolean): Finding[] {
  context.looks.paths -= 1;
  if (context.looks.paths < 0) return [tooManyPaths];
  if (path === "" || (path === "-" && use !== "delete" && use !== "delete-tree")) return [];
  if (use === "maybe" && !looksLikePath(path)) {
    const where = places(path, context);
    if (where === null) return [];
    return where.flatMap((place) => judgePlace(path, context.resolve(place), "maybe", context));
  }
  // A quoted tilde is a literal file name. The path policy would read it as the home folder.
  const where = places(quoted && path.startsWith("~") ? `./${path}` : path, context);
  if (where === null) return [judgeUnknown("", use, context)];
  return where.flatMap((place) => judgePlace(path, context.resolve(place), use, context));
}

function looksLikePath(word: string): boolean {
  return word.includes("/") || word.startsWith(".") || word.startsWith("~");
}

const harmlessDevices = /^\/dev\/(?:null|zero|full|stdin|stdout|stderr|tty|u?random|fd\/\d+)$/;

const socketDevices = /^\/dev\/(?:tcp|udp)\//;

function judgePlace(path: string, resolved: ResolvedPath, use: PathUse, context: PathContext): Finding[] {
  const isRead = use === "read" || use === "list" || use === "search" || use === "maybe";
  if (!resolved.ok) return judgeRefused(path, resolved, use, isRead);
  const isOwn = resolved.rule?.startsWith("own.") === true;
  if (isRead) {
    // A listing shows names, sizes and dates, not content.
    const isListed = use === "list" && resolved.inside;
    if (resolved.sensitive === "secret" && !isListed) return [secretRead(path, resolved.rule, context)];
    if (use === "search" && resolved.type === "directory") {
      const found = findSecret(resolved.absolute, null, false, resolved.inside, context);
      if (found !== null) return [found, ...(resolved.inside ? [] : outsideRead(resolved.absolute, path))];
    }
    return resolved.inside ? [] : outsideRead(resolved.absolute, path);
  }
  if (isOwn) {
    return [
      denies("own", `${context.ruleMessage(resolved.rule ?? "")} (${path})`, ["Ask the owner to change it."], ["sensitive", "settings"]),
    ];
  }
  const guarded = use === "delete-tree" || use === "change-tree" ? guardedTree(path, resolved.absolute, use, context) : null;
  if (guarded !== null) return [guarded];
  if (resolved.sensitive !== null) {
    return [
      alwaysAsks(
        resolved.sensitive,
        `${context.ruleMessage(resolved.rule ?? "")} (${path})`,
        ["Ask the owner to change this file."],
        ["sensitive", "settings", "write"],
      ),
    ];
  }
  if (!resolved.inside) {
    return [alwaysAsks("outside-write", `${path} is outside the workspace.`, ["Work inside the workspace."], ["outside", "write"])];
  }
  return judgeInsideWrite(path, resolved.type, use, resolved.display);
}

function judgeRefused(path: string, refused: Extract<ResolvedPath, { ok: false }>, use: PathUse, isRead: boolean): Finding[] {
  if (harmlessDevices.test(path) && !(use === "delete" || use === "delete-tree" || use === "change" || use === "change-tree")) return [];
  if (socketDevices.test(path)) {
    return [
      denies(
        "socket",
        "/dev/tcp opens a connection that bypasses the network rules.",
        ["Fetch pages with fetch_url."],
        ["network", "upload"],
      ),
    ];
  }
  if (refused.rule === "path.system") {
    if (isRead) return [alwaysAsks("system-read", refused.message, ["Read files of the workspace."], ["system", "read"])];
    return [denies("device", `${path} is a device or system path, which must not be written.`, [], ["system", "destroy"])];
  }
  // A word that may not be a path, such as a URL or a test name with an unusual character.
  if (use === "maybe" && !(path.startsWith("/") || path.startsWith("~") || /^file:/i.test(path) || path.includes(".."))) {
    return refused.rule === "path.scheme" || !looksLikePath(path) ? [] : [asks("path", refused.message)];
  }
  return isRead ? [asks("path", refused.message)] : [alwaysAsks("path", refused.message)];
}

function secretRead(path: string, rule: string | null, context: PathContext): Finding {
  return denies(
    "secret",
    `${path} is a secret file: ${context.ruleMessage(rule ?? "")}${rule === null ? "" : ` (${rule})`}`,
    ["Ask the owner for the values you need, or read a template such as .env.example."],
    ["sensitive", "credentials", "read"],
  );
}

function outsideRead(absolute: string, path: string): Finding[] {
  if (openFolders.test(absolute)) return [];
  // At T3, as a file tool's read of the same path.
  return [alwaysAsks("outside-read", `${path} is outside the workspace.`, ["Read files of the workspace."], ["outside", "read"])];
}

/** True for folders that must not be lost: a disk, a home, a system folder, the workspace and its parents. */
export function isGuarded(path: string, context: PathContext): boolean {
  return guardedName(path, context) !== null;
}

function guardedName(path: string, context: PathContext): string | null {
  const found = (places(path, context) ?? [path]).map((place) => {
    const resolved = context.resolve(place);
    return guardedPlace(resolved.ok ? resolved.absolute : nodePath.resolve(path), context);
  });
  return found.find((name) => name !== null) ?? null;
}

function guardedPlace(absolute: string, context: PathContext): string | null {
  const root = context.resolve(".");
  if (root.ok && isAtOrAbove(absolute, root.absolute))
    return absolute === root.absolute ? "the whole workspace" : "a folder that contains the workspace";
  if (isAtOrAbove(absolute, nodePath.resolve(context.home))) return "a home folder";
  if (/^\/(?:[^/]+\/?)?$/.test(absolute)) return "a system folder";
  if (/^\/(?:usr|etc|var|System|Library|Applications|private)\/[^/]+$/.test(absolute)) return "a system folder";
  if (/^\/(?:home|Users)\/[^/]+$/.test(absolute)) return "a home folder";
  return /^[a-z]:\\(?:windows|users|program files[^\\]*)?\\?$/i.test(absolute) ? "a system folder" : null;
}

function isAtOrAbove(path: string, below: string): boolean {
  return path === below || below.startsWith(path.endsWith(nodePath.sep) ? path : path + nodePath.sep);
}

function guardedTree(path: string, absolute: string, use: PathUse, context: PathContext): Finding | null {
  const what = guardedPlace(absolute, context);
  return what === null ? null : destroys(path, what, use);
}

function destroys(path: string, what: string, use: PathUse): Finding {
  const verb = use === "change-tree" ? "Changes" : "Deletes";
  return denies(
    "destroys",
    `${verb} everything below ${path}, ${what}.`,
    [deleteOne, "Name the specific folder to delete."],
    ["delete", "destroy"],
  );
}

function judgeGlob(pattern: string, use: PathUse, context: PathContext): Finding[] {
  if (context.looks.entries < 0) return [tooManyEntries];
  const start = startOf({ kind: "glob", value: pattern, text: pattern });
  const folder = start.slice(0, start.lastIndexOf("/") + 1);
  const rest = pattern.slice(folder.length).split("/");
  const isTree = use === "delete-tree" || use === "change-tree";
  // `*` and `.*` match the whole folder.
  if (isTree && /^(?:\*+|\.\*|\.\[!?\^?[^\]]*\]\*|\.\?\*|\{[^}]*\})$/.test(rest[0] ?? "") && rest.length <= 2) {
    const name = guardedName(folder === "" ? "." : folder, context);
    if (name !== null) return [destroys(pattern, name, use)];
  }
  if (isTree && guardedName(folder === "" ? "." : folder, context)?.startsWith("the whole workspace") === false) {
    return [destroys(pattern, "system folders", use)];
  }
  const where = places(folder === "" ? "." : folder, context);
  if (where === null) return [judgeUnknown("", use, context)];
  const findings: Finding[] = [];
  for (const place of where) {
    const resolved = context.resolve(place);
    if (!resolved.ok) return [asks("pattern", "The files that this pattern matches are known only at run time.", ["Name the files."])];
    if (!resolved.inside) {
      const outside = openFolders.test(resolved.absolute) && (use === "read" || use === "list" || use === "maybe");
      if (!outside) findings.push(...judgePlace(pattern, resolved, use === "maybe" ? "read" : use, context));
      if (resolved.sensitive !== null) continue;
    }
    const matches = expandGlob(resolved.absolute, rest, context.looks);
    if (matches === null) {
      findings.push(
        use === "read" || use === "list" || use === "maybe" || use === "search"
          ? asks("pattern", "The pattern matches too many files to check, or is invalid.", ["Name the files, or a narrower pattern."])
          : alwaysAsks("pattern", "The pattern matches too many files to check, or is invalid.", [
              "Name the files, or a narrower pattern.",
            ]),
      );
      continue;
    }
    // Each match is resolved, which takes longer than to list it.
    context.looks.entries -= 3 * matches.length;
    for (const match of matches) {
      if (folder === "" && match.relative.startsWith("-")) {
        findings.push(
          alwaysAsks(
            "pattern-flag",
            `The pattern matches the file ${match.relative}, which the program would read as a flag.`,
            [`Write ./${pattern}.`],
            ["execute"],
          ),
        );
      }
      findings.push(...judgePlace(folder + match.relative, context.resolve(match.absolute), use, context));
    }
    // Without a match, the shell passes the pattern unchanged, which names no file.
  }
  return findings;
}

function judgeTree(root: Field, name: NamePattern | null, skipsHidden: boolean, use: PathUse, context: PathContext): Finding[] {
  const value = root.kind === "static" ? root.value : null;
  if (value === null) return judgePath(root, use, context);
  if (context.looks.entries < 0) return [tooManyEntries];
  if (use === "read" || use === "list" || use === "search" || use === "maybe") {
    const where = places(value, context);
    if (where === null) return [judgeUnknown("", use, context)];
    return where.flatMap((place) => {
      const resolved = context.resolve(place);
      if (!resolved.ok) return judgeRefused(value, resolved, use, true);
      if (resolved.sensitive === "secret") return [secretRead(value, resolved.rule, context)];
      const found = findSecret(resolved.absolute, name, skipsHidden, resolved.inside, context);
      return [...(found === null ? [] : [found]), ...(resolved.inside ? [] : outsideRead(resolved.absolute, value))];
    });
  }
  if (use === "delete" || use === "delete-tree" || use === "change-tree") {
    const own = judgeStatic(value, "delete-tree", context, false).filter((finding) => finding.verdict !== "allow");
    const isRoot = own.some((finding) => finding.id === "destroys");
    if (isRoot && (name === null || !context.resolve(value).ok || !isWorkspace(value, context))) return own;
    return own.map((finding) =>
      finding.id === "destroys"
        ? alwaysAsks("delete-many", `Deletes or changes every matching file below ${value}.`, [deleteOne], ["delete", "destroy"])
        : finding,
    );
  }
  return [alwaysAsks("write-many", `Writes to every matching file below ${value}.`, ["Change files with edit_file."], ["write"])];
}

function isWorkspace(path: string, context: PathContext): boolean {
  const resolved = context.resolve(path);
  return resolved.ok && resolved.display === ".";
}
