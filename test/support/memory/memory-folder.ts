import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCommits, type CommitsDeps } from "../../../agent-server/memory/commits.ts";
import { memoryMigrations } from "../../../agent-server/memory/migrations.ts";
import { createQuarantineStore } from "../../../agent-server/memory/quarantine-store.ts";
import { MemorySettings } from "../../../agent-server/memory/memory-settings.ts";
import { createMemoryStore } from "../../../agent-server/memory/item-store.ts";
import type { Author, GatedEdit, Gates, ItemImage, MemoryIndex, ProposedEdit } from "../../../agent-server/memory/item-types.ts";
import { createLedger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../../agent-server/security/redactor.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "../migrated-storage.ts";

/** A text index that can be read: what is found, by row. */
export function spyingIndex(): MemoryIndex & { readonly texts: Map<number, string> } {
  const texts = new Map<number, string>();
  return { texts, put: (item, text) => void texts.set(item.seq, text), remove: (seq) => void texts.delete(seq) };
}

/** An edit as these gates let everything through: the defaults of the contract, and what an agent wants of core waits. */
export function gated(edit: ProposedEdit, questId: string | null = null): GatedEdit {
  const { op, target, content, reason, confidence, provenance } = edit;
  const isGlobal = target === "core:human" || target === "core:operating_rules";
  const home = isGlobal ? "global" : (target === "working" || target === "episodic") && questId !== null ? `quest:${questId}` : "workspace";
  return {
    op,
    target,
    namespace: edit.namespace ?? home,
    selector: edit.selector ?? null,
    content: content ?? null,
    kind: edit.kind ?? "fact",
    tags: edit.tags ?? [],
    confidence,
    provenance,
    reason,
    ttlSeconds: edit.ttlSeconds ?? null,
  };
}

export const openGates: Gates = {
  judge: (edit, author) => {
    const through = gated(edit, author.questId);
    if (edit.target === "core:persona") {
      return { kind: "refuse", problem: { rule: "persona", message: "The persona comes from the soul." }, alternatives: [] };
    }
    if (author.by !== "owner" && edit.target.startsWith("core:")) {
      return { kind: "quarantine", edit: through, notes: [], why: "The agent wants to change a core block." };
    }
    return { kind: "store", edit: through, notes: [] };
  },
  verify: () => [],
};

export const owner: Author = { by: "owner", questId: null };
export const agent: Author = { by: "agent", questId: null };

/** An edit with what most edits have in common. */
export function proposedEdit(edit: Partial<ProposedEdit> & Pick<ProposedEdit, "op" | "target">): ProposedEdit {
  return { reason: "It was said.", confidence: 0.8, provenance: { source: "user", ref: "message:m1" }, ...edit };
}

export interface MemoryHost {
  readonly storage: Storage;
  readonly store: ReturnType<typeof createMemoryStore>;
  readonly quarantine: ReturnType<typeof createQuarantineStore>;
  readonly commits: ReturnType<typeof createCommits>;
  readonly ledger: ReturnType<typeof createLedger>;
  readonly index: ReturnType<typeof spyingIndex>;
}

export interface HostOptions {
  readonly workspace?: string;
  readonly now?: () => number;
  readonly settings?: Partial<MemorySettings>;
  readonly changed?: () => void;
  readonly textOf?: (image: ItemImage) => string;
  readonly index?: ReturnType<typeof spyingIndex>;
  readonly deps?: Partial<CommitsDeps>;
}

/** Tokens as these tests count them: one a character. */
export const countCharacters = (text: string): number => text.length;

/** What holds in one process on one data folder. */
export function openMemoryHost(dataDir: string, of: HostOptions = {}): MemoryHost {
  const { workspace = "/projects/a", now = Date.now, index = spyingIndex() } = of;
  const storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...memoryMigrations] });
  const ledger = createLedger({ storage, redactor: createRedactor(), now });
  const store = createMemoryStore({ storage, index, workspace, textOf: of.textOf ?? ((image) => image.content) });
  const quarantine = createQuarantineStore({ storage, workspace, now });
  const settings = MemorySettings.parse(of.settings ?? {});
  const commits = createCommits({
    storage,
    store,
    gates: openGates,
    quarantine,
    ledger,
    settings: () => settings,
    estimateTokens: countCharacters,
    scrub: (text) => text,
    workspace,
    now,
    changed: of.changed ?? (() => undefined),
    ...of.deps,
  });
  return { storage, store, quarantine, commits, ledger, index };
}

/** A data folder of its own, and any number of hosts on it. */
export class MemoryFolder {
  readonly dataDir = mkdtempSync(join(tmpdir(), "lancelot-memory-"));
  private readonly hosts: MemoryHost[] = [];

  host(of: HostOptions = {}): MemoryHost {
    const host = openMemoryHost(this.dataDir, of);
    this.hosts.push(host);
    return host;
  }

  remove(): void {
    for (const { storage } of this.hosts) storage.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}
