import type { Flag } from "../contract/flags.ts";
import { LancelotError } from "../contract/errors.ts";
import type { DoctorLine } from "../contract/providers.ts";
import type { Handlers } from "../contract/table.ts";
import { createFlagsFile } from "./flags-file.ts";
import { type FlagName, flagNames, flagTable, implementedFlags, isFlagName } from "./table.ts";

export { createSafeMode, safeModeHandlers } from "./safe-mode.ts";
export { createSleep, sleepingText } from "./sleep.ts";
export { flagsMigrations } from "./schema.ts";
export { type FlagName, flagNames } from "./table.ts";

/** A changed flag, for its receipt. */
export interface FlagChange {
  readonly name: FlagName;
  readonly enabled: boolean;
  readonly source: Flag["source"];
  /** `set`: `flags.set`; `settings`: the editor's settings; `reload`: the file or the environment, read again or changed by another window. */
  readonly by: "set" | "settings" | "reload";
}

/**
 * Feature flags of subsystems (requirement F1). Precedence: `flags.set` in this host, the environment, the editor's settings, the
 * owner's file, the default. A workspace can set none of them. A flag that nothing implements is always off and not listed.
 */
export interface Flags {
  /** Cheap enough for every call. A change by another window shows within a second. */
  enabled(name: FlagName): boolean;
  list(): Flag[];
  /** Why entries of config/flags.yaml have no effect; null when they all have. */
  configProblem(): string | null;
  /** Sets a flag at once and writes it to the owner's file. @throws LancelotError `not_found`, `conflict`, `unavailable`. */
  set(name: string, enabled: boolean): Flag;
  /** Drops the values set in this host, then reads the environment and the file again. */
  reload(): Flag[];
  /** Replaces the values from the editor's settings. Flags without a value fall back to the other sources. */
  useSettings(settings: Readonly<Record<string, boolean>>): void;
  /** Values of the environment that are ignored, one sentence each. */
  problems(): readonly string[];
  /** @throws LancelotError `disabled` with the flag, when it is off. */
  require(name: FlagName): void;
}

export interface FlagsDeps {
  /** Contains the owner's file, `config/flags.yaml`. */
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Called for each flag whose value changed. */
  onChange?: (change: FlagChange) => void;
  log?: (message: string, error?: unknown) => void;
  /** Milliseconds. */
  now?: () => number;
}

interface State {
  readonly enabled: boolean;
  readonly source: Flag["source"];
}

/** How long (ms) a read of the owner's file stays valid. */
const fileCheckMs = 1_000;
const notImplemented: State = { enabled: false, source: "default" };

export function createFlags(deps: FlagsDeps): Flags {
  const now = deps.now ?? Date.now;
  const file = createFlagsFile(deps.dataDir, deps.log ?? (() => undefined));
  const set = new Map<FlagName, boolean>();
  let settings: Readonly<Record<string, boolean>> = {};
  let environment = readEnvironment();
  let states = compute();
  let checkedAt = now();

  function readEnvironment(): EnvironmentFlags {
    const read = fromEnvironment(deps.env);
    for (const problem of read.problems) deps.log?.(problem);
    return read;
  }

  function compute(): Map<FlagName, State> {
    const fromFile = file.read();
    return new Map(
      flagNames.map((name): [FlagName, State] => {
        if (flagTable[name].effect === null) return [name, notImplemented];
        const setHere = set.get(name);
        if (setHere !== undefined) return [name, { enabled: setHere, source: "setting" }];
        const fromEnv = environment.values.get(name);
        if (fromEnv !== undefined && fromEnv !== "invalid") return [name, { enabled: fromEnv, source: "environment" }];
        // Nobody knows what an invalid value was meant to say. The shipped default is the safe one, whatever settings and file say.
        if (fromEnv === "invalid") return [name, { enabled: flagTable[name].default, source: "default" }];
        const configured = settings[name] ?? fromFile.get(name);
        if (configured !== undefined) return [name, { enabled: configured, source: "setting" }];
        return [name, { enabled: flagTable[name].default, source: "default" }];
      }),
    );
  }

  function recompute(by: FlagChange["by"]): void {
    const before = states;
    states = compute();
    checkedAt = now();
    for (const [name, { enabled, source }] of states) {
      if (before.get(name)?.enabled !== enabled) deps.onChange?.({ name, enabled, source, by });
    }
  }

  function state(name: FlagName): State {
    if (Math.abs(now() - checkedAt) > fileCheckMs) {
      checkedAt = now();
      if (file.changed()) recompute("reload");
    }
    return states.get(name) ?? notImplemented;
  }

  function describe(name: FlagName): Flag {
    const { default: byDefault, needs, effect } = flagTable[name];
    return { name, ...state(name), default: byDefault, ...(needs === undefined ? {} : { needs: [...needs] }), effect: effect ?? "" };
  }

  const flags: Flags = {
    configProblem: file.problem,
    enabled: (name) => state(name).enabled,
    list: () => implementedFlags.map(describe),
    set(given, enabled) {
      const name = given
        .trim()
        .toUpperCase()
        .replace(/^FEATURE_/, "");
      if (!isFlagName(name))
        throw new LancelotError("not_found", `There is no flag ${given}. Available flags: ${implementedFlags.join(", ")}.`);
      if (flagTable[name].effect === null)
        throw new LancelotError("unavailable", `This version of Lancelot does not implement the flag ${name}.`, {
          data: { what: name, nextStep: "Update Lancelot when a newer version includes it." },
        });
      file.write(name, enabled);
      set.set(name, enabled);
      recompute("set");
      return describe(name);
    },
    reload() {
      set.clear();
      environment = readEnvironment();
      recompute("reload");
      return flags.list();
    },
    useSettings(next) {
      settings = next;
      recompute("settings");
    },
    problems: () => environment.problems,
    require(name) {
      if (flags.enabled(name)) return;
      throw new LancelotError("disabled", `This is turned off. Turn on the flag ${name} to use it.`, {
        data: { flag: name },
      });
    },
  };
  return flags;
}

interface EnvironmentFlags {
  readonly values: ReadonlyMap<FlagName, boolean | "invalid">;
  readonly problems: readonly string[];
}

/** `FEATURE_<NAME>`: true, 1 or yes turn a flag on, false, 0, no or off turn it off, in any case. An empty or blank variable is unset. */
function fromEnvironment(env: FlagsDeps["env"]): EnvironmentFlags {
  const values = new Map<FlagName, boolean | "invalid">();
  const problems: string[] = [];
  for (const name of flagNames) {
    // Invisible characters (\p{Cf}) are blank too: nobody sees them in a settings file.
    const value = env[`FEATURE_${name}`]?.replaceAll(/\p{Cf}/gu, "").trim() ?? "";
    if (value === "") continue;
    if (/^(?:true|1|yes)$/i.test(value)) values.set(name, true);
    else if (/^(?:false|0|no|off)$/i.test(value)) values.set(name, false);
    else {
      values.set(name, "invalid");
      if (flagTable[name].effect === null) continue;
      const shown = /^[\w.+-]{1,20}$/.test(value) ? `"${value}"` : "an invalid value";
      const applied = flagTable[name].default ? "on" : "off";
      problems.push(`FEATURE_${name} in the environment is ${shown}, so its default applies (${applied}). Use true or false.`);
    }
  }
  return { values, problems };
}

export function flagHandlers(flags: Flags): Pick<Handlers, "flags.list" | "flags.set" | "flags.reload"> {
  return {
    "flags.list": () => ({ items: flags.list() }),
    "flags.set": ({ name, enabled }) => flags.set(name, enabled),
    "flags.reload": () => ({ items: flags.reload() }),
  };
}

/** A warning for each value that is ignored. */
export function flagDoctorLines(flags: Pick<Flags, "problems">): DoctorLine[] {
  return flags.problems().map((message, index) => ({
    id: `flag-${index}`,
    title: "Feature flags",
    status: "warning",
    message,
    nextStep: "Correct the value, then reload the flags or restart Lancelot.",
    action: "open_flags",
  }));
}
