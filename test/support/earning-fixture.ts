import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Topic } from "../../agent-server/contract/events.ts";
import { afterEach, beforeEach } from "vitest";
import { createLearning, type Learning, learningMigrations } from "../../agent-server/governance/learning/learning.ts";
import { createStats, type Stats, statsMigrations } from "../../agent-server/governance/decision-stats.ts";
import { createTrust, type Trust, trustMigrations } from "../../agent-server/governance/trust/trust.ts";
import { createLedger, type Ledger, receiptsMigrations } from "../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../agent-server/security/security.ts";
import type { Storage } from "../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "./migrated-storage.ts";

/** One window: trust, learning and the statistics over a real database and ledger. */
export interface EarningHost {
  readonly storage: Storage;
  readonly ledger: Ledger;
  readonly trust: Trust;
  readonly learning: Learning;
  readonly stats: Stats;
  readonly events: Topic[];
  readonly logged: string[];
  /** Names of the receipts that begin so, oldest first. */
  receipts(prefix: string): string[];
  close(): void;
}

export interface EarningFixture {
  /** The clock of all hosts, in milliseconds since 1970. */
  clock: number;
  readonly configDir: string;
  open(): EarningHost;
  /** 1, 2, 3, …: for ids that must differ. */
  next(): number;
  /** Replaces a file of the configuration. */
  configure(file: string, text: string): void;
  dispose(): void;
}

/** A data folder and a configuration of their own; every host opened on them is a window of the same owner. */
export function createEarningFixture(): EarningFixture {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-earning-")));
  const dataDir = join(base, "data");
  const configDir = join(base, "config");
  mkdirSync(dataDir);
  cpSync(join(import.meta.dirname, "../../config"), configDir, { recursive: true });
  const hosts = new Set<EarningHost>();
  let last = 0;
  const fixture: EarningFixture = {
    clock: Date.parse("2026-11-20T10:00:00Z"),
    configDir,
    next: () => ++last,
    open() {
      const storage = openMigratedStorage({
        dataDir,
        migrations: [...receiptsMigrations, ...trustMigrations, ...learningMigrations, ...statsMigrations],
      });
      const now = () => fixture.clock;
      const ledger = createLedger({ storage, redactor: createRedactor(), now });
      const events: Topic[] = [];
      const logged: string[] = [];
      const deps = {
        storage,
        ledger,
        configDir,
        now,
        emit: (topic: Topic) => void events.push(topic),
        log: (message: string) => void logged.push(message),
      };
      const host: EarningHost = {
        storage,
        ledger,
        events,
        logged,
        trust: createTrust(deps),
        learning: createLearning(deps),
        stats: createStats(deps),
        receipts: (prefix) =>
          ledger
            .search({ limit: 500 })
            .items.map(({ actionName }) => actionName)
            .filter((name) => name.startsWith(prefix))
            .toReversed(),
        close() {
          hosts.delete(host);
          storage.close();
        },
      };
      hosts.add(host);
      return host;
    },
    configure: (file, text) => writeFileSync(join(configDir, file), text),
    dispose() {
      for (const host of hosts) host.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
  return fixture;
}

/** A fixture of its own for each test of a file, with one window open. */
export function useEarningFixture(use: (opened: { fixture: EarningFixture; host: EarningHost }) => void): void {
  let fixture: EarningFixture;
  beforeEach(() => {
    fixture = createEarningFixture();
    use({ fixture, host: fixture.open() });
  });
  afterEach(() => fixture.dispose());
}
