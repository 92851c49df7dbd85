import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCommits, type CommitsDeps } from "../../../agent-server/memory/commits.ts";
import { memoryMigrations } from "../../../agent-server/memory/migrations.ts";
import { createQuarantineStore } from "../../../agent-server/memory/quarantine-store.ts";
import { MemorySettings } from "../../../agent-server/memory/memory-settings.ts";
import { createMemoryIndex } from "../../../agent-server/memory/search/text-index.ts";
import { createMemoryStore } from "../../../agent-server/memory/item-store.ts";
import type { Commits } from "../../../agent-server/memory/commit-types.ts";
import type { MemoryIndex } from "../../../agent-server/memory/item-types.ts";
import { createLedger, type Ledger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../../agent-server/security/redactor.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "../migrated-storage.ts";
import { countCharacters, openGates } from "./memory-folder.ts";

/** Thrown in the middle of a transaction, as when the process ends there. */
export class Crash extends Error {}

/** Writes to the database that may still be done; the one after them does not happen. Null: as many as there are. */
export interface Fuse {
  left: number | null;
  blown: boolean;
}

/** A text index as a table that tests can read. */
export const indexMigration = {
  name: "property-1-index",
  sql: "CREATE TABLE property_index (seq INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
};

export function tableIndex(storage: Storage): MemoryIndex {
  const put = storage.db.prepare("INSERT OR REPLACE INTO property_index (seq, text) VALUES (?, ?)");
  const remove = storage.db.prepare("DELETE FROM property_index WHERE seq = ?");
  return { put: ({ seq }, text) => void put.run(seq, text), remove: (seq) => void remove.run(seq) };
}

/** The same storage, of which no more is written once the fuse has burnt down. */
function fused(storage: Storage, fuse: Fuse): Storage {
  const db = new Proxy(storage.db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "prepare") return typeof value === "function" ? (value.bind(target) as unknown) : value;
      return (sql: string) => {
        const statement = target.prepare(sql);
        if (statement.reader) return statement;
        return new Proxy(statement, {
          get(of, key) {
            const member: unknown = Reflect.get(of, key);
            if (key !== "run") return typeof member === "function" ? (member.bind(of) as unknown) : member;
            return (...values: unknown[]) => {
              if (fuse.left !== null) {
                if (fuse.left === 0) {
                  fuse.blown = true;
                  throw new Crash("The process ended here.");
                }
                fuse.left -= 1;
              }
              return of.run(...values);
            };
          },
        });
      };
    },
  });
  return { ...storage, db };
}

export interface PropertyHost {
  readonly storage: Storage;
  readonly commits: Commits;
  readonly workspace: string;
  readonly ledger: Ledger;
}

export const limits = { cap: 20, snapshots: 5, openMinutes: 10 };
export const settings: MemorySettings = {
  ...MemorySettings.parse({ snapshots: limits.snapshots, open_minutes: limits.openMinutes, working_hours: 0.02 }),
  // Smaller than the file may say, so that few items fill a block.
  block_tokens: { persona: limits.cap, human: limits.cap, operating_rules: limits.cap, mission: limits.cap, workspace_state: limits.cap },
};

function both(first: MemoryIndex, second: MemoryIndex): MemoryIndex {
  return {
    put: (item, text) => {
      first.put(item, text);
      second.put(item, text);
    },
    remove: (seq) => {
      first.remove(seq);
      second.remove(seq);
    },
  };
}

/** A host with the product's store and commits. `working_hours` of these settings are 72 seconds. */
export function openPropertyHost(of: {
  dataDir: string;
  workspace: string;
  now: () => number;
  fuse: Fuse;
  /** As the product is; else what is written need not survive a power cut, which is faster. */
  durable?: boolean;
  deps?: Partial<CommitsDeps>;
  /** With the product's own text index, beside the table that tests read. */
  isIndexed?: boolean;
}): PropertyHost {
  const { dataDir, workspace, now } = of;
  const storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...memoryMigrations, indexMigration] });
  if (of.durable !== true) storage.db.pragma("synchronous = OFF");
  const weak = fused(storage, of.fuse);
  const redactor = createRedactor();
  const index = of.isIndexed === true ? both(tableIndex(weak), createMemoryIndex(weak)) : tableIndex(weak);
  const store = createMemoryStore({ storage: weak, index, workspace, textOf: ({ content }) => content });
  const quarantine = createQuarantineStore({ storage: weak, workspace, now });
  const ledger = createLedger({ storage: weak, redactor, now });
  const commits = createCommits({
    storage: weak,
    store,
    gates: openGates,
    quarantine,
    ledger,
    settings: () => settings,
    estimateTokens: countCharacters,
    scrub: (text) => text,
    workspace,
    now,
    changed: () => undefined,
    ...of.deps,
  });
  return { storage, commits, workspace, ledger };
}

/** Where a database is fast: in memory, where the system has such a folder. */
export function fastFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "lancelot-memory-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
