import type { PiiDetector, PiiKind, PiiMatch } from "../pii/types.ts";
import type { Redactor } from "../types.ts";

/** How personal data is looked for in what leaves this machine. */
export interface PersonalRules {
  readonly detector: PiiDetector;
  /** Kinds that are hidden. */
  readonly kinds: ReadonlySet<PiiKind>;
  /** What is to be loaded before the detector knows everything; waited for before the first call that leaves this machine. */
  readonly ready?: () => Promise<void>;
}

/**
 * The placeholders of one quest. The same value always has the same one, in this quest and after a restart; in another quest it has
 * another. The values are kept in memory alone and are learned anew from the texts that hold them.
 */
export interface QuestPlaceholders {
  /** Puts placeholders for secrets into what is stored and shown, like the redactor, but in a way that can be taken back here. */
  readonly secrets: Redactor;
  /**
   * Also for personal data: a text as it may leave this machine. Hiding twice changes nothing more.
   * @param more what was found besides, in the text as `secrets` leaves it
   */
  hide(text: string, rules: PersonalRules, more?: readonly PiiMatch[]): string;
  /** Values that were learned since, where nothing around them tells what they are. */
  hideKnown(text: string, kinds: ReadonlySet<PiiKind>): string;
  /** The text with personal data back in its place. Secrets stay hidden, and so does what is no placeholder of this quest. */
  restorePersonal(text: string): string;
  /** The secrets of a text that are known now, each with its placeholder as it is written there, and the files that held it. */
  secretsIn(text: string): { written: string; value: string; places: ReadonlySet<string> }[];
  /** Learns the secrets of a file's text, and that it held them. Gives the text without them. */
  learnFrom(place: string, text: string): string;
  /** The text with the secrets in the place of their placeholders. For files alone. */
  restoreSecrets(text: string): string;
  /** True for a text with anything that is spelled like a placeholder. */
  mentionedIn(text: string): boolean;
  /** Placeholders in the text that stand for nothing here: mistyped, invented, or of a text that was not read since a restart. */
  unknownIn(text: string): string[];
  /** How many values of each kind a text hides. */
  countIn(texts: Iterable<string>): Record<string, number>;
  /** Changes when something was learned. */
  readonly version: number;
  /** Lets go of what is kept only to be quick. */
  rest(): void;
}
