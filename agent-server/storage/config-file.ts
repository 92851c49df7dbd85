import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseShipped } from "../shipped-yaml.ts";
import * as z from "zod";
import { fileStamp } from "./user-file.ts";

const Keys = z.record(z.string(), z.unknown(), { error: "must be keys with values, not a list or a text" });

/** A YAML configuration file, read again whenever it changes. */
export interface ConfigFile<T> {
  /** Returns the current value; `problem` says why a file is ignored. Never throws. */
  read(): { readonly value: T; readonly problem: string | null };
}

/**
 * The owner's `config/<name>` in the data folder, without a shipped counterpart. The value is null while the file is invalid.
 * @param of.fallback the value while there is no file
 */
export function createConfigFile<S extends z.ZodType>(of: {
  dataDir: string;
  name: string;
  schema: S;
  fallback: z.input<S>;
}): ConfigFile<z.output<S> | null> {
  const path = join(of.dataDir, "config", of.name);
  return whenChanged<z.output<S> | null>([path], () => {
    try {
      return { value: of.schema.parse(parseYaml(path) ?? of.fallback), problem: null };
    } catch (error) {
      const reason = error instanceof z.ZodError ? z.prettifyError(error) : error instanceof Error ? error.message : String(error);
      const short = reason.replaceAll(path, `config/${of.name}`).slice(0, 1000);
      return {
        value: null,
        problem: `Your config/${of.name} is invalid, so the actions it configures are blocked. Correct the file: ${short}`,
      };
    }
  });
}

/**
 * The shipped `<name>`, overridden key by key by the owner's `config/<name>` in the data folder. An invalid file is ignored as a whole.
 * @param of.schema must parse `{}` to the defaults
 */
export function createLayeredConfig<S extends z.ZodType>(of: {
  name: string;
  schema: S;
  /** The shipped `config/` folder; null to use the defaults. */
  configDir: string | null;
  dataDir: string;
  /** Called with a user-facing message once for each change that leaves a file invalid. */
  onProblem?: (message: string) => void;
  /** What an invalid file means; by default that it is ignored. */
  describe?: (reason: string) => string;
  /** Throws an Error with a user-facing message when settings are inconsistent. */
  check?: (settings: z.output<S>) => void;
}): ConfigFile<z.output<S>> {
  const describe = of.describe ?? ((reason) => `The file config/${of.name} is invalid, so it is ignored: ${reason}.`);
  const folders = [...(of.configDir === null ? [] : [of.configDir]), join(of.dataDir, "config")];
  const paths = folders.map((folder) => join(folder, of.name));
  return whenChanged(paths, () => {
    let merged: Record<string, unknown> = {};
    let problem: string | null = null;
    for (const path of paths) {
      try {
        const candidate = { ...merged, ...Keys.parse(parseYaml(path) ?? {}) };
        const parsed = of.schema.parse(candidate);
        of.check?.(parsed);
        merged = candidate;
      } catch (error) {
        problem = describe(firstIssue(error));
        of.onProblem?.(problem);
      }
    }
    return { value: of.schema.parse(merged), problem };
  });
}

function whenChanged<T>(paths: readonly string[], load: () => ReturnType<ConfigFile<T>["read"]>): ConfigFile<T> {
  let stamp: string | null = null;
  let current: ReturnType<ConfigFile<T>["read"]> | null = null;
  return {
    read() {
      const latest = paths.map(fileStamp).join();
      if (current === null || latest !== stamp) {
        stamp = latest;
        current = load();
      }
      return current;
    },
  };
}

/** Null for a missing or empty file. */
function parseYaml(path: string): unknown {
  try {
    return parseShipped(readFileSync(path, "utf8")).value;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

function firstIssue(error: unknown): string {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    return issue === undefined ? "invalid settings" : `${issue.path.join(".") || "the file"}: ${issue.message}`;
  }
  return error instanceof Error ? (error.message.split("\n")[0] ?? "unreadable") : "unreadable";
}
