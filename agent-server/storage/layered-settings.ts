import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { parseShipped } from "../shipped-yaml.ts";

/**
 * The shipped settings with the owner's laid over them, key by key, read again when a file is another one. A file that cannot be used
 * is left out as a whole, and `onProblem` is told why, once.
 * @returns a function that gives the settings in force; it never throws.
 */
export function createLayeredSettings<S extends z.ZodType>(of: {
  /** Name of the file in both folders, as `context.yaml`. */
  name: string;
  /** Parses `{}` to the defaults. */
  schema: S;
  /** The shipped `config/` folder; null: defaults hold. */
  configDir: string | null;
  dataDir: string;
  onProblem: (words: string) => void;
  /** Throws an Error, in words for the owner, where settings do not go together. */
  check?: (settings: z.output<S>) => void;
}): () => z.output<S> {
  const files = [...(of.configDir === null ? [] : [of.configDir]), join(of.dataDir, "config")].map((folder) => join(folder, of.name));
  let seen = "";
  let settings = of.schema.parse({});

  function load(): z.output<S> {
    let laid: Record<string, unknown> = {};
    for (const path of files) {
      try {
        const text = readFileSync(path, "utf8");
        const tried = { ...laid, ...z.record(z.string(), z.unknown()).parse(parseShipped(text).value ?? {}) };
        const parsed = of.schema.parse(tried);
        of.check?.(parsed);
        laid = tried;
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") continue;
        of.onProblem(`The file config/${of.name} cannot be used, so the settings before it hold: ${wordsOf(error)}.`);
      }
    }
    return of.schema.parse(laid);
  }

  return () => {
    const stamp = files.map(stampOf).join();
    if (stamp === seen) return settings;
    seen = stamp;
    settings = load();
    return settings;
  };
}

function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${String(mtimeMs)}:${String(size)}:${String(ino)}`;
  } catch {
    // There is none, or it cannot be looked at: reading it will say why.
    return "none";
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    return issue === undefined ? "it is not as it should be" : `${issue.path.join(".") || "it"}: ${issue.message}`;
  }
  return error instanceof Error ? (error.message.split("\n")[0] ?? "it cannot be read") : "it cannot be read";
}
