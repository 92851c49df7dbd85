import { randomUUID } from "node:crypto";
import { LancelotError } from "../contract/errors.ts";
import { experienceNamespace, type MemoryDiff, type MemoryTarget } from "../contract/memory.ts";
import type { Storage } from "../storage/storage.ts";
import { imageOf, placeOfTarget, sameImage, sortedJson, targetOf } from "./item-rows.ts";
import { createSelectItem } from "./select-item.ts";
import { textKey } from "./text-key.ts";
import type { Derived, GatedEdit, ItemImage, MemoryStore, StoredItem } from "./item-types.ts";

/** An edit of a commit with the item it is for. */
export interface StagedEdit {
  readonly edit: GatedEdit;
  readonly itemId: string;
  /** The item when the edit was staged; null for an insert of the commit itself. */
  readonly base: { readonly version: number; readonly commitId: string } | null;
  /** For an insert: the existing item with the same text. */
  readonly confirms: string | null;
}

/** The result of a commit for one item. */
export interface Change {
  readonly itemId: string;
  readonly op: MemoryDiff["op"];
  readonly before: StoredItem | null;
  readonly after: ItemImage | null;
  /** The usage data that `after` had, when it is restored. */
  readonly derived: Derived | null;
  readonly reason: string;
}

/** An existing item that was stated again. */
export interface Confirmation {
  readonly itemId: string;
  readonly times: number;
  /** The highest confidence among the statements. */
  readonly confidence: number;
}

export interface DraftDeps {
  readonly storage: Storage;
  readonly store: MemoryStore;
  readonly workspace: string;
  /** Default lifetime of working memory (hours). */
  readonly workingHours: () => number;
}

type Place = Pick<GatedEdit, "target" | "namespace">;
type Text = Pick<ItemImage, "content" | "ref">;

interface Touched {
  readonly before: StoredItem | null;
  after: ItemImage | null;
  last: GatedEdit;
}

/** The changes of one commit over the stored items, edit by edit. It writes nothing. */
export function createDrafts(deps: DraftDeps) {
  const { store, workspace } = deps;
  const { db } = deps.storage;
  const select = createSelectItem(deps);
  const taken = db.prepare<[string], number>("SELECT 1 FROM memory_items WHERE id = ?").pluck();
  const byRef = db.prepare<[string], string>("SELECT id FROM memory_items WHERE ref = ?").pluck();
  /** The highest known version of an item: one version never names two texts, not even after a rollback. */
  const highest = db
    .prepare<[string, string], number | null>(
      `SELECT max(version) FROM (
         SELECT max(ifnull(json_extract(before, '$.version'), 0), ifnull(json_extract(after, '$.version'), 0)) AS version
         FROM memory_images WHERE item_id = ?
         UNION ALL
         SELECT json_extract(body, '$.itemVersion') FROM memory_quarantine WHERE status = 'pending' AND json_extract(body, '$.itemId') = ?)`,
    )
    .pluck();

  return (of: { readonly commitId: string; readonly questId: string | null; readonly now: number }) => {
    const { commitId, questId, now } = of;
    const touched = new Map<string, Touched>();
    const overlay = new Map<string, ItemImage | null>();
    const said = new Map<string, string>();
    const confirmed = new Map<string, { times: number; confidence: number }>();
    const stale = new Set<string>();

    const hasExpired = ({ expiresAt }: ItemImage): boolean => expiresAt !== null && expiresAt <= now;
    const current = (id: string): ItemImage | null => (overlay.has(id) ? (overlay.get(id) ?? null) : store.get(id));

    const set = (id: string, after: ItemImage | null, edit: GatedEdit): void => {
      const known = touched.get(id);
      if (known === undefined) touched.set(id, { before: store.get(id), after, last: edit });
      else {
        known.after = after;
        known.last = edit;
      }
      overlay.set(id, after);
      if (after !== null) said.set(saying(targetOf(after), after.namespace, after), id);
    };

    /** The item with the same text in the same place, as the commit sees it. */
    const sameAs = (edit: Place, text: Text): string | null => {
      const own = said.get(saying(edit.target, edit.namespace, text));
      if (own !== undefined && says(current(own), edit, text)) return own;
      const stored = storedSame(edit, text);
      return stored !== null && says(current(stored), edit, text) ? stored : null;
    };
    const storedSame = ({ target, namespace }: Place, { content, ref }: Text): string | null => {
      if (ref !== null) return byRef.get(ref) ?? null;
      // Each task has an outcome of its own, also when two are told in the same words.
      if (namespace === experienceNamespace) return null;
      const item = store.same({ target, namespace, content });
      return item === null || hasExpired(item) ? null : item.id;
    };
    const says = (image: ItemImage | null, edit: Place, text: Text): boolean =>
      image !== null &&
      !hasExpired(image) &&
      targetOf(image) === edit.target &&
      image.namespace === edit.namespace &&
      (text.ref === null ? textKey(image.content) === textKey(text.content) : image.ref === text.ref);

    const insert = (id: string, edit: GatedEdit): void => {
      const lasts = edit.ttlSeconds === null ? deps.workingHours() * 3_600_000 : edit.ttlSeconds * 1_000;
      const place = placeOfTarget(edit.target);
      const back = edit.imported;
      set(
        id,
        {
          id,
          ...place,
          namespace: edit.namespace,
          workspace: edit.namespace === "global" ? "" : workspace,
          kind: edit.kind,
          ...textOfEdit(edit),
          confidence: edit.confidence,
          tags: edit.tags,
          provenance: edit.provenance,
          questId: back === undefined ? questId : back.questId,
          commitId,
          version: 1,
          createdAt: back?.createdAt ?? now,
          updatedAt: back?.updatedAt ?? now,
          expiresAt: back === undefined ? (place.tier === "working" ? now + lasts : null) : back.expiresAt,
        },
        edit,
      );
    };

    const change = (id: string, edit: GatedEdit): void => {
      const image = current(id);
      if (image === null) throw new LancelotError("internal", "An edit refers to a missing item.");
      if (isRemoval(edit)) return set(id, null, edit);
      const { content, ref } = textOfEdit(edit);
      set(
        id,
        {
          ...imageOf(image),
          content,
          ref,
          kind: edit.op === "rethink" ? edit.kind : image.kind,
          tags: edit.tags.length === 0 ? image.tags : edit.tags,
          confidence: edit.confidence,
          provenance: edit.provenance,
          commitId,
          updatedAt: now,
          expiresAt: image.tier === "working" && edit.ttlSeconds !== null ? now + edit.ttlSeconds * 1_000 : image.expiresAt,
        },
        edit,
      );
    };

    const confirm = (id: string, edit: GatedEdit): void => {
      const known = confirmed.get(id) ?? { times: 0, confidence: 0 };
      confirmed.set(id, { times: known.times + 1, confidence: Math.max(known.confidence, edit.confidence) });
    };

    /** Applies an edit staged before; false, without effect, when another commit changed its item since. */
    const replay = (staged: StagedEdit): boolean => {
      const { edit, itemId, base, confirms } = staged;
      if (edit.op === "insert") {
        if (confirms !== null && says(current(confirms), edit, textOfEdit(edit))) confirm(confirms, edit);
        else insert(itemId, edit);
        return true;
      }
      if (base !== null && !touched.has(itemId)) {
        const stored = store.get(itemId);
        const isOver = stored !== null && !isRemoval(edit) && hasExpired(stored);
        if (stored === null || isOver || stored.version !== base.version || stored.commitId !== base.commitId) {
          stale.add(itemId);
          return false;
        }
      }
      change(itemId, edit);
      return true;
    };

    return {
      replay,
      /** The item that an edit refers to. @throws as `createSelectItem` says. */
      find: (edit: GatedEdit): ItemImage => {
        if (edit.selector === null)
          throw new LancelotError("invalid_params", "Name the item by its id, its text, or a part of its text that is unique.");
        return select({ target: edit.target, selector: edit.selector, namespace: edit.namespace, questId, now }, overlay);
      },
      /** The item that an insert would repeat. */
      sameAs: (edit: GatedEdit): string | null => sameAs(edit, textOfEdit(edit)),
      /** Resolves and applies an edit. @throws as `find`. */
      stage(edit: GatedEdit): StagedEdit {
        let staged: StagedEdit;
        if (edit.op === "insert") {
          const importedId = edit.imported?.id;
          const free = importedId !== undefined && taken.get(importedId) === undefined && !overlay.has(importedId);
          staged = { edit, itemId: free ? importedId : `mem_${randomUUID()}`, base: null, confirms: sameAs(edit, textOfEdit(edit)) };
        } else {
          const found = this.find(edit);
          if (!isRemoval(edit) && hasExpired(found)) {
            throw new LancelotError("invalid_params", `The item ${found.id} has expired. Insert its text again if it is still true.`);
          }
          const { id, version, commitId: by } = found;
          const own = touched.get(id);
          const before = own === undefined ? { version, commitId: by } : own.before;
          staged = {
            edit,
            itemId: id,
            base: before === null ? null : { version: before.version, commitId: before.commitId },
            confirms: null,
          };
        }
        replay(staged);
        return staged;
      },
      /** Items changed by other commits since: edits staged on them are void. */
      stale: (): ReadonlySet<string> => new Set(stale),
      /** The effective changes, one per item, in the order in which the items were first edited. */
      changes(): Change[] {
        const changes: Change[] = [];
        for (const [itemId, { before, after, last }] of touched) {
          if (after !== null && before === null) {
            const known = storedSame({ target: targetOf(after), namespace: after.namespace }, after);
            if (known !== null && !touched.has(known)) {
              confirm(known, last);
              continue;
            }
          }
          if (before === null && after === null) continue;
          if (
            before !== null &&
            after !== null &&
            sameImage({ ...after, commitId: "", updatedAt: 0 }, { ...before, commitId: "", updatedAt: 0 })
          )
            continue;
          const isNew = before === null && (last.op !== "insert" || last.imported === undefined);
          const version = isNew ? 1 : Math.max(before?.version ?? 0, highest.get(itemId, itemId) ?? 0) + 1;
          const back = last.op === "insert" ? last.imported : undefined;
          changes.push({
            itemId,
            op: before === null ? "insert" : last.op,
            before,
            after: after === null ? null : { ...after, version },
            derived: back === undefined ? null : { weight: last.confidence, reinforcedAt: back.reinforcedAt, reinforced: back.reinforced },
            reason: last.reason,
          });
        }
        return changes;
      },
      confirmations: (): Confirmation[] => [...confirmed].map(([itemId, of]) => ({ itemId, ...of })),
    };
  };
}

export type Draft = ReturnType<ReturnType<typeof createDrafts>>;

function isRemoval(edit: GatedEdit): boolean {
  return edit.op === "delete" || edit.op === "set_aside";
}

/** A message is stored by reference; its text stays in the conversation. */
function textOfEdit(edit: GatedEdit): Text {
  const ref = edit.provenance.ref ?? null;
  const content = edit.content ?? "";
  if (edit.target === "episodic" && edit.kind === "message" && content === "" && ref !== null) return { content, ref };
  return { content, ref: null };
}

function saying(target: MemoryTarget, namespace: string, text: Text): string {
  return sortedJson([target, namespace, text.ref ?? textKey(text.content), text.ref !== null]);
}
