import type { Flag } from "../contract/flags.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Handlers } from "../contract/table.ts";
import { createOwnersFlags } from "./owners-flags.ts";
import { type FlagName, flagNames, flagTable, isFlagName } from "./table.ts";

export { createSafeMode, safeModeHandlers } from "./safe-mode.ts";
export { flagsMigrations } from "./schema.ts";
export { type FlagName, flagNames } from "./table.ts";

/** What switched, for a receipt. */
export interface FlagChange {
  readonly name: FlagName;
  readonly enabled: boolean;
  readonly source: Flag["source"];
  /** `set`: the owner now; `settings`: the editor's settings; `reload`: file or environment read again, here or by another window. */
  readonly by: "set" | "settings" | "reload";
}

/**
 * Switches of subsystems (requirement F1). What the owner set last in this host counts most, then the environment, then the
 * editor's settings, then the owner's file, then the default. A workspace has no say in any of them.
 */
export interface Flags {
  /** Cheap: for use on every call. A change by another window shows within a second. */
  enabled(name: FlagName): boolean;
  list(): Flag[];
  /** Switches a flag at once and writes it to the owner's file. @throws LancelotError `not_found`, `conflict`, `unavailable`. */
  set(name: string, enabled: boolean): Flag;
  /** Forgets what was set in this host and reads environment and file again. */
  reload(): Flag[];
  /** What the editor's settings say now; a flag that is not named is left to the others. */
  useSettings(settings: Readonly<Record<string, boolean>>): void;
  /** @throws LancelotError `disabled` with the flag, when it is off. */
  require(name: FlagName): void;
}

export interface FlagsDeps {
  /** The owner's file is `config/flags.yaml` in it. */
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Told of each flag whose value changed. */
  onChange?: (change: FlagChange) => void;
  log?: (message: string, error?: unknown) => void;
  /** Milliseconds. */
  now?: () => number;
}

interface State {
  readonly enabled: boolean;
  readonly source: Flag["source"];
}

/** How long (ms) the owner's file is taken to be as it was. */
const fresh = 1_000;

export function createFlags(deps: FlagsDeps): Flags {
  const now = deps.now ?? Date.now;
  const file = createOwnersFlags(deps.dataDir, deps.log ?? (() => undefined));
  const set = new Map<FlagName, boolean>();
  let settings: Readonly<Record<string, boolean>> = {};
  let environment = fromEnvironment(deps.env);
  let states = compute();
  let checkedAt = now();

  function compute(): Map<FlagName, State> {
    const owners = file.read();
    return new Map(
      flagNames.map((name): [FlagName, State] => {
        const mine = set.get(name);
        if (mine !== undefined) return [name, { enabled: mine, source: "setting" }];
        const given = environment.get(name);
        if (given !== undefined) return [name, { enabled: given, source: "environment" }];
        const chosen = settings[name] ?? owners.get(name);
        if (chosen !== undefined) return [name, { enabled: chosen, source: "setting" }];
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
    if (Math.abs(now() - checkedAt) > fresh) {
      checkedAt = now();
      if (file.changed()) recompute("reload");
    }
    return states.get(name) ?? { enabled: flagTable[name].default, source: "default" };
  }

  function describe(name: FlagName): Flag {
    const { default: byDefault, needs, effect } = flagTable[name];
    return { name, ...state(name), default: byDefault, ...(needs === undefined ? {} : { needs: [...needs] }), effect };
  }

  const flags: Flags = {
    enabled: (name) => state(name).enabled,
    list: () => flagNames.map(describe),
    set(asked, enabled) {
      const name = asked
        .trim()
        .toUpperCase()
        .replace(/^FEATURE_/, "");
      if (!isFlagName(name)) throw new LancelotError("not_found", `There is no flag ${asked}. There are: ${flagNames.join(", ")}.`);
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
      throw new LancelotError("disabled", `${name} is switched off. The owner can switch it on with the flag ${name}.`, {
        data: { flag: name },
      });
    },
  };
  return flags;
}

/** `FEATURE_<NAME>`: true, 1 or yes switch on, in any case; every other value switches off. */
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
