// A host that is killed. Arguments: folder, then `command SCRIPT` (runs it, watched, and says `running` when it has printed that), `restore ID`
// (a checkpoint, or q1 for the whole task), or `collect`. Says `begun` right before and `done` after it.
import { flushCompileCache } from "node:module";
import { createEffectsFixture } from "../effects-fixture.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

const [base = "", what = "", argument = ""] = process.argv.slice(2);
const fixture = createEffectsFixture({
  base,
  isQuestOpen: (questId) => questId === "open",
  // Everything that may be collected is old enough.
  ...(what === "collect" ? { now: () => new Date(Date.now() + 3 * 60 * 60_000) } : {}),
});
await fixture.ready;
const say = (word: string) => process.stdout.write(`${word}\n`);
say("begun");
if (what === "restore") await fixture.restore.restore(argument === "q1" ? { questId: "q1" } : { id: argument });
else if (what === "collect") await fixture.collector.collect();
else await fixture.sh(argument, { onOutput: (text) => process.stdout.write(text) });
say("done");
fixture.close();
