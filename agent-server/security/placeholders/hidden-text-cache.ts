import type { PersonalRules } from "./types.ts";

/** A text as it was hidden, and how much was known then. */
interface Hidden {
  readonly text: string;
  readonly version: number;
}

/** UTF-16 units of the texts that are remembered. */
const keptUnits = 4_000_000;

/** What texts became when they were hidden: a conversation is sent again with each step, and grows by its end. */
export function createHiddenTexts() {
  const kept = new Map<string, Hidden>();
  let rulesOfKept: PersonalRules | null = null;
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
      if (rules.detector !== rulesOfKept?.detector || rules.kinds !== rulesOfKept.kinds) return null;
      return kept.get(text) ?? null;
    },
    set(text: string, rules: PersonalRules, hidden: Hidden): void {
      if (rules.detector !== rulesOfKept?.detector || rules.kinds !== rulesOfKept.kinds) {
        this.clear();
        rulesOfKept = rules;
      }
      remove(text);
      kept.set(text, hidden);
      units += text.length;
      for (const oldest of kept.keys()) {
        if (units <= keptUnits) break;
        remove(oldest);
      }
    },
  };
}
