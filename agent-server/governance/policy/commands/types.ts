import type { ParsedScript } from "unbash";
import type { CodeSource } from "../../decision-facts.ts";
import type { ResolvedPath } from "../path-policy.ts";
import type { Finding } from "./command-findings.ts";
import type { Field } from "./shell-fields.ts";

/** Possible values of each shell variable at this point; null for any value. A missing name comes from the environment. */
export type Variables = Map<string, readonly Field[] | null>;

/** What expanding a word may look up, and where it reports what it finds. */
export interface WordContext {
  readonly home: string;
  /** Null when it is uncertain. */
  readonly cwd: string | null;
  readonly variables: Variables;
  /** Called for commands inside the word; undefined when the parser could not read them. */
  readonly onScript: (script: ParsedScript | undefined, within: "$(…)" | "<(…)" | ">(…)") => void;
  readonly onFinding: (finding: Finding) => void;
}

/** What a program does with a path. `search` reads everything below it; `maybe` reads it if it is a path. */
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
  /** Fast verdict by name alone; null to use `resolve` instead. */
  readonly judgeName: ((relative: string) => "secret" | "protected" | null) | null;
  readonly ruleMessage: (rule: string) => string;
  readonly home: string;
  /** The possible working folders; null when they are unknown. */
  readonly cwds: readonly string[] | null;
  readonly looks: LooksLeft;
}

/** What all parts of a command line together may still look at on the disk, so that none holds up the host. */
export interface LooksLeft {
  /** Entries of folders that patterns and searches look at. */
  entries: number;
  /** Paths that the command names. */
  paths: number;
}

/** The code that a command would run. Judgments of nested scripts share it. */
export interface CodeTrace {
  readonly sources: Map<string, CodeSource>;
  /** True when the command runs code that its text does not name, or that cannot be read. */
  isUnknown: boolean;
}
