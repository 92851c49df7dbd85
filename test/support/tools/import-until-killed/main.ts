// Imports the commits of a task, as a host does that is killed in it. Arguments: folder, workspace, file with the work, the view's `.git`,
// and `hold-` with the kind of move after whose record it waits forever.
import { flushCompileCache } from "node:module";
import { readFileSync } from "node:fs";
import { importCommits, openGit, type RepositoryWork } from "../../../../agent-server/workspace/workspace.ts";
import { createToolsFixture } from "../../tools-fixture.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

const [base = "", workspace = "", work = "", upper = "", mode = ""] = process.argv.slice(2);
const fixture = createToolsFixture({ base, workspace, posture: "autonomous" });
const { signal } = new AbortController();
const git = await openGit(workspace, signal);
process.stdout.write("begun\n");
await importCommits(JSON.parse(readFileSync(work, "utf8")) as RepositoryWork, {
  ...{ git, upper, allowRewrite: true, expectFiles: false, signal },
  record(move) {
    const id = fixture.tools.workspace.moves.record({ questId: "q1", receiptId: "r1", move });
    process.stdout.write(`recorded ${move.kind}\n`);
    if (mode === `hold-${move.kind}`) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return () => fixture.tools.workspace.moves.takenBack(id);
  },
});
process.stdout.write("done\n");
fixture.close();
