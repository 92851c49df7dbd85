import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Approval, Intent } from "../../agent-server/contract/governance.ts";
import { createGovernance, type Governance, type GovernanceDeps, governanceMigrations } from "../../agent-server/governance/governance.ts";
import { createLedger, type Ledger, receiptsMigrations } from "../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../agent-server/security/security.ts";
import type { Storage } from "../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "./migrated-storage.ts";

export interface GovernanceFixture {
  readonly governance: Governance;
  readonly ledger: Ledger;
  readonly storage: Storage;
  readonly workspace: string;
  readonly dataDir: string;
  /** Every approval event, in order. */
  readonly events: Approval[];
  /** Another host on the same data folder, as a second window is. */
  beside(more?: Partial<GovernanceDeps>): GovernanceFixture;
  /** Closes this host's database. */
  close(): void;
  /** Closes it and removes the folders; every host on them must be closed. */
  dispose(): void;
}

/** The gate over its real neighbours: SQLite, ledger, redactor, a workspace on disk. */
export function createGovernanceFixture(more: Partial<GovernanceDeps> = {}, base = newBase()): GovernanceFixture {
  const dataDir = join(base, "data");
  const workspace = join(base, "proj");
  const storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...governanceMigrations] });
  const redactor = createRedactor();
  const ledger = createLedger({ storage, redactor });
  const events: Approval[] = [];
  const governance = createGovernance({
    storage,
    ledger,
    redactor,
    workspace,
    dataDir,
    configDir: join(import.meta.dirname, "../../config"),
    trusted: true,
    posture: "supervised",
    approvalTimeoutSeconds: 60,
    home: join(base, "home"),
    editsOf: () => null,
    hasTaskCopy: () => false,
    emit: (topic, payload) => {
      if (topic === "approval") events.push(payload as Approval);
    },
    ...more,
  });
  return {
    governance,
    ledger,
    storage,
    workspace,
    dataDir,
    events,
    beside: (other) => createGovernanceFixture({ ...more, ...other }, base),
    close: () => storage.close(),
    dispose: () => {
      storage.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

function newBase(): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-gate-")));
  mkdirSync(join(base, "data"));
  mkdirSync(join(base, "proj/src"), { recursive: true });
  writeFileSync(join(base, "proj/src/a.ts"), "a\n");
  writeFileSync(join(base, "proj/.env"), "KEY=x\n");
  return base;
}

export function intent(capability: string, action: string, args: Record<string, unknown> = {}, more: Partial<Intent> = {}): Intent {
  return { capability, action, args, mode: "normal", ...more };
}
