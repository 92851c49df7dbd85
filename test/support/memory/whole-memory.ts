import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemory } from "../../../agent-server/memory/create-memory.ts";
import { type Evidence, type Memory, memoryMigrations } from "../../../agent-server/memory/memory.ts";
import { createLedger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "../migrated-storage.ts";
import { ethics, redactor, sanitizer } from "./gates-fixture.ts";

const config = join(import.meta.dirname, "../../../config");

/** All of memory as the host joins it, on a data folder of its own; evidence is what is given by reference. */
export class WholeMemory {
  readonly dataDir = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "lancelot-memory-"));
  readonly memory: Memory;
  readonly ledger: ReturnType<typeof createLedger>;
  private readonly storage: Storage;

  constructor(evidence: Readonly<Record<string, Evidence>> = {}) {
    this.storage = openMigratedStorage({ dataDir: this.dataDir, migrations: [...receiptsMigrations, ...memoryMigrations] });
    this.ledger = createLedger({ storage: this.storage, redactor });
    this.memory = createMemory({
      storage: this.storage,
      ledger: this.ledger,
      redactor,
      sanitizer,
      enabled: () => true,
      workspace: "/projects/a",
      dataDir: this.dataDir,
      configDir: config,
      emit: () => undefined,
      log: () => undefined,
      estimateTokens: (text) => Math.ceil(text.length / 4),
      soul: () => null,
      forbids: ethics,
      evidence: (ref) => evidence[ref] ?? null,
      timeline: { message: () => null, since: () => [], quest: () => [] },
    });
  }

  /** Every byte below the data folder, as text of one byte a letter. */
  bytes(): string {
    this.ledger.flush();
    const all: string[] = [];
    const walk = (folder: string): void => {
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        if (statSync(path).isDirectory()) walk(path);
        else all.push(readFileSync(path, "latin1"));
      }
    };
    walk(this.dataDir);
    return all.join("\n");
  }

  remove(): void {
    this.storage.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}
