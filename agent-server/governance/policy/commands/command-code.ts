import * as nodePath from "node:path";
import type { CodeSource } from "../../decision-facts.ts";
import type { Scope } from "./command-scope.ts";
import { type Field, valueOf } from "./shell-fields.ts";
import type { CodeTrace } from "./types.ts";

/** Most sources of one command. A command with more counts as unknown. */
const maxSources = 64;

export function createCodeTrace(): CodeTrace {
  return { sources: new Map(), isUnknown: false };
}

export function addSource(trace: CodeTrace, source: CodeSource): void {
  const key = source.kind === "file" ? source.absolute : `${source.absolute}\0${source.name}`;
  if (trace.sources.size >= maxSources && !trace.sources.has(key)) trace.isUnknown = true;
  else trace.sources.set(key, source);
}

/** Adds a file that the command names as a program or as a script for an interpreter. A missing file counts too: it may be created. */
export function addCodeFile(file: Field | undefined, scope: Scope): void {
  const { code } = scope.run;
  const written = valueOf(file);
  const { resolve, home } = scope.run.engine.paths;
  const path = written?.startsWith("~/") === true ? nodePath.join(home, written.slice(2)) : written;
  const places = path?.startsWith("/") === true ? [path] : (scope.state.cwds?.map((cwd) => `${cwd}/${path ?? ""}`) ?? null);
  if (path === null || places === null) {
    code.isUnknown = true;
    return;
  }
  for (const place of places) {
    const resolved = resolve(place);
    if (resolved.ok) addSource(code, { kind: "file", absolute: resolved.absolute });
    else code.isUnknown = true;
  }
}

/**
 * Adds the files that words of a command name, for a program that runs code and may take them for it. A word that names no file counts too,
 * because the file may be created; a folder does not.
 */
export function addNamedFiles(words: readonly Field[], scope: Scope): void {
  const { code, engine, looks } = scope.run;
  for (const word of words) {
    if (looks.paths < 0) code.isUnknown = true;
    if (code.isUnknown) return;
    const written = valueOf(word);
    // The value of `--flag=value`; a flag alone names nothing.
    const path = written?.startsWith("-") === true ? (/^[^=]*=(.+)$/s.exec(written)?.[1] ?? null) : written;
    if (path === null || path === "") continue;
    for (const place of path.startsWith("/") ? [path] : (scope.state.cwds ?? []).map((cwd) => `${cwd}/${path}`)) {
      const resolved = engine.paths.resolve(place);
      if (resolved.ok && resolved.inside && resolved.type !== "directory") addSource(code, { kind: "file", absolute: resolved.absolute });
    }
  }
}

/** Findings of commands whose code their text does not show. */
const hidden: ReadonlySet<string> = new Set([
  "arithmetic-runs",
  "changes-execution",
  "computed-name",
  "computed-script",
  "failed",
  "interpreter.loads",
  "make.deep",
  "make.large",
  "packages.many",
  "packages.preload",
  "packages.unreadable",
  "run-module",
  "script-from-input",
  "scripts-deep",
  "startup-file",
  "syntax",
  "test.sets",
  "too-deep",
  "too-large",
  "too-many",
  "too-many-files",
  "unknown-folder",
]);

/** True for a finding that says that the command runs code which is known only at run time. */
export function hidesCode(id: string): boolean {
  return hidden.has(id);
}
