// Applies a patch of all files of the workspace at once, and says so right before. It is killed somewhere in it. Arguments: folder, quest.
import { flushCompileCache } from "node:module";
import { readdirSync } from "node:fs";
import { createToolsFixture } from "../../tools-fixture.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

const [base = "", questId = ""] = process.argv.slice(2);
const fixture = createToolsFixture({ base, posture: "autonomous" });
const patch = readdirSync(fixture.workspace)
  .map((name) => `--- a/${name}\n+++ b/${name}\n@@ -1 +1,2 @@\n-first of ${name}\n+patched ${name}\n+by ${questId}\n`)
  .join("");
process.stdout.write("begun\n");
await fixture.run("apply_patch", { patch }, { quest: questId });
process.stdout.write("done\n");
fixture.close();
