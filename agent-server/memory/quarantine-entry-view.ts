import type { QuarantineEntry } from "../contract/memory.ts";
import type { StoredQuarantine } from "./commit-types.ts";
import type { MemoryStore } from "./item-types.ts";

/** A quarantined edit in the form of the contract. */
export function toQuarantineEntry(
  entry: StoredQuarantine,
  store: Pick<MemoryStore, "get">,
  verifier: QuarantineEntry["verifier"],
): QuarantineEntry {
  const { edit, image } = entry;
  return {
    id: entry.id,
    op: edit.op,
    target: edit.target,
    namespace: image?.namespace ?? edit.namespace,
    itemId: entry.itemId,
    content: image === null ? edit.content : image.content,
    current: entry.itemId === null ? null : (store.get(entry.itemId)?.content ?? null),
    kind: image?.kind ?? edit.kind,
    tags: [...(image?.tags ?? edit.tags)],
    confidence: image?.confidence ?? edit.confidence,
    provenance: image?.provenance ?? edit.provenance,
    reason: edit.reason,
    why: entry.why,
    verifier,
    status: entry.status,
    questId: entry.questId,
    commitId: entry.commitId,
    promotedBy: entry.promotedBy,
    createdAt: new Date(entry.createdAt).toISOString(),
    decidedAt: entry.decidedAt === null ? null : new Date(entry.decidedAt).toISOString(),
    decidedReason: entry.decidedReason,
  };
}
