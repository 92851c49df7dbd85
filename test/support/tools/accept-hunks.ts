/**
 * A process that accepts the hunks of a change one by one and says so, to be killed at any moment.
 * Arguments: base folder of a tools room, change id.
 */
import { createToolsRoom } from "../tools-fixture.ts";

const [base = "", id = ""] = process.argv.slice(2);
const room = createToolsRoom({ base });
process.stdout.write("ready\n");
for (const { index, state } of room.tools.changes.get(id).change.hunks) {
  if (state !== "pending") continue;
  await room.tools.changes.decide(id, "accept", [index]);
  process.stdout.write(`${index}\n`);
}
room.close();
