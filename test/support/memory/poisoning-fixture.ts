import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createQuarantine, type Quarantine } from "../../../agent-server/memory/quarantine.ts";
import { createQuarantineCheck } from "../../../agent-server/memory/quarantine-entry-check.ts";
import { scrub } from "../../../agent-server/memory/gates/secret-gate.ts";
import type { Evidence } from "../../../agent-server/memory/item-types.ts";
import { gatesFixture, redactor } from "./gates-fixture.ts";
import { type MemoryHost, MemoryFolder } from "./memory-folder.ts";

/** Store, commits and quarantine behind the shipped gates, on a data folder of its own. */
export class PoisoningFixture {
  readonly folder = new MemoryFolder();
  readonly host: MemoryHost;
  readonly quarantine: Quarantine;

  private readonly evidence: Readonly<Record<string, Evidence>>;

  constructor(evidence: Readonly<Record<string, Evidence>> = {}) {
    this.evidence = evidence;
    ({ host: this.host, quarantine: this.quarantine } = this.another());
  }

  /** Another window on the same data folder. */
  another(): { host: MemoryHost; quarantine: Quarantine } {
    const gates = gatesFixture(this.evidence);
    const host = this.folder.host({
      settings: { snapshots: 6 },
      deps: { gates, scrub: (text) => scrub(text, redactor), verify: (entry) => verify(entry) },
    });
    const verify = createQuarantineCheck({ store: host.store, gates });
    const quarantine = createQuarantine({
      storage: host.storage,
      store: host.store,
      commits: host.commits,
      rows: host.quarantine,
      gates,
      ledger: host.ledger,
      redactor,
      now: Date.now,
      workspace: "/projects/a",
      changed: () => undefined,
    });
    return { host, quarantine };
  }

  /** The bytes of the database and its log, as text of one byte a letter. */
  bytes(): string {
    this.host.ledger.flush();
    return ["lancelot.sqlite", "lancelot.sqlite-wal"]
      .map((name) => join(this.folder.dataDir, name))
      .filter((path) => existsSync(path))
      .map((path) => readFileSync(path, "latin1"))
      .join("\n");
  }

  remove(): void {
    this.folder.remove();
  }
}
