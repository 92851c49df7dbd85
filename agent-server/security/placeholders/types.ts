import type { PiiDetector, PiiKind, PiiMatch } from "../pii/types.ts";
import type { Redactor } from "../types.ts";

/** Which personal data is hidden in text that leaves this machine. */
export interface PersonalRules {
  readonly detector: PiiDetector;
  /** Kinds to hide. */
  readonly kinds: ReadonlySet<PiiKind>;
  /** Loads the detector's remaining data; awaited before the first call that leaves this machine. */
  readonly ready?: () => Promise<void>;
}

/**
 * The placeholders of one quest. A value has the same placeholder throughout the quest, also after a restart, and a different one in
 * other quests. Values are kept only in memory and learned again from the texts that contain them.
 */
export interface QuestPlaceholders {
  /** Replaces secrets in stored and displayed text like the redactor, but reversibly. */
  readonly secrets: Redactor;
  /**
   * Hides secrets and personal data in text that leaves this machine. Idempotent.
   * @param more additional matches, as positions in the text after `secrets`
   */
  hide(text: string, rules: PersonalRules, more?: readonly PiiMatch[]): string;
  /** Hides values that were learned before, also where no context identifies them. */
  hideKnown(text: string, kinds: ReadonlySet<PiiKind>): string;
  /** Restores personal data. Secrets stay hidden, and placeholders of other quests are not changed. */
  restorePersonal(text: string): string;
  /** The known secrets whose placeholders a text contains, with the placeholder as written and the files that contained the secret. */
  secretsIn(text: string): { written: string; value: string; places: ReadonlySet<string> }[];
  /** Learns the secrets of a file's text and that the file contains them. Returns the text with placeholders. */
  learnFrom(place: string, text: string): string;
  /** Restores secrets. Only for text that is written to files. */
  restoreSecrets(text: string): string;
  /** True when the text contains anything in the form of a placeholder. */
  hasPlaceholders(text: string): boolean;
  /** Placeholders in the text without a known value: mistyped, invented, or from a text not read since a restart. */
  unknownIn(text: string): string[];
  /** Counts the hidden values of each kind in the texts. */
  countIn(texts: Iterable<string>): Record<string, number>;
  /** Increases when a value is learned. */
  readonly version: number;
  /** Frees the caches. */
  clearCache(): void;
}
