// Watches a command where the system allows files of a certain size only (`ulimit -f`), as on a full disk, and says what came of it as
// one line of JSON. Arguments: folder.
import { existsSync } from "node:fs";
import { createEffectsFixture } from "../effects-fixture.ts";

const [base = ""] = process.argv.slice(2);
const fixture = createEffectsFixture({ base });
let failed: { code: unknown; message: string } | null = null;
try {
  await fixture.sh("echo ran > ran.txt");
} catch (error) {
  failed = { code: (error as { code?: unknown }).code, message: (error as Error).message };
}
const receipt = fixture.ledger.search({ query: "run_command", limit: 1 }).items[0];
process.stdout.write(
  `${JSON.stringify({
    failed,
    ran: existsSync(fixture.path("ran.txt")),
    checkpoints: fixture.checkpoints.list({ limit: 10 }).length,
    receipt: receipt?.status,
  })}\n`,
);
fixture.close();
