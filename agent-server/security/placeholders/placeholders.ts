import { randomBytes } from "node:crypto";
import { openText, readKey, sealText, seemsSealed, subkey } from "./placeholder-key.ts";
import { createQuestPlaceholders } from "./quest-placeholders.ts";
import type { QuestPlaceholders } from "./types.ts";

export type { PersonalRules, QuestPlaceholders } from "./types.ts";
export { createRestorer } from "./restorer.ts";

/** Reversible placeholders for secrets and personal data (requirement M6; governance.md, Redaction). */
export interface Placeholders {
  /** Those of a quest; without one, placeholders that mean nothing after the call they are for. */
  of(questId: string | null): QuestPlaceholders;
  /** A text of a quest as it may stand in the database: sealed when it holds a secret, else as it is. */
  seal(text: string, questId: string): string;
  /** What `seal` was given; null when its key is gone. */
  open(text: string): string | null;
}

/** Quests whose values are kept in memory; those of others are learned anew when their files are read. */
const keptQuests = 64;
/** Those of them that keep whole texts too, to be quick. */
const quickQuests = 4;

/** @param deps.dataDir the key of placeholders is kept there, in a file of its own, and made on first use */
export function createPlaceholders(deps: { dataDir: string }): Placeholders {
  let key: Buffer | null = null;
  const master = (): Buffer => (key ??= readKey(deps.dataDir));
  let texts: Buffer | null = null;
  const textKey = (): Buffer => (texts ??= subkey(master(), "texts"));
  const quests = new Map<string, QuestPlaceholders>();

  const self: Placeholders = {
    of(questId) {
      if (questId === null) return createQuestPlaceholders(randomBytes(32));
      const found = quests.get(questId) ?? createQuestPlaceholders(subkey(master(), `quest ${questId}`));
      quests.delete(questId);
      quests.set(questId, found);
      [...quests.values()].at(-1 - quickQuests)?.rest();
      const [oldest] = quests.keys();
      if (quests.size > keptQuests && oldest !== undefined) quests.delete(oldest);
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
