import type { Storage } from "../../storage/storage.ts";
import type { MemorySettings } from "../memory-settings.ts";
import type { MemoryStore, StoredItem } from "../item-types.ts";
import type { JobResult, JobYield } from "./job-yield.ts";

const day = 86_400_000;
const batch = 500;

/**
 * An item's weight: its confidence, halved with every half-life since the last confirmation; the owner's statements do not decay. It is
 * computed from stored data, never from an earlier weight, so that it is idempotent; rounding lets old items reach a stable value.
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

/** Updates the weights of the archival memory visible in this workspace. Weights are derived: no commit, no image. */
export async function decayArchival(
  deps: { storage: Storage; store: MemoryStore; settings: () => MemorySettings; workspace: string; now: () => number },
  jobYield: JobYield,
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
    await jobYield.pause();
  }
  const detail =
    seen === 0
      ? "Archival memory is empty."
      : `Updated the weight of ${String(changed)} of ${String(seen)} archival items; ${String(faded)} decayed so far that only search finds them.`;
  return { ok: true, detail, facts: { seen, changed, faded } };
}
