import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, readSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isNode, isScalar, LineCounter, parseDocument, visit } from "yaml";
import * as z from "zod";

/** Bytes of an owner's file. The parser needs seconds for a megabyte of some texts, and the host answers nothing meanwhile. */
const maxBytes = 256_000;
/** Brackets that may be open at once, and lists that may begin on one line: the parser's time grows with their square. */
const maxDepth = 64;

/** Why an owner's file is invalid. The message is a clause, such as `keep_days must be a number`. */
export class OwnerFileFault extends Error {
  /** Line of the fault, from 1; null when the file cannot be read. */
  readonly line: number | null;

  constructor(line: number | null, message: string) {
    super(message);
    this.line = line;
  }
}

/** What a reader of an owner's file gets. */
export interface OwnerFileState<T> {
  /** The parsed file; while it is invalid, its last valid version. Null without a file, and when no version was ever valid. */
  readonly value: T | null;
  /** Names the file, the line and the fault; null for a valid or missing file. */
  readonly problem: string | null;
  /** The line of the fault, when it has one. */
  readonly line: number | null;
}

/** A file in the owner's `config/` folder, read again whenever it changes. */
export interface OwnerFile<T> {
  /** Never throws. Returns the same object until the file changes. */
  read(): OwnerFileState<T>;
  /** Whether the file changed since the last `read`; false before the first one. */
  changed(): boolean;
}

/**
 * Opens `config/<name>` in the data folder. A broken file must not loosen what its owner has set, so the last valid version stays in
 * effect, also after a restart: it is kept in `config-last-valid/`.
 * @param of.parse parses a text without a byte order mark; throws OwnerFileFault. An empty text is valid or not, as it decides.
 * @param of.also other paths whose change makes the file be parsed again
 */
export function createOwnerFile<T>(of: {
  dataDir: string;
  name: string;
  parse: (text: string) => T;
  also?: readonly string[];
}): OwnerFile<T> {
  const path = join(of.dataDir, "config", of.name);
  const copy = join(of.dataDir, "config-last-valid", of.name);
  const stampOf = (): string => [path, ...(of.also ?? [])].map(fileStamp).join();
  let stamp: string | null = null;
  let current: OwnerFileState<T> = { value: null, problem: null, line: null };

  const lastValid = (): T | null => {
    try {
      const text = readOwnerText(copy);
      return text === null ? null : of.parse(text);
    } catch {
      // A newer version of Lancelot may reject what an older one accepted.
      return null;
    }
  };
  const load = (): OwnerFileState<T> => {
    try {
      const text = readOwnerText(path);
      if (text === null) {
        rmSync(copy, { force: true });
        return { value: null, problem: null, line: null };
      }
      const value = of.parse(text);
      keepCopy(copy, text);
      return { value, problem: null, line: null };
    } catch (error) {
      const fault = error instanceof OwnerFileFault ? error : new OwnerFileFault(null, "cannot be parsed");
      const place = fault.line === null ? "" : `, line ${fault.line}`;
      return {
        value: lastValid(),
        problem: `config/${of.name} in the data folder${place}: ${fault.message.slice(0, 1000)}.`,
        line: fault.line,
      };
    }
  };

  return {
    read() {
      const now = stampOf();
      if (now !== stamp) {
        stamp = now;
        current = load();
      }
      return current;
    },
    changed: () => stamp !== null && stampOf() !== stamp,
  };
}

/** Changes with a file's content and accessibility, as far as its metadata shows. Never throws. */
export function fileStamp(path: string): string {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    // The time of the last status change covers permissions, and edits that restore the modification time.
    return stats === undefined ? "none" : `${stats.mtimeMs}:${stats.ctimeMs}:${stats.size}:${stats.ino}`;
  } catch (error) {
    // Reading the file reports why it is inaccessible.
    return `inaccessible:${String(error)}`;
  }
}

/** The text of an owner's file without its byte order mark; null without a file. @throws OwnerFileFault */
export function readOwnerText(path: string): string | null {
  let bytes: Buffer;
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    // Opening a pipe would block the host.
    if (!stats.isFile()) throw new OwnerFileFault(null, stats.isDirectory() ? "it is a folder, not a file" : "it is not a regular file");
    if (stats.size > maxBytes) throw new OwnerFileFault(1, "the file is larger than 256 kB");
    bytes = readBounded(path);
  } catch (error) {
    if (error instanceof OwnerFileFault) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw new OwnerFileFault(null, `it cannot be read (${code ?? "unknown error"}); check its permissions`);
  }
  return decode(bytes);
}

/** A file may grow between the check of its size and the read. */
function readBounded(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(Math.min(fstatSync(file).size, maxBytes) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(file, buffer, length, buffer.length - length, null);
    }
    return buffer.subarray(0, Math.min(length, maxBytes));
  } finally {
    closeSync(file);
  }
}

function decode(bytes: Buffer): string {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isUtf16 || bytes.includes(0)) throw new OwnerFileFault(1, "the file is not UTF-8 text (it may be UTF-16); save it as UTF-8");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new OwnerFileFault(1, "the file is not UTF-8 text; save it as UTF-8");
  }
}

/** Written as a whole or not at all. Failing to keep a copy is no reason to reject the file. */
function keepCopy(copy: string, text: string): void {
  try {
    if (statSync(copy, { throwIfNoEntry: false })?.size === Buffer.byteLength(text) && readFileSync(copy, "utf8") === text) return;
    const draft = `${copy}.${process.pid}.tmp`;
    mkdirSync(join(copy, ".."), { recursive: true, mode: 0o700 });
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, copy);
  } catch {
    // The disk is full or read-only: the value stays in memory until this process ends.
  }
}

/** An owner's YAML text. */
export interface OwnerYaml {
  /** Keys without a value are absent. */
  readonly value: Record<string, unknown>;
  /** The line of the node at a path, or of its nearest existing ancestor. */
  lineOf(path: readonly PropertyKey[]): number;
}

/**
 * Parses an owner's file; an empty one has no keys.
 * @param of.maxAliases most uses of aliases (`*name`); 0 rejects them
 * @throws OwnerFileFault
 */
export function parseOwnerYaml(text: string, of: { maxAliases?: number } = {}): OwnerYaml {
  if (text.length > maxBytes) throw new OwnerFileFault(1, "the file is larger than 256 kB");
  if (isTooDeep(text)) throw new OwnerFileFault(1, "the file is nested too deeply");
  const lines = new LineCounter();
  let document: ReturnType<typeof parseDocument>;
  try {
    // The parser's own check for duplicate keys takes quadratic time.
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  } catch {
    throw new OwnerFileFault(1, "not YAML");
  }
  const [error] = document.errors;
  if (error !== undefined) throw new OwnerFileFault(lines.linePos(error.pos[0]).line, `not YAML: ${error.message}`);
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value))
          throw new OwnerFileFault(lines.linePos(key.range?.[0] ?? 0).line, `the key ${String(key.value)} occurs twice`);
        keys.add(key.value);
      }
    },
  });
  const lineOf: OwnerYaml["lineOf"] = (path) => {
    for (let length = path.length; length > 0; length -= 1) {
      const node: unknown = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return 1;
  };
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: of.maxAliases ?? 0 });
  } catch (cause) {
    throw new OwnerFileFault(1, cause instanceof Error ? cause.message : "the file cannot be parsed");
  }
  if (value !== null && value !== undefined && !isRecord(value))
    throw new OwnerFileFault(1, "the file must be keys with values, not a list or a text");
  return { value: withoutEmpty(toRecord(value)), lineOf };
}

/** True for a text that opens more levels than a parser of YAML reads in reasonable time. */
export function isTooDeep(text: string): boolean {
  if (new RegExp(`(?<!\\S)(?:[-?!:][ \\t]+){${maxDepth}}`).test(text)) return true;
  let open = 0;
  // Brackets in quotes and comments do not nest.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|(?<=^|\s)#.*|[[\]{}]/gm)) {
    if (token === "[" || token === "{") open += 1;
    else if (token === "]" || token === "}") open = Math.max(0, open - 1);
    if (open > maxDepth) return true;
  }
  return false;
}

/** Parses a value with a schema. @throws OwnerFileFault with the line of the first issue */
export function checkOwnerValue<S extends z.ZodType>(schema: S, value: unknown, lineOf: OwnerYaml["lineOf"]): z.output<S> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw issue === undefined ? new OwnerFileFault(1, "the file is invalid") : faultOf(issue, lineOf);
}

/** The fault that an issue of a schema describes. */
export function faultOf(issue: z.core.$ZodIssue, lineOf: OwnerYaml["lineOf"]): OwnerFileFault {
  const named = issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0] ?? ""] : issue.path;
  return new OwnerFileFault(lineOf(named), `${issue.path.map(String).join(".") || "the file"} ${describeIssue(issue)}`);
}

/** The problem, as a predicate that follows the name of the setting. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value") return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map(String).join(", ")}`;
  if (issue.code === "invalid_type") return issue.input === undefined ? `is missing (${issue.expected})` : `must be ${issue.expected}`;
  if (issue.code === "too_small") return `must be at least ${String(issue.minimum)}`;
  if (issue.code === "too_big") return `must be at most ${String(issue.maximum)}`;
  if (issue.code === "invalid_key") return `has a name that ${issue.issues[0]?.message ?? "is not allowed"}`;
  if (issue.code === "unrecognized_keys") return `has no setting ${issue.keys.join(", ")}; remove it or correct its name`;
  return issue.message;
}

/** A key without a value counts as absent. */
function withoutEmpty(value: Record<string, unknown>): Record<string, unknown> {
  const filled = Object.entries(value).filter(([key, inner]) => inner !== null && key !== "__proto__");
  return Object.fromEntries(filled.map(([key, inner]) => [key, isRecord(inner) ? withoutEmpty(inner) : inner]));
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function toRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
