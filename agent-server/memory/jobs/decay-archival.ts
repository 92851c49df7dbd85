import type { Storage } from "../../storage/storage.ts";
import type { MemorySettings } from "../settings.ts";
import type { MemoryStore, StoredItem } from "../item-types.ts";
import type { JobResult, JobTurns } from "./turns.ts";

const day = 86_400_000;
const batch = 500;

/**
 * What an item counts: its confidence, halved with every half-life since it was last confirmed. What the owner said counts in full. It is
 * computed from what is stored, never from an earlier weight, so that doing it twice is doing it once; rounded, so that old items come to rest.
 */
export function weightOf(
  item: Pick<StoredItem, "tier" | "confidence" | "provenance" | "reinforcedAt">,
  halfLifeDays: number,
  now: number,
): number {
  if (item.tier !== "archival" || item.provenance.source === "user") return item.confidence;
  const days = Math.max(0, (now - item.reinforcedAt) / day);
  return Math.round(item.confidence * 2 ** (-days / halfLifeDays) * 1e4) / 1e4;
}

/** Sets the weights of the archival memory this workspace sees. Derived alone: no commit, no image. */
export async function decayArchival(
  deps: { storage: Storage; store: MemoryStore; settings: () => MemorySettings; workspace: string; now: () => number },
  turns: JobTurns,
): Promise<JobResult> {
  const { storage, store } = deps;
  const { half_life_days: halfLife, forgotten_weight: forgotten } = deps.settings();
  const now = deps.now();
  let seen = 0;
  let changed = 0;
  let faded = 0;
  for (let after = 0; ; ) {
    const items = store.all(after, batch);
    const last = items.at(-1);
    if (last === undefined) break;
    after = last.seq;
    storage.transaction(() => {
      for (const item of items) {
        if (item.tier !== "archival" || (item.workspace !== "" && item.workspace !== deps.workspace)) continue;
        seen += 1;
        const weight = weightOf(item, halfLife, now);
        if (weight < forgotten) faded += 1;
        if (weight === item.weight) continue;
        store.derive(item.id, { weight });
        changed += 1;
      }
    });
    await turns.turn();
  }
  const detail =
    seen === 0
      ? "There is no archival memory."
      : `Of ${String(seen)} archival memories ${String(changed)} count otherwise than before; ${String(faded)} count so little that only a search brings them.`;
  return { ok: true, detail, facts: { seen, changed, faded } };
}
