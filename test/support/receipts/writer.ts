/**
 * A host that writes receipts: `node writer.ts <data folder> <how many, 0 for ever>`. Says `ready`, waits for a line, then prints each receipt's id when its opening is
 * durable (`open <id>`) and when its closing is (`close <id>`), and leaves every seventh open.
 */
import { flushCompileCache } from "node:module";
import { readSync, writeSync } from "node:fs";
import { createLedger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../../agent-server/security/redactor.ts";
import { openStorage } from "../../../agent-server/storage/storage.ts";
import { opening } from "./ledger-folder.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

const [dataDir, count] = process.argv.slice(2);
if (dataDir === undefined || count === undefined) throw new Error("node writer.ts <data folder> <count>");
const limit = Number(count) || Number.POSITIVE_INFINITY;

const storage = openStorage({ dataDir, migrations: receiptsMigrations });
const ledger = createLedger({ storage, redactor: createRedactor() });
// Written at once and in order: a line is there before the process can be killed after it.
const say = (line: string): void => void writeSync(1, `${line}\n`);
say("ready");
readSync(0, Buffer.alloc(3));
for (let index = 0; index < limit; index += 1) {
  ledger.record(opening(`read ${index}`, { riskTier: "T0" }), { status: "success", outputs: { text: "x".repeat(index % 3_000) } });
  const id = ledger.open(opening(`write ${index}`, { inputs: { text: "y".repeat((index * 7) % 5_000) } }));
  say(`open ${id}`);
  if (index % 7 === 6) continue;
  ledger.close(id, { status: "success", outputs: { index } });
  say(`close ${id}`);
}
storage.close();
