import type { Handlers } from "../contract/table.ts";
import type { Storage } from "../storage/storage.ts";

/** Leaves only what works on this machine: no network, no connectors, no deployment, no push. The gate denies by it. */
export interface SafeMode {
  /** Cheap: for use in every decision. A change by another window shows within a quarter of a second. On while it cannot be read. */
  enabled(): boolean;
  /** Kept across restarts, for every window of this owner. */
  set(enabled: boolean): void;
}

export interface SafeModeDeps {
  storage: Pick<Storage, "db" | "transaction">;
  /** Told when it was switched here or, once noticed, by another window. */
  onChange?: (enabled: boolean, here: boolean) => void;
  /** Milliseconds. */
  now?: () => number;
}

/** How long (ms) what was read is taken to hold. */
const fresh = 250;

export function createSafeMode({ storage, onChange, now = Date.now }: SafeModeDeps): SafeMode {
  const select = storage.db.prepare<[], number>("SELECT enabled FROM safe_mode WHERE only_row = 1").pluck();
  const update = storage.db.prepare("INSERT OR REPLACE INTO safe_mode VALUES (1, ?, ?)");
  const read = (): boolean => {
    try {
      return select.get() !== 0;
    } catch {
      return true;
    }
  };
  let current = read();
  let readAt = now();

  return {
    enabled() {
      if (Math.abs(now() - readAt) > fresh) {
        readAt = now();
        const before = current;
        current = read();
        if (before !== current) onChange?.(current, false);
      }
      return current;
    },
    set(enabled) {
      storage.transaction(() => update.run(enabled ? 1 : 0, new Date(now()).toISOString()));
      const before = current;
      current = enabled;
      readAt = now();
      if (before !== enabled) onChange?.(enabled, true);
    },
  };
}

export function safeModeHandlers(safeMode: SafeMode): Pick<Handlers, "tools.safeMode"> {
  return {
    "tools.safeMode": ({ enabled }) => {
      safeMode.set(enabled);
      return { enabled: safeMode.enabled() };
    },
  };
}
