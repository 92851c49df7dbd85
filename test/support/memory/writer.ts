import { flushCompileCache } from "node:module";
import { readSync, writeSync } from "node:fs";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { gated, owner, proposedEdit } from "./memory-folder.ts";
import { openPropertyHost } from "./world.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

/**
 * A host in a process of its own: `count <times>` adds one to the item "count <n>" so often, `churn` makes and takes back commits until
 * it is killed. It says each commit that was finished, after it was.
 */
const [dataDir = "", what = "", times = "0"] = process.argv.slice(2);
const host = openPropertyHost({ dataDir, workspace: "/projects/a", now: Date.now, fuse: { left: null, blown: false }, durable: true });
const { commits, storage } = host;
const counted = storage.db.prepare<[], string>("SELECT content FROM memory_items WHERE content LIKE 'count %'").pluck();

function say(line: string): void {
  // Written at once: a line is there before the process can be killed after it.
  writeSync(1, `${line}\n`);
}

function count(): void {
  for (let done = 0; done < Number(times); ) {
    const now = counted.get() ?? "";
    const { commitId } = commits.begin(owner, "one more");
    try {
      // Of one length: an edit names its item by a part of the text, and "count 1" is a part of "count 10".
      const content = `count ${String(Number(now.slice(6)) + 1).padStart(6, "0")}`;
      commits.edit(commitId, proposedEdit({ op: "replace", target: "archival", selector: now, content }), owner, null);
      commits.finish(commitId, owner, null);
      say(`done ${commitId}`);
      done += 1;
    } catch (error) {
      if (!(error instanceof LancelotError) || (error.code !== "conflict" && error.code !== "invalid_params")) throw error;
      say(`late ${error.code}`);
      commits.abandon(commitId, owner);
    }
  }
}

function churn(): void {
  for (let turn = 0; ; turn += 1) {
    commits.begin(owner, "left open");
    const edits = [0, 1, 2].map((part) =>
      gated(proposedEdit({ op: "insert", target: "archival", content: `${String(process.pid)}-${String(turn)}-${String(part)}` })),
    );
    const { commitId } = commits.apply(edits, owner, { reason: "three", parentId: null });
    say(`done ${commitId}`);
    if (turn % 3 !== 2) continue;
    try {
      const back = commits.rollback({ last: 2, reason: "no" }, owner, null);
      say(`done ${back.commitId ?? ""}`);
    } catch (error) {
      if (!(error instanceof LancelotError) || error.code !== "conflict") throw error;
    }
  }
}

say("ready");
readSync(0, Buffer.alloc(3));
if (what === "count") count();
else churn();
storage.close();
