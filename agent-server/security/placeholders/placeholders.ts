import { randomBytes } from "node:crypto";
import { openText, readKey, sealText, seemsSealed, subkey } from "./placeholder-key.ts";
import type { KnownSecrets } from "../known-secrets/known-secrets.ts";
import { createQuestPlaceholders } from "./quest-placeholders.ts";
import type { QuestPlaceholders } from "./types.ts";

export type { PersonalRules, QuestPlaceholders } from "./types.ts";
export { createRestorer } from "./restorer.ts";

/** Reversible placeholders for secrets and personal data (requirement M6; governance.md, Redaction). */
export interface Placeholders {
  /** The placeholders of a quest; without one, temporary placeholders for a single call. */
  of(questId: string | null): QuestPlaceholders;
  /** Prepares a quest's text for the database: encrypted when it contains a secret, otherwise unchanged. */
  seal(text: string, questId: string): string;
  /** Reverses `seal`; null when the key was lost. */
  open(text: string): string | null;
}

/** Maximum quests whose values stay in memory; others learn their values again when their files are read. */
const maxQuests = 64;
/** Maximum quests that also cache whole texts. */
const maxCachingQuests = 4;

/**
 * @param deps.dataDir contains the placeholder key, which is created on first use
 * @param deps.known the values of secret files
 */
export function createPlaceholders(deps: { dataDir: string; known?: KnownSecrets }): Placeholders {
  let key: Buffer | null = null;
  const master = (): Buffer => (key ??= readKey(deps.dataDir));
  let texts: Buffer | null = null;
  const textKey = (): Buffer => (texts ??= subkey(master(), "texts"));
  const quests = new Map<string, QuestPlaceholders>();

  const self: Placeholders = {
    of(questId) {
      if (questId === null) return createQuestPlaceholders(randomBytes(32), deps.known);
      const found = quests.get(questId) ?? createQuestPlaceholders(subkey(master(), `quest ${questId}`), deps.known);
      quests.delete(questId);
      quests.set(questId, found);
      [...quests.values()].at(-1 - maxCachingQuests)?.clearCache();
      const [oldest] = quests.keys();
      if (quests.size > maxQuests && oldest !== undefined) quests.delete(oldest);
      return found;
    },
    seal(text, questId) {
      const holds = seemsSealed(text) || self.of(questId).secrets.text(text).text !== text;
      return holds ? sealText(textKey(), text) : text;
    },
    open: (text) => openText(textKey, text),
  };
  return self;
}
