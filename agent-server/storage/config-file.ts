import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { checkOwnerValue, createOwnerFile, OwnerFileFault, parseOwnerYaml } from "../owner-file.ts";
import { parseShipped } from "../shipped-yaml.ts";

/** A YAML configuration file, read again whenever it changes. */
export interface ConfigFile<T> {
  /** Returns the current value; `problem` names a broken file with the line and its consequence. Never throws. */
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
  const fallback = of.schema.parse(of.fallback);
  const file = createOwnerFile({
    ...of,
    parse(text) {
      const { value, lineOf } = parseOwnerYaml(text);
      return Object.keys(value).length === 0 ? fallback : checkOwnerValue(of.schema, value, lineOf);
    },
  });
  return mapped(file.read, ({ value, problem }) =>
    problem === null
      ? { value: value ?? fallback, problem }
      : { value: null, problem: `${problem} The actions that it configures are blocked until you correct it.` },
  );
}

/**
 * The shipped `<name>`, overridden key by key by the owner's `config/<name>` in the data folder. While the owner's file is invalid, its
 * last valid version applies, or the shipped file if there is none: whatever deletes by these settings must not run while `problem` is set.
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
  /** What the problem of a broken file means. */
  consequence?: string;
  /** Throws an Error with a user-facing message when settings are inconsistent. */
  check?: (settings: z.output<S>) => void;
}): ConfigFile<z.output<S>> {
  const shippedPath = of.configDir === null ? null : join(of.configDir, of.name);
  const consequence = of.consequence ?? "Its last valid version applies until you correct it.";
  const settingsOf = (keys: Record<string, unknown>, lineOf: (path: readonly PropertyKey[]) => number): z.output<S> => {
    const settings = checkOwnerValue(of.schema, keys, lineOf);
    try {
      of.check?.(settings);
    } catch (cause) {
      throw new OwnerFileFault(1, cause instanceof Error ? cause.message : "the settings are inconsistent");
    }
    return settings;
  };
  /** A shipped file that was edited and broken leaves the defaults. */
  const shipped = (): { keys: Record<string, unknown>; problem: string | null } => {
    if (shippedPath === null) return { keys: {}, problem: null };
    try {
      const keys = z.record(z.string(), z.unknown()).parse(parseShipped(readFileSync(shippedPath, "utf8")).value ?? {});
      settingsOf(keys, () => 1);
      return { keys, problem: null };
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return { keys: {}, problem: null };
      return {
        keys: {},
        problem: `The shipped config/${of.name} is invalid, so built-in settings apply. Restore it, or reinstall Lancelot.`,
      };
    }
  };
  const file = createOwnerFile({
    ...of,
    also: shippedPath === null ? [] : [shippedPath],
    parse(text) {
      const { value, lineOf } = parseOwnerYaml(text);
      return settingsOf({ ...shipped().keys, ...value }, lineOf);
    },
  });
  return mapped(file.read, (state) => {
    const base = shipped();
    const problem = state.problem === null ? base.problem : `${state.problem} ${consequence}`;
    if (problem !== null) of.onProblem?.(problem);
    return { value: state.value ?? of.schema.parse(base.keys), problem };
  });
}

/** Converts each new state once. */
function mapped<I extends object, T>(read: () => I, convert: (state: I) => ReturnType<ConfigFile<T>["read"]>): ConfigFile<T> {
  let last: I | null = null;
  let current: ReturnType<ConfigFile<T>["read"]> | null = null;
  return {
    read() {
      const state = read();
      if (current === null || state !== last) {
        last = state;
        current = convert(state);
      }
      return current;
    },
  };
}
