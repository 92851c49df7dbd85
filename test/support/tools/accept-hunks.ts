/**
 * A process that accepts the hunks of a change one by one and says so, to be killed at any moment.
 * Arguments: base folder of a tools room, change id.
 */
import { flushCompileCache } from "node:module";
import { createToolsFixture } from "../tools-fixture.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

const [base = "", id = ""] = process.argv.slice(2);
const fixture = createToolsFixture({ base });
process.stdout.write("ready\n");
for (const { index, state } of fixture.tools.changes.get(id).change.hunks) {
  if (state !== "pending") continue;
  await fixture.tools.changes.decide(id, "accept", [index]);
  process.stdout.write(`${index}\n`);
}
fixture.close();
