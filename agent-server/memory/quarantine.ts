import { LancelotError } from "../contract/errors.ts";
import type { MemoryTarget, QuarantineEntry } from "../contract/memory.ts";
import type { Params, Result } from "../contract/table.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Redactor } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import { scrub } from "./gates/secret-gate.ts";
import { imageOf, targetOf } from "./item-rows.ts";
import type { Commits, Finished, QuarantineStore, StoredQuarantine } from "./commit-types.ts";
import type { Author, Gates, MemoryStore, StoredItem } from "./item-types.ts";
import { toQuarantineEntry } from "./quarantine-entry-view.ts";
import { createQuarantineCheck } from "./quarantine-entry-check.ts";
import { createSelectItem } from "./select-item.ts";

export interface QuarantineDeps {
  readonly storage: Storage;
  readonly store: MemoryStore;
  readonly commits: Commits;
  readonly rows: QuarantineStore;
  readonly gates: Gates;
  readonly ledger: Pick<Ledger, "open" | "close" | "record">;
  readonly redactor: Redactor;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Absolute path; `-` when no folder is open. */
  readonly workspace: string;
  /** Called after a change was written. */
  readonly changed: () => void;
}

export interface Quarantine {
  list(params: Params<"memory.quarantine">): QuarantineEntry[];
  /**
   * Approves an entry: verified again, applied and settled in one transaction, once.
   * @throws LancelotError `not_found`; `conflict` when it is already decided; `denied` with problems (`data.rule`,
   * `data.problems`) or when the caller is not the owner; errors of the commit.
   */
  promote(id: string, author: Author, reason: string | null, parentId: string | null): Result<"memory.promote">;
  /** Rejects an entry; its text stays readable. @throws LancelotError as `promote`. */
  deny(id: string, author: Author, reason: string | null, parentId: string | null): QuarantineEntry;
  /**
   * Quarantines an item until the owner decides. Agents may do it to items of agents, tools and the host, but not to core blocks
   * or the owner's words. @throws LancelotError `not_found`, `denied`, and as `createSelectItem` says.
   */
  quarantineItem(
    of: { id: string } | { target: MemoryTarget; selector: string },
    reason: string,
    author: Author,
    parentId: string | null,
  ): Result<"memory.setAside">;
  toEntry(stored: StoredQuarantine): QuarantineEntry;
}

/** Edits that wait for the owner. They are not searched or compiled before they are approved (requirement Y4). */
export function createQuarantine(deps: QuarantineDeps): Quarantine {
  const { storage, store, commits, rows, ledger, redactor, now, workspace } = deps;
  const verify = createQuarantineCheck(deps);
  const select = createSelectItem({ storage, workspace });
  const toEntry = (stored: StoredQuarantine): QuarantineEntry => toQuarantineEntry(stored, store, verify(stored));

  const stored = (id: string): StoredQuarantine => {
    const entry = rows.get(id);
    if (entry === null) throw new LancelotError("not_found", "This quarantined entry does not exist.");
    return entry;
  };
  const announce = (): void => {
    storage.afterTransaction((committed) => {
      if (committed) deps.changed();
    });
  };
  const receipt = (
    name: string,
    entry: StoredQuarantine,
    { parentId, outputs, commitId }: { parentId: string | null; outputs: Record<string, unknown>; commitId: string | null },
  ): void => {
    const id = ledger.open({
      actionType: "system",
      actionName: name,
      inputs: { id: entry.id, op: entry.edit.op, target: entry.edit.target, namespace: entry.edit.namespace },
      riskTier: "T1",
      parentId,
      questId: entry.questId,
    });
    ledger.close(id, { status: "success", outputs, metadata: commitId === null ? {} : { rollback: commitId } });
  };

  /** Only the owner decides, and only once. */
  const decidable = (id: string, author: Author): StoredQuarantine => {
    if (author.by !== "owner")
      throw new LancelotError("denied", "Only the user can decide on quarantined edits.", { data: { rule: "memory.promotion" } });
    const entry = stored(id);
    if (entry.status !== "pending") throw decided(entry.status);
    return entry;
  };
  const settle = (entry: StoredQuarantine, of: Parameters<QuarantineStore["settle"]>[1]): QuarantineEntry => {
    if (!rows.settle(entry.id, { ...of, reason: of.reason === null ? null : scrub(of.reason, redactor) }))
      throw decided(stored(entry.id).status);
    return toEntry(stored(entry.id));
  };

  /** Restores a quarantined item by rolling its commit back, or with its text, id and dates when that is no longer possible. */
  const restore = (
    entry: StoredQuarantine,
    author: Author,
    reason: string,
    parentId: string | null,
  ): Pick<Finished, "commitId" | "diff"> => {
    const { image } = entry;
    if (image === null) throw new LancelotError("internal", "A quarantined item has no image.");
    if (commits.get(entry.commitId).problem === null) {
      // By item: a rollback of the whole commit would withdraw the entry.
      const { commitId, diff } = commits.rollback({ commitId: entry.commitId, itemIds: [image.id], reason }, author, parentId);
      if (commitId !== null) return { commitId, diff };
    }
    const { id, questId, createdAt, updatedAt, expiresAt } = image;
    return commits.apply(
      [
        {
          ...entry.edit,
          op: "insert",
          target: targetOf(image),
          namespace: image.namespace,
          selector: null,
          content: image.content,
          kind: image.kind,
          tags: image.tags,
          confidence: image.confidence,
          provenance: image.ref === null ? image.provenance : { ...image.provenance, ref: image.ref },
          imported: { id, questId, createdAt, updatedAt, expiresAt, reinforcedAt: updatedAt, reinforced: 0 },
        },
      ],
      author,
      { reason, parentId },
    );
  };

  const promote: Quarantine["promote"] = (id, author, reason, parentId) => {
    const refused: { entry: StoredQuarantine; message: string; rule: string }[] = [];
    try {
      return storage.transaction(() => {
        const entry = decidable(id, author);
        const { problems } = verify(entry);
        const [first] = problems;
        if (first !== undefined) {
          refused.push({ entry, ...first });
          throw new LancelotError("denied", `It cannot be approved: ${problems.map(({ message }) => message).join(" ")}`, {
            data: { rule: first.rule, problems },
          });
        }
        const why = reason ?? `Approved by the owner: ${entry.edit.reason}`;
        const by: Author = { by: "owner", questId: entry.questId };
        const { commitId, diff } =
          entry.edit.op === "set_aside"
            ? restore(entry, by, why, parentId)
            : commits.apply([{ ...entry.edit, selector: entry.itemId ?? entry.edit.selector }], by, { reason: why, parentId });
        const promoted = settle(entry, { status: "promoted", reason, promotedBy: commitId });
        receipt("memory.promote", entry, { parentId, outputs: { commitId, changes: diff.length }, commitId });
        announce();
        return { entry: promoted, commitId, diff: [...diff] };
      });
    } catch (error) {
      for (const { entry, message, rule } of parentId === null ? refused : [])
        ledger.record(
          { actionType: "system", actionName: "memory.promote", inputs: { id }, riskTier: "T1", parentId, questId: entry.questId },
          { status: "failure", errorMessage: message, metadata: { rule } },
        );
      throw error;
    }
  };

  return {
    list: ({ status, limit }) => rows.list({ status, limit }).map(toEntry),
    promote,
    deny: (id, author, reason, parentId) =>
      storage.transaction(() => {
        const entry = decidable(id, author);
        const denied = settle(entry, { status: "denied", reason });
        receipt("memory.deny", entry, { parentId, outputs: { why: entry.why }, commitId: null });
        announce();
        return denied;
      }),
    quarantineItem: (of, reason, author, parentId) =>
      storage.transaction(() => {
        const item = theItem(of, author);
        if (author.by === "agent" && (item.tier === "core" || item.provenance.source === "user"))
          throw new LancelotError(
            "denied",
            "Only the user can quarantine this. Propose to delete it, or tell the user about the problem.",
            {
              data: { rule: "memory.set-aside" },
            },
          );
        const why = scrub(reason, redactor);
        const edit: StoredQuarantine["edit"] = {
          op: "set_aside",
          target: targetOf(item),
          namespace: item.namespace,
          selector: item.id,
          content: null,
          kind: item.kind,
          tags: item.tags,
          confidence: item.confidence,
          provenance: item.provenance,
          reason: why,
          ttlSeconds: null,
        };
        const { commitId, diff } = commits.apply([edit], author, { reason: why, parentId });
        const entry = rows.put({
          commitId,
          questId: author.questId,
          author: author.by,
          edit,
          itemId: item.id,
          itemVersion: item.version,
          image: imageOf(item),
          why: `${author.by === "owner" ? "The owner" : author.by === "agent" ? "The agent" : "Lancelot"} quarantined it: ${why}`,
        });
        receipt("memory.set_aside", entry, { parentId, outputs: { commitId, changes: diff.length }, commitId });
        announce();
        return { commitId, entry: toEntry(entry) };
      }),
    toEntry,
  };

  function theItem(of: { id: string } | { target: MemoryTarget; selector: string }, author: Author): StoredItem {
    const id =
      "id" in of
        ? of.id
        : select({ target: of.target, selector: of.selector, namespace: "workspace", questId: author.questId, now: now() }, new Map()).id;
    const item = store.get(id);
    if (item === null) throw new LancelotError("not_found", "There is no item with this id.");
    return item;
  }
}

function decided(status: StoredQuarantine["status"]): LancelotError {
  const how =
    status === "promoted"
      ? "It is already approved."
      : status === "denied"
        ? "It is already rejected."
        : "It was withdrawn because its commit was abandoned or rolled back.";
  return new LancelotError("conflict", how, { data: { status } });
}
