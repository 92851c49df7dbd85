import type { MemoryTarget } from "../../../agent-server/contract/memory.ts";

/**
 * What memory is said to do, in the plainest form: maps in one process, nothing stored, nothing shared with the product's code but
 * names. An item that the product made is known by the JSON of its row (`image`), which the model never looks into.
 */
export interface ModelItem {
  readonly id: string;
  readonly target: MemoryTarget;
  readonly namespace: string;
  readonly workspace: string;
  readonly content: string;
  readonly confidence: number;
  readonly expiresAt: number | null;
  readonly weight: number;
  readonly reinforced: number;
  readonly image: string;
}

export type ModelEdit =
  | {
      readonly op: "insert";
      readonly target: MemoryTarget;
      readonly namespace: string;
      readonly content: string;
      readonly confidence: number;
    }
  | { readonly op: "replace"; readonly key: string; readonly content: string; readonly confidence: number }
  | { readonly op: "delete"; readonly key: string };

interface Staged {
  readonly edit: ModelEdit;
  /** Of an insert: its own; else that of the item. */
  readonly key: string;
  readonly base: string | null;
  readonly confirms: string | null;
}

export interface ModelChange {
  readonly before: ModelItem | null;
  readonly after: ModelItem | null;
}

export interface ModelCommit {
  readonly id: string;
  readonly author: "owner" | "agent";
  readonly host: number;
  readonly createdAt: number;
  workspace: string;
  status: "open" | "committed" | "rolled_back" | "abandoned";
  staged: Staged[];
  /** By id, as it was finished. */
  readonly changes: Map<string, ModelChange>;
  order: number;
  kept: boolean;
  rollbackOf: readonly string[];
  readonly quarantined: Map<string, "pending" | "withdrawn">;
}

/** An item of a commit that is not finished, by key. */
export type View = Map<string, ModelItem>;

interface Replayed {
  readonly overlay: Map<string, { before: ModelItem | null; after: ModelItem | null }>;
  readonly confirmed: Map<string, { times: number; confidence: number }>;
  readonly stale: Set<string>;
}

/** What a finished commit is expected to change: `key` of an item that is new is not its id yet. */
export interface Expected {
  readonly changes: readonly { readonly key: string; readonly before: ModelItem | null; readonly after: ModelItem | null }[];
  readonly confirmed: ReadonlyMap<string, { times: number; confidence: number }>;
}

export const workingMs = 72_000;
const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
const isCore = (item: ModelItem | null): boolean => item?.target.startsWith("core:") ?? false;

export class MemoryModel {
  readonly items = new Map<string, ModelItem>();
  readonly commits = new Map<string, ModelCommit>();
  now = 1_000_000;
  private finished = 0;
  private keys = 0;

  private readonly limits: { readonly cap: number; readonly snapshots: number };

  constructor(limits: { readonly cap: number; readonly snapshots: number }) {
    this.limits = limits;
  }

  isAlive(item: ModelItem): boolean {
    return item.expiresAt === null || item.expiresAt > this.now;
  }

  begin(id: string, author: "owner" | "agent", workspace: string, host: number): ModelCommit {
    const commit: ModelCommit = {
      ...{ id, author, host, workspace, createdAt: this.now, status: "open", staged: [], changes: new Map(), order: 0 },
      ...{ kept: false, rollbackOf: [], quarantined: new Map() },
    };
    this.commits.set(id, commit);
    return commit;
  }

  /** What a commit sees: what is stored and seen in its workspace, with its own changes. */
  view(commit: ModelCommit): View {
    const seen: View = new Map();
    for (const [id, item] of this.items) if (item.workspace === "" || item.workspace === commit.workspace) seen.set(id, item);
    for (const [key, { after }] of this.replay(commit).overlay) {
      if (after === null) seen.delete(key);
      else seen.set(key, after);
    }
    return seen;
  }

  /** The item that an insert would say again: one of the commit's own before what is stored. */
  private known(commit: ModelCommit, edit: ModelEdit & { op: "insert" }): string | null {
    const { overlay } = this.replay(commit);
    for (const [key, { after }] of overlay) if (after !== null && this.says(after, edit)) return key;
    const stored = this.stored({ ...edit, workspace: edit.namespace === "global" ? "" : commit.workspace });
    return stored === null || overlay.has(stored) ? null : stored;
  }

  private says(item: ModelItem, edit: Pick<ModelItem, "target" | "namespace" | "content">): boolean {
    return this.isAlive(item) && item.target === edit.target && item.namespace === edit.namespace && same(item.content, edit.content);
  }

  /** The stored item that says this, the longest to live before the oldest. */
  private stored(edit: Pick<ModelItem, "target" | "namespace" | "content" | "workspace">): string | null {
    const found = [...this.items.values()].filter((item) => item.workspace === edit.workspace && this.says(item, edit));
    return found.toSorted((a, b) => (b.expiresAt ?? 0) - (a.expiresAt ?? 0))[0]?.id ?? null;
  }

  /** @returns whether it only says again what is known. */
  stage(commit: ModelCommit, edit: ModelEdit): "staged" | "reinforced" {
    const { stale } = this.replay(commit);
    if (edit.op !== "insert" && stale.has(edit.key)) commit.staged = commit.staged.filter(({ key }) => key !== edit.key);
    if (edit.op === "insert") {
      const confirms = this.known(commit, edit);
      this.keys += 1;
      commit.staged.push({ edit, key: `new${String(this.keys)}`, base: null, confirms });
      return confirms === null ? "staged" : "reinforced";
    }
    const first = commit.staged.find(({ key, edit: { op } }) => key === edit.key && op !== "insert");
    commit.staged.push({ edit, key: edit.key, base: first?.base ?? this.items.get(edit.key)?.image ?? null, confirms: null });
    return "staged";
  }

  private replay(commit: ModelCommit): Replayed {
    const overlay: Replayed["overlay"] = new Map();
    const confirmed: Replayed["confirmed"] = new Map();
    const stale: Replayed["stale"] = new Set();
    const current = (key: string): ModelItem | null =>
      overlay.has(key) ? (overlay.get(key)?.after ?? null) : (this.items.get(key) ?? null);
    const set = (key: string, after: ModelItem | null): void => {
      overlay.set(key, { before: overlay.get(key)?.before ?? this.items.get(key) ?? null, after });
    };
    for (const { edit, key, base, confirms } of commit.staged) {
      if (edit.op === "insert") {
        const known = confirms === null ? null : current(confirms);
        if (confirms !== null && known !== null && this.says(known, edit)) {
          this.confirm(confirmed, confirms, edit.confidence);
        } else set(key, this.inserted(commit, edit));
        continue;
      }
      const item = current(key);
      const isOver = item !== null && edit.op === "replace" && !this.isAlive(item);
      if (!overlay.has(key) && base !== null && (item?.image !== base || isOver)) stale.add(key);
      if (stale.has(key) || item === null) continue;
      set(key, edit.op === "delete" ? null : { ...item, content: edit.content, confidence: edit.confidence });
    }
    return { overlay, confirmed, stale };
  }

  private confirm(confirmed: Replayed["confirmed"], id: string, confidence: number): void {
    const known = confirmed.get(id) ?? { times: 0, confidence: 0 };
    confirmed.set(id, { times: known.times + 1, confidence: Math.max(known.confidence, confidence) });
  }

  private inserted(commit: ModelCommit, edit: ModelEdit & { op: "insert" }): ModelItem {
    const { target, namespace, content, confidence } = edit;
    return {
      ...{ id: "", target, namespace, content, confidence, weight: confidence, reinforced: 0, image: "" },
      workspace: namespace === "global" ? "" : commit.workspace,
      expiresAt: target === "working" ? this.now + workingMs : null,
    };
  }

  /** What finishing is expected to do now. */
  expected(commit: ModelCommit): Expected | "conflict" | "too_large" {
    const { overlay, confirmed, stale } = this.replay(commit);
    if (stale.size > 0) return "conflict";
    const changes: { key: string; before: ModelItem | null; after: ModelItem | null }[] = [];
    for (const [key, { before, after }] of overlay) {
      if (before === null && after !== null) {
        const stored = this.stored(after);
        if (stored !== null && !overlay.has(stored)) {
          const last = commit.staged.findLast((staged) => staged.key === key && staged.edit.op !== "delete");
          this.confirm(confirmed, stored, last?.edit.op === "delete" ? 0 : (last?.edit.confidence ?? 0));
          continue;
        }
      }
      if (before === null && after === null) continue;
      if (before !== null && after !== null && before.content === after.content && before.confidence === after.confidence) continue;
      // Of another text, or said with another confidence, nothing is confirmed yet.
      changes.push({ key, before, after: after === null ? null : { ...after, weight: after.confidence, reinforced: 0 } });
    }
    return this.overfull(changes, commit.workspace) ? "too_large" : { changes, confirmed };
  }

  /** Whether a block would hold more than it may, and more than before, in a workspace that sees it. */
  private overfull(changes: Expected["changes"], workspace: string): boolean {
    const blocks = new Set(changes.flatMap(({ before, after }) => [before, after].filter(isCore).flatMap((item) => item?.target ?? [])));
    const next = new Map(this.items);
    for (const { key, after } of changes) {
      if (after === null) next.delete(key);
      else next.set(key, after);
    }
    const places = new Set([workspace, ...[...this.items.values()].map((item) => item.workspace)]);
    places.delete("");
    return [...blocks].some((block) =>
      [...places].some((place) => {
        const size = (items: Iterable<ModelItem>): number =>
          [...items]
            .filter((item) => item.target === block && (item.workspace === "" || item.workspace === place))
            .map((item) => item.content)
            .reduce((sum, content, index) => sum + content.length + (index === 0 ? 2 : 3), 0);
        return size(next.values()) > Math.max(this.limits.cap, size(this.items.values()));
      }),
    );
  }

  /** Writes down what was finished. `changes`: as the product made them, by id. */
  finish(commit: ModelCommit, changes: ReadonlyMap<string, ModelChange>, confirmed: Expected["confirmed"]): void {
    for (const [id, { after }] of changes) {
      if (after === null) this.items.delete(id);
      else this.items.set(id, after);
    }
    for (const [id, { times, confidence }] of confirmed) {
      const item = this.items.get(id);
      if (item !== undefined)
        this.items.set(id, { ...item, weight: Math.max(item.weight, confidence), reinforced: item.reinforced + times });
    }
    this.finished += 1;
    commit.order = this.finished;
    commit.status = "committed";
    commit.staged = [];
    for (const [id, change] of changes) commit.changes.set(id, change);
    const real = [...changes.values()].map(({ before, after }) => after ?? before).filter((item) => item !== null);
    if (real.length > 0 && real.every((item) => item.workspace === "")) commit.workspace = "";
    commit.kept = changes.size > 0;
    this.prune(commit.workspace);
  }

  private prune(workspace: string): void {
    const kept = [...this.commits.values()].filter((commit) => commit.kept);
    const due = new Set(
      kept
        .filter((commit) => commit.workspace === workspace)
        .toSorted((a, b) => b.order - a.order)
        .slice(this.limits.snapshots),
    );
    // A commit and those that took it back stay together.
    for (let again = true; again; ) {
      again = false;
      for (const rollback of kept) {
        const family = [rollback, ...rollback.rollbackOf.flatMap((id) => this.commits.get(id) ?? [])];
        if (rollback.rollbackOf.length === 0 || !family.some((one) => due.has(one)) || !family.some((one) => one.kept && !due.has(one)))
          continue;
        for (const one of family) due.delete(one);
        again = true;
      }
    }
    for (const commit of due) commit.kept = false;
  }

  drop(commit: ModelCommit): void {
    commit.status = "abandoned";
    commit.staged = [];
    this.withdraw(commit);
  }

  private withdraw(commit: ModelCommit): void {
    for (const id of commit.quarantined.keys()) commit.quarantined.set(id, "withdrawn");
  }

  /** Items of a commit that no commit in force took back. */
  inForce(commit: ModelCommit): Set<string> {
    const taken = new Set(
      [...this.commits.values()]
        .filter((other) => other.order > 0 && other.rollbackOf.includes(commit.id))
        .flatMap((other) => [...this.inForce(other)]),
    );
    return new Set([...commit.changes.keys()].filter((id) => !taken.has(id)));
  }

  /** Commits that "the last N" are of, newest first. */
  lastInForce(workspace: string): ModelCommit[] {
    return [...this.commits.values()]
      .filter((commit) => commit.status === "committed" && commit.changes.size > 0 && commit.rollbackOf.length === 0)
      .filter((commit) => commit.workspace === "" || commit.workspace === workspace)
      .toSorted((a, b) => b.order - a.order);
  }

  /** What taking back is expected to change; null where it must be refused. `targets`: newest first. */
  planned(targets: readonly ModelCommit[], itemIds: readonly string[] | null, workspace: string): Map<string, ModelChange> | null {
    const then = new Map<string, ModelItem | null>();
    for (const target of targets) {
      if (target.status !== "committed" || (target.changes.size > 0 && !target.kept)) return null;
      const mine = this.inForce(target);
      if (itemIds?.some((id) => !mine.has(id)) === true) return null;
      if (mine.size === 0 && ![...target.quarantined.values()].includes("pending")) return null;
      for (const id of mine) {
        if (itemIds !== null && !itemIds.includes(id)) continue;
        const change = target.changes.get(id);
        if (change === undefined) return null;
        const current = then.has(id) ? (then.get(id) ?? null) : (this.items.get(id) ?? null);
        if ((current?.image ?? null) !== (change.after?.image ?? null)) return null;
        then.set(id, change.before);
      }
    }
    const changes = [...then].map(([key, after]) => ({ key, before: this.items.get(key) ?? null, after }));
    // Without a later change of the block it is as it was, which never was too much.
    if (this.overfull(changes, workspace)) return null;
    return new Map(changes.map(({ key, before, after }) => [key, { before, after }]));
  }

  /** Writes down a rollback that the product made as the commit `id`. */
  rollback(
    id: string,
    targets: readonly ModelCommit[],
    whole: boolean,
    changes: ReadonlyMap<string, ModelChange>,
    by: { workspace: string; host: number },
  ): void {
    const commit = this.begin(id, "owner", by.workspace, by.host);
    commit.rollbackOf = targets.map((target) => target.id);
    this.finish(commit, changes, new Map());
    if (whole) {
      for (const target of targets) {
        target.status = "rolled_back";
        this.withdraw(target);
      }
    }
    this.settle(whole ? targets.flatMap((target) => target.rollbackOf) : commit.rollbackOf);
  }

  private settle(ids: readonly string[]): void {
    for (const id of ids) {
      const commit = this.commits.get(id);
      if (commit === undefined || commit.changes.size === 0) continue;
      commit.status = this.inForce(commit).size > 0 ? "committed" : "rolled_back";
      this.settle(commit.rollbackOf);
    }
  }
}
