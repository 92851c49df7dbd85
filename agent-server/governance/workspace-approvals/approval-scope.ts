import { createHash } from "node:crypto";
import * as nodePath from "node:path";
import canonicalize from "canonicalize";
import * as z from "zod";
import { ApprovalScope, type Decision, type Intent } from "../../contract/governance.ts";
import { startsWithWords } from "../policy/commands/commands.ts";

/** A scope with what an intent is compared with. */
export const StoredScope = z.object({
  ...ApprovalScope.shape,
  /** The first words of a command, or the absolute folder; empty for `exact`. */
  start: z.string(),
  /** SHA-256 (hex) over the working folder and the arguments that must be equal. */
  rest: z.string(),
});
export type StoredScope = z.infer<typeof StoredScope>;

/** How scopes of an intent are described and bounded. */
export interface ScopeContext {
  readonly redact: (text: string) => string;
  /** A folder relative to the workspace. */
  readonly display: (folder: string) => string;
  /** See `CommandPolicy.prefixes`. */
  readonly prefixes: (command: string) => readonly string[];
  /** Absolute. */
  readonly workspace: string;
}

const maxPattern = 2000;
/** Arguments that a scope may leave open; all others must be equal. */
const openArguments = { exact: [], prefix: ["command"], path: ["path", "absolute"] } as const;

/**
 * The scopes that the owner may choose from for an action, widest first; the last one is the action itself. Only the action itself is
 * offered for an irreversible one, and for one whose pattern would show a secret.
 */
export function scopesOf(intent: Intent, decision: Decision, context: ScopeContext): StoredScope[] {
  const { args } = intent;
  const command = textOf(args["command"]);
  const base = {
    capability: intent.capability,
    action: intent.action,
    folder: command === null || intent.cwd === undefined ? null : context.display(intent.cwd),
    containment: command === null ? null : containmentOf(args),
    network: command === null ? null : args["network"] !== undefined && args["network"] !== false,
  };
  const make = (match: StoredScope["match"], start: string, shown: string): StoredScope => ({
    ...base,
    match,
    start,
    pattern: shown.length > maxPattern ? `${shown.slice(0, maxPattern)}…` : shown,
    rest: restOf(intent, openArguments[match]),
  });
  const absolute = fileOf(args);
  const exact = make("exact", "", context.redact(command ?? textOf(args["path"]) ?? canonicalize(args) ?? ""));
  if (decision.tier === "T3") return [exact];
  if (intent.capability === "shell_exec" && command !== null) {
    const shown = context.prefixes(command).filter((prefix) => context.redact(prefix) === prefix);
    return [...shown.map((prefix) => make("prefix", prefix, `${prefix} *`)), exact];
  }
  const folder = absolute === null ? null : nodePath.dirname(absolute);
  if (folder === null || command !== null || !isBelow(folder, context.workspace)) return [exact];
  return [make("path", folder, `${context.redact(context.display(folder))}/**`), exact];
}

/** True when an intent is inside a scope. */
export function scopeCovers(scope: StoredScope, intent: Intent): boolean {
  if (intent.capability !== scope.capability || intent.action !== scope.action) return false;
  if (restOf(intent, openArguments[scope.match]) !== scope.rest) return false;
  switch (scope.match) {
    case "exact":
      return true;
    case "prefix": {
      const command = textOf(intent.args["command"]);
      return command !== null && startsWithWords(command, scope.start);
    }
    case "path": {
      const absolute = fileOf(intent.args);
      return absolute !== null && isBelow(absolute, scope.start);
    }
  }
}

/** Where a command runs, by its arguments: the host names the level only where it differs from a watched sandbox. */
function containmentOf(args: Intent["args"]): StoredScope["containment"] {
  if (args["place"] === "host") return "host";
  const level = args["containment"];
  return level === "transactional" || level === "copied" ? level : "watched";
}

function restOf({ args, cwd }: Intent, open: readonly string[]): string {
  const fixed = Object.fromEntries(Object.entries(args).filter(([name]) => !open.includes(name)));
  const text = canonicalize({ args: fixed, cwd: cwd ?? null });
  if (text === undefined) throw new TypeError("The intent is not JSON.");
  return createHash("sha256").update(text).digest("hex");
}

/** The file of an action, resolved by the path policy; null when its arguments name none. */
function fileOf({ path, absolute }: Intent["args"]): string | null {
  const file = textOf(path) === null ? null : textOf(absolute);
  return file !== null && nodePath.resolve(file) === file ? file : null;
}

function isBelow(path: string, folder: string): boolean {
  const relative = nodePath.relative(folder, path);
  return relative !== "" && relative !== ".." && !relative.startsWith(`..${nodePath.sep}`) && !nodePath.isAbsolute(relative);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
