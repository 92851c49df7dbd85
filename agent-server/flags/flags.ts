import type { Flag } from "../contract/flags.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Handlers } from "../contract/table.ts";
import { createFlagsFile } from "./flags-file.ts";
import { type FlagName, flagNames, flagTable, implementedFlags, isFlagName } from "./table.ts";

export { createSafeMode, safeModeHandlers } from "./safe-mode.ts";
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
  /** Sets a flag at once and writes it to the owner's file. @throws LancelotError `not_found`, `conflict`, `unavailable`. */
  set(name: string, enabled: boolean): Flag;
  /** Drops the values set in this host, then reads the environment and the file again. */
  reload(): Flag[];
  /** Replaces the values from the editor's settings. Flags without a value fall back to the other sources. */
  useSettings(settings: Readonly<Record<string, boolean>>): void;
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
  let environment = fromEnvironment(deps.env);
  let states = compute();
  let checkedAt = now();

  function compute(): Map<FlagName, State> {
    const fromFile = file.read();
    return new Map(
      flagNames.map((name): [FlagName, State] => {
        if (flagTable[name].effect === null) return [name, notImplemented];
        const setHere = set.get(name);
        if (setHere !== undefined) return [name, { enabled: setHere, source: "setting" }];
        const fromEnv = environment.get(name);
        if (fromEnv !== undefined) return [name, { enabled: fromEnv, source: "environment" }];
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
      environment = fromEnvironment(deps.env);
      recompute("reload");
      return flags.list();
    },
    useSettings(next) {
      settings = next;
      recompute("settings");
    },
    require(name) {
      if (flags.enabled(name)) return;
      throw new LancelotError("disabled", `This is turned off. Turn on the flag ${name} to use it.`, {
        data: { flag: name },
      });
    },
  };
  return flags;
}

/** `FEATURE_<NAME>`: true, 1 or yes, in any case, turn a flag on; every other value turns it off. */
function fromEnvironment(env: FlagsDeps["env"]): Map<FlagName, boolean> {
  const found = new Map<FlagName, boolean>();
  for (const name of flagNames) {
    const value = env[`FEATURE_${name}`]?.trim();
    if (value !== undefined) found.set(name, /^(?:true|1|yes)$/i.test(value));
  }
  return found;
}

export function flagHandlers(flags: Flags): Pick<Handlers, "flags.list" | "flags.set" | "flags.reload"> {
  return {
    "flags.list": () => ({ items: flags.list() }),
    "flags.set": ({ name, enabled }) => flags.set(name, enabled),
    "flags.reload": () => ({ items: flags.reload() }),
  };
}
