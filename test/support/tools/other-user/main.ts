// Writes with the file operations as a user who is not root, whom permissions bind. Arguments: folder, and the id of that user where
// this is root (who can load the code wherever it lies). Says what came of it as one line of JSON.
import { join } from "node:path";
import { readWhole, removeFile, writeAtomic } from "../../../../agent-server/workspace/file-operations.ts";
import { sha256 } from "../../../../agent-server/workspace/text/encoding.ts";

const [base = "", user] = process.argv.slice(2);
if (user !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(Number(user));
  process.setuid?.(Number(user));
}
const at = (path: string) => ({ absolute: join(base, path), display: path });
const reported: Record<string, string> = {};
for (const [name, work] of Object.entries({
  "new in a read-only folder": () => writeAtomic(at("locked/new.txt"), Buffer.from("x"), { expected: null }),
  "changed in a read-only folder": () => writeAtomic(at("locked/a.txt"), Buffer.from("x"), { expected: sha256("a\n") }),
  "removed from a read-only folder": () => removeFile(at("locked/a.txt"), sha256("a\n")),
  "a read-only file": () => writeAtomic(at("readonly.txt"), Buffer.from("x"), { expected: sha256("a\n") }),
  "an unreadable file": () => readWhole(at("unreadable.txt"), 100),
  "a new folder in a read-only one": () => writeAtomic(at("locked/deep/new.txt"), Buffer.from("x"), { expected: null }),
  "an ordinary file": () => writeAtomic(at("open/a.txt"), Buffer.from("b\n"), { expected: sha256("a\n") }),
})) {
  try {
    await work();
    reported[name] = "done";
  } catch (error) {
    reported[name] = error instanceof Error ? error.message : String(error);
  }
}
process.stdout.write(`${JSON.stringify(reported)}\n`);
