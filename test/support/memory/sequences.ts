import * as fc from "fast-check";
import { expect } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { MemoryTarget } from "../../../agent-server/contract/memory.ts";
import { imageOf, itemOfRow, type ItemRow, sortedJson, targetOf } from "../../../agent-server/memory/item-rows.ts";
import type { Evidence, GatedEdit } from "../../../agent-server/memory/item-types.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { gatesFixture } from "./gates-fixture.ts";
import { agent, gated, owner, proposedEdit } from "./memory-folder.ts";
import { type ModelChange, type ModelCommit, type ModelEdit, type ModelItem, MemoryModel } from "./model.ts";
import { Crash, type Fuse, limits, openPropertyHost, type PropertyHost } from "./world.ts";

/** One step: what is done, and numbers that choose of what there is then. */
export interface Step {
  readonly what:
    | "begin"
    | "edit"
    | "finish"
    | "abandon"
    | "apply"
    | "rollback"
    | "items"
    | "last"
    | "race"
    | "wait"
    | "reopen"
    | "reconcile";
  readonly host: number;
  readonly pick: number;
  readonly more: number;
  /** Writes after which the process ends; null: it lives. */
  readonly crash: number | null;
}

const often = {
  begin: 8,
  edit: 16,
  finish: 7,
  abandon: 1,
  apply: 4,
  rollback: 6,
  items: 3,
  last: 3,
  race: 3,
  wait: 1,
  reconcile: 1,
} as const;

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    what: fc.oneof(
      ...Object.entries(often).map(([what, weight]) => ({ arbitrary: fc.constant(what as Step["what"]), weight: weight * 20 })),
      { arbitrary: fc.constant("reopen" as const), weight: 2 },
    ),
    host: fc.nat(2),
    pick: fc.nat(1_000),
    more: fc.nat(1_000),
    crash: fc.oneof({ arbitrary: fc.constant(null), weight: 9 }, { arbitrary: fc.nat(10), weight: 1 }),
  }),
  { minLength: 4, maxLength: 12, size: "max" },
);

const targets: readonly MemoryTarget[] = ["core:human", "core:mission", "working", "archival", "core:human"];
const workspaces = ["/projects/a", "/projects/a", "/projects/b"] as const;

/** Hosts of the product on one data folder, and the model beside them. */
export class Sequences {
  private readonly fuse: Fuse = { left: null, blown: false };
  private model = new MemoryModel(limits);
  private readonly hosts: PropertyHost[];
  private texts = 0;
  private receiptsFrom = 0;
  private receipts = new Map<string, "open" | "closed">();
  private receiptOf = new Map<string, string>();
  private prepared: { of: Storage; read: Reading } | null = null;
  /** What was done, of each kind, and how it went: so that a test can tell that all of it happened. */
  readonly seen = new Map<string, number>();

  private readonly dataDir: string;
  private readonly isProduct: boolean;
  /** What the owner said, as far as the gates look: what is proposed now. */
  private said = "";

  /** `isProduct`: with the product's own gates and text index, which are slower. */
  constructor(dataDir: string, isProduct = false) {
    this.dataDir = dataDir;
    this.isProduct = isProduct;
    this.hosts = workspaces.map((workspace) => this.open(workspace));
  }

  private open(workspace: string): PropertyHost {
    const said = (): string => this.said;
    const evidence = {
      get "message:m1"(): Evidence {
        return { source: "user", text: said() };
      },
    };
    const product = this.isProduct ? { isIndexed: true, deps: { gates: gatesFixture(evidence) } } : {};
    return openPropertyHost({ dataDir: this.dataDir, workspace, now: () => this.model.now, fuse: this.fuse, ...product });
  }

  close(): void {
    for (const { storage } of this.hosts) storage.close();
  }

  /** Does the steps one after another on an empty memory, and looks at everything after each. */
  run(sequence: readonly Step[]): void {
    const { db } = this.first().storage;
    db.exec(
      "DELETE FROM memory_edits; DELETE FROM memory_images; DELETE FROM memory_quarantine; DELETE FROM memory_commits; DELETE FROM memory_items; DELETE FROM property_index; DELETE FROM memory_fts",
    );
    this.model = new MemoryModel(limits);
    this.receiptsFrom = db.prepare<[], number>("SELECT ifnull(max(seq), 0) FROM ledger").pluck().get() ?? 0;
    this.receipts = new Map();
    this.receiptOf = new Map();
    for (const step of sequence) {
      this.model.now += 1_000;
      this.step(step);
      this.check();
    }
  }

  private first(): PropertyHost {
    const [host] = this.hosts;
    if (host === undefined) throw new Error("There is no host.");
    return host;
  }

  private step(step: Step): void {
    const index = step.host % this.hosts.length;
    const host = this.hosts[index];
    if (host === undefined) return;
    switch (step.what) {
      case "begin":
        return this.begin(host, index, step);
      case "edit":
        return this.openCommit(host, step.pick) === undefined ? this.begin(host, index, step) : this.edit(host, step);
      case "finish":
        return this.openCommit(host, step.pick) === undefined ? this.apply(host, index, step) : this.finish(host, step);
      case "abandon":
        return this.abandon(host, step);
      case "apply":
        return this.apply(host, index, step);
      case "rollback":
      case "items":
        return this.rollback(host, index, step);
      case "last":
        return this.rollbackLast(host, index, step);
      case "race":
        return this.race(host, index, step);
      case "wait":
        this.model.now += 50_000;
        return;
      case "reconcile":
        return this.reconcile(host, step);
      case "reopen":
        host.storage.close();
        this.hosts[index] = this.open(host.workspace);
        this.reconcileModel((commit) => commit.host === index);
        this.note("reopen");
        expect(this.hosts[index].commits.reconcile()).toBeGreaterThanOrEqual(0);
    }
  }

  private note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  /** Does something that may crash: null then, with everything as it was. */
  private attempt<T>(step: Step, work: () => T): { done: T } | { error: LancelotError } | null {
    this.fuse.left = step.crash;
    this.fuse.blown = false;
    try {
      const done = work();
      this.note(step.what);
      return { done };
    } catch (error) {
      if (error instanceof Crash) {
        this.note(`${step.what} crashed`);
        return null;
      }
      if (error instanceof LancelotError && error.code !== "internal") {
        this.note(`${step.what} ${error.code}`);
        return { error };
      }
      throw error;
    } finally {
      this.fuse.left = null;
    }
  }

  private choose<T>(from: readonly T[], by: number): T | undefined {
    return from[by % Math.max(1, from.length)];
  }

  private visible(host: PropertyHost, commit: ModelCommit): boolean {
    return commit.workspace === "" || commit.workspace === host.workspace;
  }

  private openCommit(host: PropertyHost, pick: number): ModelCommit | undefined {
    return this.choose(
      [...this.model.commits.values()].filter((commit) => commit.status === "open" && this.visible(host, commit)),
      pick,
    );
  }

  private begin(host: PropertyHost, index: number, step: Step): void {
    const by = step.pick % 3 === 0 ? agent : owner;
    const begun = this.attempt(step, () => host.commits.begin(by, "a reason"));
    if (begun !== null && "done" in begun)
      this.model.begin(begun.done.commitId, by.by === "agent" ? "agent" : "owner", host.workspace, index);
  }

  /** An edit that can be made of what a commit sees, how the product is told of it, and what the owner says that supports it. */
  private edits(
    commit: ModelCommit,
    pick: number,
    more: number,
  ): { edit: ModelEdit; target: MemoryTarget; selector?: string; said: string } | undefined {
    const confidence = [0.6, 0.8, 0.9][more % 3] ?? 0.6;
    const view = [...this.model.view(commit)].filter(([, item]) => this.model.isAlive(item));
    const chosen = pick % 5 < 2 ? this.choose(view, more) : undefined;
    if (chosen === undefined) {
      const target = this.choose(targets, more) ?? "archival";
      const isAgents = commit.author === "agent" && target.startsWith("core:");
      const content = isAgents ? this.newText("waiting") : `text ${String(pick % 5)}`;
      return {
        edit: { op: "insert", target, namespace: target === "core:human" ? "global" : "workspace", content, confidence },
        target,
        said: content,
      };
    }
    const [key, item] = chosen;
    const isAgents = commit.author === "agent" && item.target.startsWith("core:");
    const alike = view.filter(([, other]) => other.target === item.target && other.content.toLowerCase() === item.content.toLowerCase());
    if (item.id === "" && alike.length > 1) return undefined;
    const selector = item.id === "" || (more % 2 === 0 && alike.length === 1) ? item.content : item.id;
    // The agent's deletions of one item are one wish however often they are made; that is another test's.
    if (pick % 2 === 0 && !isAgents) return { edit: { op: "delete", key }, target: item.target, selector, said: selector };
    const content = this.newText(isAgents ? "waiting" : "r");
    return { edit: { op: "replace", key, content, confidence }, target: item.target, selector, said: content };
  }

  private newText(of: string): string {
    this.texts += 1;
    return `${of} ${String(this.texts)}`;
  }

  private edit(host: PropertyHost, step: Step): void {
    const commit = this.openCommit(host, step.pick);
    const made = commit === undefined ? undefined : this.edits(commit, Math.floor(step.pick / 3), step.more);
    if (commit === undefined || made === undefined) return;
    const { edit, target, selector, said } = made;
    const proposed = proposedEdit({
      ...{ op: edit.op, target, selector },
      ...(edit.op === "delete" ? {} : { content: edit.content, confidence: edit.confidence }),
    });
    this.said = said;
    const result = this.attempt(step, () => host.commits.edit(commit.id, proposed, commit.author === "agent" ? agent : owner, null));
    if (result === null) return;
    if (!("done" in result)) throw result.error;
    if (commit.author === "agent" && target.startsWith("core:")) {
      expect(result.done).toMatchObject({ outcome: "quarantined", index: null });
      commit.quarantined.set(result.done.quarantineId ?? "", "pending");
      this.note("quarantined");
      return;
    }
    const outcome = this.model.stage(commit, edit);
    expect(result.done.outcome).toBe(outcome);
    this.note(outcome);
  }

  private finish(host: PropertyHost, step: Step): void {
    const commit = this.openCommit(host, step.pick);
    if (commit !== undefined) this.finishOne(host, commit, step);
  }

  private finishOne(host: PropertyHost, commit: ModelCommit, step: Step): void {
    const expected = this.model.expected(commit);
    const result = this.attempt(step, () => host.commits.finish(commit.id, owner, null));
    if (result === null) return;
    if ("error" in result) {
      expect(result.error.code).toBe(expected);
      return;
    }
    if (typeof expected === "string") throw new Error(`It was finished, and should have been refused: ${expected}.`);
    this.finished(commit, expected, result.done.diff);
  }

  private finished(
    commit: ModelCommit,
    expected: Exclude<ReturnType<MemoryModel["expected"]>, string>,
    diff: readonly { itemId: string; before: string | null; after: string | null }[],
  ): void {
    const reported = ({ before, after }: { before: string | null; after: string | null }): unknown => ({ before, after });
    expect(diff.map(reported)).toEqual(
      expected.changes.map(({ before, after }) => reported({ before: before?.content ?? null, after: after?.content ?? null })),
    );
    const changes = new Map<string, ModelChange>();
    const ids = new Map<string, string>();
    expected.changes.forEach(({ key, before, after }, number) => {
      const id = diff[number]?.itemId ?? "";
      ids.set(key, id);
      if (before !== null) expect(id).toBe(before.id);
      changes.set(id, { before, after: after === null ? null : { ...after, id, image: this.imageNow(id) } });
    });
    this.model.finish(commit, changes, new Map([...expected.confirmed].map(([key, of]) => [ids.get(key) ?? key, of])));
  }

  /** Another commit stages an edit of an item that this one changes before it. */
  private race(host: PropertyHost, index: number, step: Step): void {
    const item = this.choose(
      [...this.model.items.values()].filter((one) => this.model.isAlive(one) && (one.workspace === "" || one.workspace === host.workspace)),
      step.more,
    );
    if (item === undefined) return this.apply(host, index, step);
    const begun = [0, 1].map(() => {
      const { commitId } = host.commits.begin(owner, "a race");
      const commit = this.model.begin(commitId, "owner", host.workspace, index);
      const content = this.newText("r");
      host.commits.edit(
        commitId,
        proposedEdit({ op: "replace", target: item.target, selector: item.id, content, confidence: 0.7 }),
        owner,
        null,
      );
      this.model.stage(commit, { op: "replace", key: item.id, content, confidence: 0.7 });
      return commit;
    });
    const first = begun[step.pick % 2];
    if (first !== undefined) this.finishOne(host, first, step);
  }

  private imageNow(id: string): string {
    const row = this.reading().item(id);
    return row === undefined ? "null" : sortedJson(imageOf(itemOfRow(row)));
  }

  private abandon(host: PropertyHost, step: Step): void {
    const commit = this.openCommit(host, step.pick);
    if (commit === undefined) return;
    const result = this.attempt(step, () => host.commits.abandon(commit.id, owner));
    if (result !== null && "done" in result) this.model.drop(commit);
  }

  private apply(host: PropertyHost, index: number, step: Step): void {
    // Staged in a commit of the model's own, which is taken out again when the product refuses all of it.
    const commit = this.model.begin("applied", "owner", host.workspace, index);
    const edits: GatedEdit[] = [];
    for (let number = 0; number <= step.more % 3; number += 1) {
      const made = this.edits(commit, Math.floor(step.pick / (number + 1)), step.more + number);
      if (made === undefined) continue;
      const { edit, target, selector } = made;
      this.model.stage(commit, edit);
      edits.push(
        gated(
          proposedEdit({
            op: edit.op,
            target,
            selector,
            ...(edit.op === "delete" ? {} : { content: edit.content, confidence: edit.confidence }),
          }),
        ),
      );
    }
    const expected = this.model.expected(commit);
    this.model.commits.delete("applied");
    const result = this.attempt(step, () => host.commits.apply(edits, owner, { reason: "at once", parentId: null }));
    if (result === null) return;
    if ("error" in result) {
      expect(result.error.code).toBe(expected);
      return;
    }
    if (typeof expected === "string") throw new Error(`It was applied, and should have been refused: ${expected}.`);
    this.finished(this.model.begin(result.done.commitId, "owner", host.workspace, index), expected, result.done.diff);
  }

  private rollback(host: PropertyHost, index: number, step: Step): void {
    const commit = this.choose([...this.model.commits.values()].filter((one) => this.visible(host, one)).toReversed(), step.pick % 4);
    if (commit === undefined) return;
    const items = [...commit.changes.keys()].filter((_, number) => number % 2 === step.more % 2);
    const itemIds = step.what === "items" && items.length > 0 ? items : null;
    if (commit.status === "open") {
      const dropped = this.attempt(step, () => host.commits.rollback({ commitId: commit.id, reason: "no" }, owner, null));
      if (dropped === null || !("done" in dropped)) return;
      expect(dropped.done).toMatchObject({ commitId: null, diff: [] });
      this.model.drop(commit);
      return;
    }
    const plan = this.model.planned([commit], itemIds, host.workspace);
    if (itemIds === null) expect(host.commits.get(commit.id).problem === null).toBe(plan !== null);
    const wanted = { commitId: commit.id, reason: "no", ...(itemIds === null ? {} : { itemIds }) };
    this.rolledBack(host, index, step, [commit], itemIds === null, plan, () => host.commits.rollback(wanted, owner, null));
  }

  private rollbackLast(host: PropertyHost, index: number, step: Step): void {
    const last = 1 + ((step.more % 5) >> 1);
    const found = this.model.lastInForce(host.workspace);
    const plan = found.length < last ? null : this.model.planned(found.slice(0, last), null, host.workspace);
    this.rolledBack(host, index, step, found.slice(0, last), true, plan, () => host.commits.rollback({ last, reason: "no" }, owner, null));
  }

  private rolledBack(
    host: PropertyHost,
    index: number,
    step: Step,
    targets: readonly ModelCommit[],
    whole: boolean,
    plan: Map<string, ModelChange> | null,
    work: () => { commitId: string | null },
  ): void {
    const result = this.attempt(step, work);
    if (result === null) return;
    if ("error" in result) {
      expect({ code: result.error.code, plan }).toEqual({ code: "conflict", plan: null });
      return;
    }
    if (plan === null) throw new Error("It was rolled back, and should have been refused.");
    this.model.rollback(result.done.commitId ?? "", targets, whole, plan, { workspace: host.workspace, host: index });
  }

  private reconcile(host: PropertyHost, step: Step): void {
    const result = this.attempt(step, () => host.commits.reconcile());
    if (result !== null) this.reconcileModel(() => false);
  }

  private reconcileModel(isDead: (commit: ModelCommit) => boolean): void {
    for (const commit of this.model.commits.values()) {
      const isOld = commit.createdAt < this.model.now - limits.openMinutes * 60_000;
      if (commit.status === "open" && (isOld || isDead(commit))) this.model.drop(commit);
    }
  }

  /** What must hold after every step. */
  private check(): void {
    const read = this.reading();
    const items = read.items();

    // Each item is exactly what the model says: no lost update, nothing of what was not finished, exact restore.
    equal(
      items.map((row) => shown({ ...itemOfRow(row), target: targetOf(itemOfRow(row)), image: sortedJson(imageOf(itemOfRow(row))) })),
      [...this.model.items.values()].map(shown),
    );

    // The index has the texts of the items, and no others.
    equal(
      read.index(),
      items.map(({ seq, content }) => `${String(seq)} ${content}`),
    );

    if (this.isProduct) {
      expect(read.found("text OR r OR wait")).toEqual(items.map(({ seq }) => seq));
      expect(read.found("wait")).toEqual([]);
    }

    // What waits, or was withdrawn, is nowhere but in quarantine.
    const waiting = read.quarantine();
    equal(
      waiting.map(({ id, status }) => `${id} ${status}`),
      [...this.model.commits.values()].flatMap(({ quarantined }) => [...quarantined].map(([id, status]) => `${id} ${status}`)),
    );
    for (const { content } of waiting) expect(items.filter((row) => row.content.includes(content))).toEqual([]);

    // Caps hold as every workspace sees them.
    for (const block of ["human", "mission"]) {
      for (const place of ["/projects/a", "/projects/b"]) {
        const seen = items.filter((row) => row.block === block && (row.workspace === "" || row.workspace === place));
        const tokens = seen.map(({ content }) => `- ${content}`).join("\n").length;
        if (tokens > limits.cap) expect(seen).toEqual(`${block} holds ${String(tokens)}`);
      }
    }

    // Commits are as the model says.
    const commits = read.commits();
    equal(
      commits.map(({ id, status, workspace, kept }) => `${id} ${status} ${workspace} ${String(kept)}`),
      [...this.model.commits.values()].map(({ id, status, workspace, kept }) => `${id} ${status} ${workspace} ${kept ? "1" : "0"}`),
    );
    equal(
      read.edits(),
      [...this.model.commits.values()].flatMap(({ id, staged }) => (staged.length === 0 ? [] : [`${id} ${String(staged.length)}`])),
    );

    // Each finished commit has one receipt, which is closed, and no receipt is without its commit.
    this.readReceipts(read.ledger(this.receiptsFrom));
    equal(
      commits.flatMap(({ id, status, receipt_id: receipt }) =>
        status === "committed" || status === "rolled_back" ? [`${id} ${receipt ?? "none"}`] : [],
      ),
      [...this.receiptOf].map(([commitId, receipt]) => `${commitId} ${receipt}`),
    );
    equal(
      [...this.receipts.values()].filter((state) => state !== "closed"),
      [],
    );
  }

  /** Statements on the first host's connection, prepared once for it. */
  private reading(): Reading {
    const { storage } = this.first();
    if (this.prepared?.of !== storage) this.prepared = { of: storage, read: prepareReading(storage.db) };
    return this.prepared.read;
  }

  private readReceipts(entries: readonly LedgerEntry[]): void {
    for (const { seq, receipt_id: id, kind, body } of entries) {
      this.receiptsFrom = seq;
      if (kind === "close") {
        if (this.receipts.has(id)) this.receipts.set(id, "closed");
        continue;
      }
      const { actionName, inputs } = JSON.parse(body) as { actionName: string; inputs: { commitId: string } };
      if (actionName !== "memory.commit") continue;
      if (this.receiptOf.has(inputs.commitId)) throw new Error(`The commit ${inputs.commitId} has two receipts.`);
      this.receiptOf.set(inputs.commitId, id);
      this.receipts.set(id, "open");
    }
  }
}

interface LedgerEntry {
  seq: number;
  receipt_id: string;
  kind: string;
  body: string;
}

type Reading = ReturnType<typeof prepareReading>;

function prepareReading(db: Storage["db"]) {
  const items = db.prepare<[], ItemRow>("SELECT * FROM memory_items ORDER BY seq");
  const index = db.prepare<[], string>("SELECT seq || ' ' || text FROM property_index ORDER BY seq").pluck();
  const quarantine = db.prepare<[], { id: string; status: string; content: string }>(
    "SELECT id, status, json_extract(body, '$.edit.content') AS content FROM memory_quarantine",
  );
  const commits = db.prepare<[], { id: string; status: string; workspace: string; kept: number; receipt_id: string | null }>(
    "SELECT id, status, workspace, kept, receipt_id FROM memory_commits",
  );
  const edits = db.prepare<[], string>("SELECT commit_id || ' ' || count(*) FROM memory_edits GROUP BY commit_id").pluck();
  const ledger = db.prepare<[number], LedgerEntry>("SELECT seq, receipt_id, kind, body FROM ledger WHERE seq > ? ORDER BY seq");
  const found = db
    .prepare<[string], number>("SELECT rowid FROM memory_fts WHERE memory_fts MATCH 'words : (' || ? || ')' ORDER BY rowid")
    .pluck();
  const item = db.prepare<[string], ItemRow>("SELECT * FROM memory_items WHERE id = ?");
  return {
    item: (id: string) => item.get(id),
    found: (message: string) => found.all(message),
    items: () => items.all(),
    index: () => index.all(),
    quarantine: () => quarantine.all(),
    commits: () => commits.all(),
    edits: () => edits.all(),
    ledger: (from: number) => ledger.all(from),
  };
}

function shown(item: Omit<ModelItem, "id">): string {
  const { target, namespace, workspace, content, confidence, expiresAt, weight, reinforced, image } = item;
  return JSON.stringify([target, namespace, workspace, content, confidence, expiresAt, weight, reinforced, image]);
}

/** Compares lists whose order says nothing. */
function equal(found: readonly string[], expected: readonly string[]): void {
  const [a, b] = [found.toSorted(), expected.toSorted()];
  if (a.length !== b.length || a.some((text, number) => text !== b[number])) expect(a).toEqual(b);
}
