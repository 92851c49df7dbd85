import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { type EntryRow, genesis, hashEntry } from "../../../agent-server/receipts/entry.ts";
import { createLedger, type Ledger, type ReceiptOpening, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import type { LedgerDeps } from "../../../agent-server/receipts/ledger.ts";
import { createRedactor } from "../../../agent-server/security/redactor.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "../migrated-storage.ts";

export interface LedgerHost {
  storage: Storage;
  ledger: Ledger;
}

/** A data folder of its own, and any number of hosts on it. */
export class LedgerFolder {
  readonly dataDir = mkdtempSync(join(tmpdir(), "lancelot-ledger-"));
  private readonly hosts: LedgerHost[] = [];

  host(now?: () => number, more: Partial<LedgerDeps> = {}): LedgerHost {
    const storage = openMigratedStorage({ dataDir: this.dataDir, migrations: receiptsMigrations });
    const host = { storage, ledger: createLedger({ storage, redactor: createRedactor(), ...(now === undefined ? {} : { now }), ...more }) };
    this.hosts.push(host);
    return host;
  }

  remove(): void {
    for (const { storage } of this.hosts) storage.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

export function opening(actionName = "read_file", more: Partial<ReceiptOpening> = {}): ReceiptOpening {
  return { actionType: "tool_call", actionName, inputs: { path: "src/app.ts" }, riskTier: "T1", ...more };
}

export function rows(storage: Storage): EntryRow[] {
  return storage.db.prepare<[], EntryRow>("SELECT * FROM ledger ORDER BY seq").all();
}

/** What someone with the file and an SQLite shell would do first. */
export function dropTriggers(storage: Storage): void {
  const triggers = storage.db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all();
  for (const trigger of triggers) storage.db.exec(`DROP TRIGGER ${trigger}`);
}

/** Exchanges two whole rows. */
export function swapRows(storage: Storage, first: number, second: number): void {
  const move = storage.db.prepare("UPDATE ledger SET seq = ? WHERE seq = ?");
  move.run(-1_000_000, first);
  move.run(first, second);
  move.run(second, -1_000_000);
}

/** Puts `row` at `row.seq` and moves everything from there up by one. */
export function insertRow(storage: Storage, row: EntryRow): void {
  storage.db.prepare("UPDATE ledger SET seq = -seq - 1 WHERE seq >= ?").run(row.seq);
  storage.db.prepare("UPDATE ledger SET seq = -seq WHERE seq < 0").run();
  storage.db
    .prepare(
      "INSERT INTO ledger (seq, receipt_id, kind, body, hash, prev_hash) VALUES (@seq, @receipt_id, @kind, @body, @hash, @prev_hash)",
    )
    .run(row);
}

/** Removes the row at `seq` and moves everything after it down by one. */
export function removeAndCloseUp(storage: Storage, seq: number): void {
  storage.db.prepare("DELETE FROM ledger WHERE seq = ?").run(seq);
  storage.db.prepare("UPDATE ledger SET seq = -seq + 1 WHERE seq > ?").run(seq);
  storage.db.prepare("UPDATE ledger SET seq = -seq WHERE seq < 0").run();
}

/** Writes entry `from` and every one after it anew, with fresh hashes and a fresh head: what someone does who knows how the chain works. */
export function rewriteFrom(storage: Storage, from: number, change: (body: string) => string): void {
  dropTriggers(storage);
  let previous = rows(storage).findLast((row) => row.seq < from)?.hash ?? genesis;
  const update = storage.db.prepare("UPDATE ledger SET body = ?, hash = ?, prev_hash = ? WHERE seq = ?");
  for (const row of rows(storage).filter(({ seq }) => seq >= from)) {
    const body = row.seq === from ? change(row.body) : row.body;
    const hash = hashEntry(previous, body);
    update.run(body, hash, previous, row.seq);
    previous = hash;
  }
  storage.db.prepare("UPDATE ledger_head SET hash = ?").run(previous);
}

/** A key store that is a map, and may be made to fail. */
export function keyStore(entries = new Map<string, string>()) {
  return {
    entries,
    broken: false,
    asked: 0,
    async get(name: string): Promise<string | null> {
      this.asked += 1;
      if (this.broken) throw new LancelotError("unavailable", "The stored secrets are locked.");
      return entries.get(name) ?? null;
    },
    async set(name: string, value: string): Promise<void> {
      if (this.broken) throw new LancelotError("unavailable", "The stored secrets are locked.");
      entries.set(name, value);
    },
    async delete(name: string): Promise<void> {
      entries.delete(name);
    },
    async list(): Promise<string[]> {
      return [...entries.keys()];
    },
  };
}
