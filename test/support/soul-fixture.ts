import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SoulStatus } from "../../agent-server/contract/soul.ts";
import { createSoul, type SoulDeps, soulMigrations, type SoulService } from "../../agent-server/governance/soul/soul.ts";
import { createLedger, type Ledger, receiptsMigrations } from "../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../agent-server/security/security.ts";
import type { Storage } from "../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "./migrated-storage.ts";

const product = join(import.meta.dirname, "../..");

/** The soul that ships. */
export const shippedSoul = readFileSync(join(product, "soul/soul_versions/soul_v1.yaml"), "utf8");
export const configDir = join(product, "config");

export interface SoulFixture {
  readonly soul: SoulService;
  readonly storage: Storage;
  readonly ledger: Ledger;
  readonly base: string;
  /** `soul/` of the data folder. */
  readonly folder: string;
  readonly events: SoulStatus[];
  readonly logged: unknown[];
  read(name: string): string;
  write(name: string, text: string | Uint8Array): void;
  /** Names and outcomes of the soul's receipts, oldest first. */
  receipts(): string[];
  /** Proposes, approves and activates. */
  adopt(yaml: string): string;
  /** Another host on the same data folder, as a second window is. */
  beside(more?: Partial<SoulDeps>): SoulFixture;
  close(): void;
  dispose(): void;
}

/** The soul over its real neighbours: SQLite, ledger, redactor, files. `base` is kept when it is given. */
export function createSoulFixture(more: Partial<SoulDeps> = {}, base = newBase()): SoulFixture {
  const dataDir = join(base, "data");
  const storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...soulMigrations] });
  const redactor = createRedactor();
  const ledger = createLedger({ storage, redactor });
  const events: SoulStatus[] = [];
  const logged: unknown[] = [];
  const soul = createSoul({
    storage,
    ledger,
    redactor,
    dataDir,
    shippedDir: join(base, "product/soul"),
    configDir: join(base, "product/config"),
    enabled: () => true,
    emit: (topic, payload) => {
      if (topic === "soul") events.push(payload as SoulStatus);
    },
    log: (message, error) => logged.push(message, error),
    ...more,
  });
  const folder = join(dataDir, "soul");
  return {
    soul,
    storage,
    ledger,
    base,
    folder,
    events,
    logged,
    read: (name) => readFileSync(join(folder, name), "utf8"),
    write: (name, text) => writeFileSync(join(folder, name), text),
    receipts: () =>
      ledger
        .search({ query: "soul", limit: 500 })
        .items.filter((receipt) => receipt.actionName.startsWith("soul."))
        .map((receipt) => `${receipt.actionName} ${receipt.status}`)
        .toReversed(),
    adopt: (yaml) => {
      const { id } = soul.propose({ yaml, reason: "A test.", by: "owner", questId: null });
      soul.approve(id);
      return soul.activate(id).toVersion;
    },
    beside: (other) => createSoulFixture({ ...more, ...other }, base),
    close: () => storage.close(),
    dispose: () => {
      storage.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** Data folder and product folder, both of the test's own. */
export function newBase(): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-soul-")));
  mkdirSync(join(base, "data"));
  cpSync(join(product, "soul"), join(base, "product/soul"), { recursive: true });
  mkdirSync(join(base, "product/config"));
  cpSync(join(configDir, "governance.yaml"), join(base, "product/config/governance.yaml"));
  return base;
}
