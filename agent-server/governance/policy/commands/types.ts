import type { ParsedScript } from "unbash";
import type { ResolvedPath } from "../path-policy.ts";
import type { Finding } from "./command-findings.ts";
import type { Field } from "./shell-fields.ts";

/** Values a shell variable may have at this point; null: anything. A name that is not in the map comes from outside. */
export type Variables = Map<string, readonly Field[] | null>;

/** What expanding a word may look up, and where it reports what it finds. */
export interface WordContext {
  readonly home: string;
  /** Null when it is not known for certain. */
  readonly cwd: string | null;
  readonly variables: Variables;
  /** Commands inside the word. Undefined when the parser could not read them. */
  readonly onScript: (script: ParsedScript | undefined, within: "$(…)" | "<(…)" | ">(…)") => void;
  readonly onFinding: (finding: Finding) => void;
}

/** What a program does with a path: reads it, everything below it, writes or makes or deletes it. `maybe`: reads it if it is one. */
export type PathUse =
  | "read"
  | "list"
  | "search"
  | "write"
  | "output"
  | "create"
  | "delete"
  | "delete-tree"
  | "change"
  | "change-tree"
  | "maybe";

export interface PathContext {
  readonly resolve: (path: string) => ResolvedPath;
  /** By name alone, quickly; null to ask `resolve`. */
  readonly judgeName: ((relative: string) => "secret" | "protected" | null) | null;
  readonly ruleMessage: (rule: string) => string;
  readonly home: string;
  /** The folders a relative path may start from; null when that is not known. */
  readonly cwds: readonly string[] | null;
}
