import type { Handlers } from "../contract/table.ts";
import type { Storage } from "../storage/storage.ts";

/** Safe mode turns off network access, connectors, deployment and push. The gate denies them while it is on. */
export interface SafeMode {
  /** Cheap enough for every decision. A change by another window shows within 250 ms. True when the state cannot be read. */
  enabled(): boolean;
  /** Persists across restarts and applies to every window. */
  set(enabled: boolean): void;
}

export interface SafeModeDeps {
  storage: Pick<Storage, "db" | "transaction">;
  /** Called when safe mode changed, here or in another window. */
  onChange?: (enabled: boolean, here: boolean) => void;
  /** Milliseconds. */
  now?: () => number;
}

/** How long (ms) a read stays valid. */
const validMs = 250;

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
      if (Math.abs(now() - readAt) > validMs) {
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
