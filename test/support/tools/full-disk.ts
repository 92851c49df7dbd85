// Writes with the tools where the system allows files of a certain size only (`ulimit -f`), and says what came of it as one line
// of JSON. Arguments: folder.
import { createToolsFixture, snapshotTree } from "../tools-fixture.ts";

const [base = ""] = process.argv.slice(2);
const fixture = createToolsFixture({ base, posture: "autonomous" });
const before = snapshotTree(fixture.workspace);
const tooLarge = "0123456789abcdef\n".repeat(200_000);
const failed = [
  await fixture.run("write_file", { path: "new.txt", content: tooLarge }),
  await fixture.run("write_file", { path: "a.txt", content: tooLarge }),
];
const untouched = JSON.stringify(snapshotTree(fixture.workspace)) === JSON.stringify(before);
const small = await fixture.run("write_file", { path: "a.txt", content: "small\n" });
await fixture.tools.verifications.settle("q1", { timeoutMs: 20_000 });
const receipts = fixture.ledger.search({ limit: 50 }).items.map(({ actionName, status }) => `${actionName} ${status}`);
process.stdout.write(
  `${JSON.stringify({ failed: failed.map(({ isError, text }) => ({ isError, text })), untouched, small: small.isError, a: fixture.read("a.txt"), receipts })}\n`,
);
fixture.close();
