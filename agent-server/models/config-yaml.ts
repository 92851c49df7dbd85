import { isNode, LineCounter, parseDocument } from "yaml";
import type * as z from "zod";

const maxBytes = 1_000_000;

/** A user's YAML file with the line of each value; or the invalid line and its problem. */
export type UserYaml =
  | { readonly broken: null; readonly value: Record<string, unknown>; lineOf(path: readonly string[]): number }
  | { readonly broken: { readonly line: number; readonly what: string } };

/** A problem in a user's file, with its line (from 1). */
export interface ConfigIssue {
  readonly severity: "critical" | "warning";
  readonly line: number;
  readonly message: string;
}

/** Parses a user's file; an empty one is valid. @param example keys of such a file, for the error message */
export function parseUserYaml(text: string, example: string): UserYaml {
  const broken = (line: number, what: string): UserYaml => ({ broken: { line, what } });
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
    /** The line of the node at a path, or of its nearest existing ancestor. */
    lineOf(path) {
      for (let length = path.length; length > 0; length--) {
        const node = document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
      }
      return 1;
    },
  };
}

/** The problem, as a predicate that follows the name of the setting. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value") return `must be one of ${issue.values.map(String).join(", ")}`;
  if (issue.code === "invalid_type") return issue.input === undefined ? `is missing (${issue.expected})` : `must be ${issue.expected}`;
  if (issue.code === "too_small") return `must be at least ${String(issue.minimum)}`;
  if (issue.code === "too_big") return `must be at most ${String(issue.maximum)}`;
  if (issue.code === "invalid_key") return `has a name that ${issue.issues[0]?.message ?? "is not allowed"}`;
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
