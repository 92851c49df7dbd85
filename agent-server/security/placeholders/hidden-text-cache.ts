import type { PersonalRules } from "./types.ts";

/** A hidden text, and the version of the known values at that time. */
interface Hidden {
  readonly text: string;
  readonly version: number;
}

/** Maximum UTF-16 units of the cached texts. */
const maxUnits = 4_000_000;

/** Caches hidden texts: each step sends the whole conversation again, with additions at its end. */
export function createHiddenTextCache() {
  const kept = new Map<string, Hidden>();
  let rulesOfCache: PersonalRules | null = null;
  let units = 0;

  function remove(text: string): void {
    if (kept.delete(text)) units -= text.length;
  }

  return {
    clear(): void {
      kept.clear();
      units = 0;
    },
    get(text: string, rules: PersonalRules): Hidden | null {
      if (rules.detector !== rulesOfCache?.detector || rules.kinds !== rulesOfCache.kinds) return null;
      return kept.get(text) ?? null;
    },
    set(text: string, rules: PersonalRules, hidden: Hidden): void {
      if (rules.detector !== rulesOfCache?.detector || rules.kinds !== rulesOfCache.kinds) {
        this.clear();
        rulesOfCache = rules;
      }
      remove(text);
      kept.set(text, hidden);
      units += text.length;
      for (const oldest of kept.keys()) {
        if (units <= maxUnits) break;
        remove(oldest);
      }
    },
  };
}
