import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { isNode, LineCounter, parseDocument } from "yaml";
import type * as z from "zod";
import { LancelotError } from "../contract/errors.ts";

const maxBytes = 1_000_000;

/** What the owner wrote in a YAML file, with the lines of its parts; or the line that cannot be read, and why. */
export type OwnersYaml =
  | { readonly broken: null; readonly value: Record<string, unknown>; lineOf(path: readonly string[]): number }
  | { readonly broken: { readonly line: number; readonly what: string } };

/** Something to say of a text of the owner's, at its line (from 1). */
export interface ConfigIssue {
  readonly severity: "critical" | "warning";
  readonly line: number;
  readonly message: string;
}

/** Reads the owner's text. An empty one says nothing. @param example keys such a file has, for its wording */
export function parseOwnersYaml(text: string, example: string): OwnersYaml {
  const broken = (line: number, what: string): OwnersYaml => ({ broken: { line, what } });
  if (text.length > maxBytes) return broken(1, "the file is larger than 1 MB");
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) return broken(lines.linePos(error.pos[0]).line, `not YAML: ${error.message}`);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    return broken(1, cause instanceof Error ? cause.message : "cannot be read");
  }
  if (value !== null && value !== undefined && !isRecord(value)) return broken(1, `must be a list of keys such as ${example}`);
  return {
    broken: null,
    value: withoutEmpty(toRecord(value)),
    /** The line of the node at a path, or of the nearest one above it that exists. */
    lineOf(path) {
      for (let length = path.length; length > 0; length--) {
        const node = document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
      }
      return 1;
    },
  };
}

/** What is wrong, in words that follow the name of the setting. */
export function wordIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value") return `must be one of ${issue.values.map(String).join(", ")}`;
  if (issue.code === "invalid_type") return issue.input === undefined ? `is missing (${issue.expected})` : `must be ${issue.expected}`;
  if (issue.code === "too_small") return `must be at least ${String(issue.minimum)}`;
  if (issue.code === "too_big") return `must be at most ${String(issue.maximum)}`;
  if (issue.code === "invalid_key") return `has a name that ${issue.issues[0]?.message ?? "is not allowed"}`;
  return issue.message;
}

/** A key without a value says nothing. */
function withoutEmpty(value: Record<string, unknown>): Record<string, unknown> {
  const filled = Object.entries(value).filter(([key, inner]) => inner !== null && key !== "__proto__");
  return Object.fromEntries(filled.map(([key, inner]) => [key, isRecord(inner) ? withoutEmpty(inner) : inner]));
}

/** Writes a file so that it is there whole or not at all. @throws LancelotError `unavailable` */
export function writeWhole(path: string, fileName: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flush: true });
    renameSync(draft, path);
  } catch (cause) {
    rmSync(draft, { force: true });
    throw new LancelotError("unavailable", `${fileName} in the data folder cannot be written. Check its permissions and the free space.`, {
      cause,
    });
  }
}

/** Null where there is no such file. @throws LancelotError `unavailable` */
export function readOwners(path: string, fileName: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (isRecord(cause) && cause["code"] === "ENOENT") return null;
    throw new LancelotError("unavailable", `${fileName} in the data folder cannot be read. Check its permissions.`, { cause });
  }
}

/** Another stamp: another text, as far as can be seen without reading it. */
export function fileStamp(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.mtimeMs}:${stat.size}:${stat.ino}`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function toRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
