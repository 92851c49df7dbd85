// Watches a command where the system allows files of a certain size only (`ulimit -f`), as on a full disk, and says what came of it as
// one line of JSON. Arguments: folder.
import { existsSync } from "node:fs";
import { createEffectsRoom } from "../effects-fixture.ts";

const [base = ""] = process.argv.slice(2);
const room = createEffectsRoom({ base });
let failed: { code: unknown; message: string } | null = null;
try {
  await room.sh("echo ran > ran.txt");
} catch (error) {
  failed = { code: (error as { code?: unknown }).code, message: (error as Error).message };
}
const receipt = room.ledger.search({ query: "run_command", limit: 1 }).items[0];
process.stdout.write(
  `${JSON.stringify({
    failed,
    ran: existsSync(room.path("ran.txt")),
    checkpoints: room.checkpoints.list({ limit: 10 }).length,
    receipt: receipt?.status,
  })}\n`,
);
room.close();
