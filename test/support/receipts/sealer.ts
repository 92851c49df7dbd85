/**
 * A host that seals until it has passed the step it is given, and is then killed as it would be by a power cut:
 * `node sealer.ts <data folder> <step> <how often it is passed first>`.
 */
import { flushCompileCache } from "node:module";
import { createLedger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createSealing } from "../../../agent-server/receipts/sealing.ts";
import { RetentionSettings } from "../../../agent-server/receipts/retention-settings.ts";
import { createRedactor } from "../../../agent-server/security/redactor.ts";
import { openStorage } from "../../../agent-server/storage/storage.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

const [dataDir, step, passes] = process.argv.slice(2);
if (dataDir === undefined) throw new Error("node sealer.ts <data folder> <step> <passes>");
let left = Number(passes);
const storage = openStorage({ dataDir, migrations: receiptsMigrations });
const ledger = createLedger({ storage, redactor: createRedactor() });
const sealing = createSealing({
  storage,
  settings: () => RetentionSettings.parse({ keep_days: 180, segment_entries: 600 }),
  now: Date.now,
  advance: () => {
    ledger.get("brings the table up to date");
    return true;
  },
  sign: () => ledger.sign(),
  record: async ({ from, to }, work) => {
    const id = ledger.open({ actionType: "system", actionName: "receipts.seal", inputs: { from, to }, riskTier: "T1" });
    const segment = await work();
    ledger.close(id, { status: "success" });
    return segment;
  },
  reached: (at) => {
    if (at !== step) return;
    if (left === 0) process.kill(process.pid, "SIGKILL");
    left -= 1;
  },
});
await sealing.run();
storage.close();
