import { experienceNamespace, type MemoryTier } from "../contract/memory.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Storage } from "../storage/storage.ts";
import { orderEntries } from "./core-block-text.ts";
import { itemOfRow, type ItemRow, placeOfTarget, sortedJson } from "./item-rows.ts";
import { textKey } from "./text-key.ts";
import type { Derived, ItemImage, MemoryIndex, MemoryStore, StoredItem } from "./item-types.ts";

export interface MemoryStoreDeps {
  readonly storage: Storage;
  readonly index: MemoryIndex;
  /** The searchable text of an item: its content, or the text of the message it refers to. */
  readonly textOf: (image: ItemImage) => string;
  /** Absolute path; `-` when no folder is open. */
  readonly workspace: string;
}

/**
 * The rows of items. Reads cover this workspace's view: its own and global items; only `expired` and `all`
 * read every workspace, and `put` and `derive` write any item by id. Nothing is cached, because other hosts write too.
 */
export function createMemoryStore(deps: MemoryStoreDeps): MemoryStore {
  const { storage, index, workspace } = deps;
  const { db } = storage;
  const seen = "workspace IN ('', @workspace)";
  const rows = (where: string, how = "") =>
    db.prepare<[Record<string, unknown>], ItemRow>(`SELECT * FROM memory_items ${how} WHERE ${where}`);
  const find = rows(`id = @id AND ${seen}`);
  const findAny = rows("id = @id");
  const findSeqs = rows(`seq IN (SELECT value FROM json_each(@seqs)) AND +${seen}`);
  const listed = `workspace = @place AND tier = @tier AND seq < @before AND (expires_at IS NULL OR expires_at > @now)
    AND (@kind IS NULL OR kind = @kind)
    AND (@questId IS NULL OR tier <> 'working' OR namespace NOT LIKE 'quest:%' OR namespace = 'quest:' || @questId)
    ORDER BY seq DESC LIMIT @limit`;
  const newest = rows(listed, "INDEXED BY memory_items_newest");
  const newestOfNamespace = rows(`namespace = @namespace AND ${listed}`, "INDEXED BY memory_items_namespace");
  const ofBlock = rows(`${seen} AND tier = 'core' AND block = @block`);
  // The index is named because SQLite without statistics would scan a whole tier.
  const ofText = db.prepare<[Record<string, unknown>], ItemRow>(
    `SELECT * FROM memory_items INDEXED BY memory_items_text
     WHERE text_key = @key AND text_key <> '' AND ${seen} AND tier = @tier AND block IS @block AND namespace = @namespace
     ORDER BY expires_at IS NULL DESC, expires_at DESC, seq LIMIT 1`,
  );
  const ofQuest = rows(`quest_id = @questId AND kind = 'experience' AND ${seen} ORDER BY seq LIMIT 1`, "INDEXED BY memory_items_quest");
  const misplaced = rows(
    `workspace = @workspace AND tier = 'episodic' AND kind = 'experience' AND namespace <> @namespace LIMIT @limit`,
    "INDEXED BY memory_items_newest",
  );
  // json_set leaves null as it is. Rollbacks compare an item with its images.
  const imagesMoved = db.prepare(
    `UPDATE memory_images SET before = json_set(before, '$.namespace', @namespace), after = json_set(after, '$.namespace', @namespace)
     WHERE item_id = @id`,
  );
  const expiredRows = rows("expires_at <= @now ORDER BY expires_at, seq LIMIT @limit");
  const page = rows("seq > @after ORDER BY seq LIMIT @limit");
  // Both read only an index: a workspace may have a million items.
  const perTier = db.prepare<[Record<string, unknown>], { tier: MemoryTier; items: number }>(
    `SELECT tier, count(*) AS items FROM memory_items INDEXED BY memory_items_place WHERE ${seen} GROUP BY tier`,
  );
  const expiredPerTier = db.prepare<[Record<string, unknown>], { tier: MemoryTier; items: number }>(
    `SELECT tier, count(*) AS items FROM memory_items INDEXED BY memory_items_expiry
     WHERE expires_at IS NOT NULL AND expires_at <= @now AND ${seen} GROUP BY tier`,
  );
  const columns =
    "id, tier, block, namespace, workspace, kind, content, text_key, ref, confidence, tags, provenance, quest_id, commit_id, version, " +
    "created_at, updated_at, expires_at, weight, reinforced_at, reinforced";
  const names = columns.split(", ");
  const write = db.prepare(
    `INSERT INTO memory_items (${columns}) VALUES (${names.map((name) => `@${name}`).join(", ")})
     ON CONFLICT (id) DO UPDATE SET ${names
       .slice(1)
       .map((name) => `${name} = excluded.${name}`)
       .join(", ")}`,
  );
  const remove = db.prepare("DELETE FROM memory_items WHERE id = ?");
  const writeDerived = db.prepare(
    "UPDATE memory_items SET weight = @weight, reinforced_at = @reinforcedAt, reinforced = @reinforced WHERE id = @id",
  );

  const any = (id: string): StoredItem | null => {
    const row = findAny.get({ id });
    return row === undefined ? null : itemOfRow(row);
  };

  const writeImage = (image: ItemImage, derived: Derived): void => {
    write.run({
      id: image.id,
      tier: image.tier,
      block: image.block,
      namespace: image.namespace,
      workspace: image.workspace,
      kind: image.kind,
      content: image.content,
      text_key: textKey(image.content),
      ref: image.ref,
      confidence: image.confidence,
      tags: sortedJson(image.tags),
      provenance: sortedJson(image.provenance),
      quest_id: image.questId,
      commit_id: image.commitId,
      version: image.version,
      created_at: image.createdAt,
      updated_at: image.updatedAt,
      expires_at: image.expiresAt,
      weight: derived.weight,
      reinforced_at: derived.reinforcedAt,
      reinforced: derived.reinforced,
    });
  };

  return {
    get: (id) => {
      const row = find.get({ id, workspace });
      return row === undefined ? null : itemOfRow(row);
    },
    bySeq: (seqs) => findSeqs.all({ seqs: JSON.stringify(seqs), workspace }).map(itemOfRow),
    block: (block) => orderEntries(ofBlock.all({ block, workspace }).map(itemOfRow)),
    list: ({ tiers, now, limit, namespace = null, questId = null, kind = null, before = Number.MAX_SAFE_INTEGER }) => {
      const params = { now, limit, namespace, questId, kind, before: BigInt(before) };
      return ["", workspace]
        .flatMap((place) => tiers.flatMap((tier) => (namespace === null ? newest : newestOfNamespace).all({ ...params, place, tier })))
        .toSorted((a, b) => b.seq - a.seq)
        .slice(0, limit)
        .map(itemOfRow);
    },
    counts: (now) => {
      const counts: Record<MemoryTier, number> = { core: 0, working: 0, episodic: 0, archival: 0 };
      for (const { tier, items } of perTier.all({ workspace })) counts[tier] = items;
      for (const { tier, items } of expiredPerTier.all({ workspace, now })) counts[tier] -= items;
      return counts;
    },
    same: ({ target, namespace, content }) => {
      const key = textKey(content);
      const row = key === "" ? undefined : ofText.get({ key, workspace, namespace, ...placeOfTarget(target) });
      return row === undefined ? null : itemOfRow(row);
    },
    experience: (questId) => {
      const row = ofQuest.get({ questId, workspace });
      return row === undefined ? null : itemOfRow(row);
    },
    moveExperiences: (limit) =>
      storage.transaction(() => {
        const moved = misplaced.all({ workspace, namespace: experienceNamespace, limit }).map(itemOfRow);
        for (const item of moved) {
          imagesMoved.run({ id: item.id, namespace: experienceNamespace });
          const image = { ...item, namespace: experienceNamespace };
          writeImage(image, item);
          index.put(image, deps.textOf(image));
        }
        return moved.length;
      }),
    put: (id, image, derived = {}) => {
      storage.transaction(() => {
        const old = any(id);
        if (image === null) {
          if (old === null) return;
          index.remove(old.seq);
          remove.run(id);
          return;
        }
        if (image.id !== id) throw new LancelotError("internal", "An item was written with another id.");
        writeImage(image, { ...fresh(old, image), ...derived });
        const written = any(id);
        if (written !== null) index.put(written, deps.textOf(written));
      });
    },
    derive: (id, derived) => {
      storage.transaction(() => {
        const old = any(id);
        if (old === null) return;
        const { weight, reinforcedAt, reinforced } = { ...old, ...derived };
        writeDerived.run({ id, weight, reinforcedAt, reinforced });
      });
    },
    expired: (now, limit) => expiredRows.all({ now, limit }).map(itemOfRow),
    all: (after, limit) => page.all({ after, limit }).map(itemOfRow),
  };
}

/** The usage data of a written item; it starts over when the text changed. */
function fresh(old: StoredItem | null, image: ItemImage): Derived {
  if (old !== null && old.content === image.content && old.confidence === image.confidence) {
    return { weight: old.weight, reinforcedAt: old.reinforcedAt, reinforced: old.reinforced };
  }
  return { weight: image.confidence, reinforcedAt: image.updatedAt, reinforced: 0 };
}
