import { createHash } from "node:crypto";
import type { CoreBlockName, MemoryTier } from "../../../agent-server/contract/memory.ts";
import { anEntry, anItem, day, noon, type WantedItem, workspace } from "./compiler-fixture.ts";

/** Whole numbers below `below`, the same for the same seed and question. */
export function draw(seed: string, below: number): number {
  return createHash("sha256").update(seed).digest().readUInt32BE() % below;
}

/** In an order that the seed decides. */
export function shuffled<T>(items: readonly T[], seed: string): T[] {
  const keyed = items.map((item, index) => ({
    item,
    key: createHash("sha256")
      .update(`${seed} ${String(index)}`)
      .digest("hex"),
  }));
  return keyed.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(({ item }) => item);
}

/** Words whose order, case or width depends on a locale where one is asked. */
const subjects = [
  "İstanbul ışıkları",
  "istanbul Isparta",
  "Ångström zebra",
  "ärlig ape",
  "Örn och öga",
  "zoë Zebra",
  "ﬁle ligature",
  "Straße STRASSE",
  "東京の港",
  "ポート番号",
  "ﾎﾟｰﾄ番号",
  "крановщик",
  "the crane controller",
  "harbour pilot",
  "the port of the crane",
  "👩‍👩‍👧 family",
];
const says = ["listens on port", "was rewritten because of", "must not be started before", "is owned by", "fails without", "builds with"];

/** What a workspace remembers: `count` items of every tier, many of the same weight and time. Ids differ from `ids` to `ids`. */
export function remembered(count: number, ids: string, place = workspace): WantedItem[] {
  const tiers: MemoryTier[] = ["archival", "archival", "archival", "working", "episodic", "core"];
  const blocks: CoreBlockName[] = ["human", "operating_rules", "mission", "workspace_state"];
  return Array.from({ length: count }, (_, index): WantedItem => {
    const pick = (what: string, below: number): number => draw(`${String(index)} ${what}`, below);
    const tier = tiers[pick("tier", tiers.length)] ?? "archival";
    const at = noon - pick("age", 6) * day;
    const common = {
      id: createHash("sha256")
        .update(`${ids} ${String(index)}`)
        .digest("hex")
        .slice(0, 20),
      content: `${subjects[pick("subject", subjects.length)] ?? ""} ${says[pick("says", says.length)] ?? ""} ${String(8_000 + pick("number", 60))}`,
      confidence: [0.3, 0.6, 0.6, 0.8, 0.8, 0.9][pick("confidence", 6)] ?? 0.5,
      provenance: { source: (["user", "agent", "tool", "system"] as const)[pick("source", 4)] ?? "agent" },
      createdAt: at - day,
      updatedAt: at,
    };
    if (tier === "core") {
      const block = blocks[pick("block", blocks.length)] ?? "human";
      const isGlobal = block === "human" || block === "operating_rules";
      return anEntry({ ...common, block, workspace: isGlobal && place === workspace ? "" : place });
    }
    const quest = tier === "working" && pick("quest", 2) === 0 ? "q1" : null;
    return anItem({
      ...common,
      tier,
      workspace: place,
      namespace: quest === null ? "workspace" : `quest:${quest}`,
      questId: quest,
      kind: tier === "episodic" ? "summary" : "fact",
      expiresAt: tier === "working" && pick("expires", 3) === 0 ? noon - day + pick("ttl", 3) * day : null,
    });
  });
}

/** What is asked for, so that many and few are found. */
export const objectives = [
  "",
  "On which port does the crane controller listen?",
  "Start the harbour pilot and see why it fails without the port of the crane.",
  "İSTANBUL IŞIKLARI",
  "istanbul ısparta",
  "东京 東京の港 ポート番号",
  "Straße",
  "крановщик builds with 8012",
];
