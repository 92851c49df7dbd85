import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openStorage } from "../../agent-server/storage/storage.ts";

const storageModule = new URL("../../agent-server/storage/storage.ts", import.meta.url).href;
const migrations = [{ name: "words-1", sql: "CREATE TABLE words (word TEXT PRIMARY KEY) STRICT" }];
let dataDir: string;
let processes: ChildProcess[];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-storage-"));
  processes = [];
});
afterEach(() => {
  for (const child of processes) child.kill("SIGKILL");
  rmSync(dataDir, { recursive: true, force: true });
});

/** A process that opens the data folder, says its host id and stays. */
function startHost(): { child: ChildProcess; hostId: Promise<string> } {
  const program = `import { openStorage } from ${JSON.stringify(storageModule)};
    const storage = openStorage({ dataDir: ${JSON.stringify(dataDir)}, migrations: ${JSON.stringify(migrations)} });
    storage.transaction(() => storage.db.prepare("INSERT INTO words VALUES (?)").run(storage.hostId));
    console.log(storage.hostId);
    process.stdin.on("end", () => process.exit(0)).resume();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["pipe", "pipe", "inherit"] });
  processes.push(child);
  const lines = createInterface({ input: child.stdout });
  const hostId = Promise.race([
    once(lines, "line").then(([line]) => line as string),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`The host ended with ${code}.`))),
  ]);
  return { child, hostId };
}

it("hosts that make the database at the same moment all find it whole", async () => {
  const hostIds = await Promise.all(Array.from({ length: 6 }, () => startHost().hostId));
  const storage = openStorage({ dataDir, migrations });
  expect(storage.db.prepare("SELECT word FROM words ORDER BY word").pluck().all()).toEqual([...hostIds].sort());
  expect(hostIds.every((hostId) => storage.hostAlive(hostId))).toBe(true);
  storage.close();
});

it("a host is known dead after SIGKILL and after it ended by itself", async () => {
  const storage = openStorage({ dataDir, migrations });
  const killed = startHost();
  const ended = startHost();
  const [killedId, endedId] = await Promise.all([killed.hostId, ended.hostId]);
  expect([storage.hostAlive(killedId), storage.hostAlive(endedId)]).toEqual([true, true]);
  killed.child.kill("SIGKILL");
  ended.child.stdin?.end();
  await Promise.all([once(killed.child, "exit"), once(ended.child, "exit")]);
  expect([storage.hostAlive(killedId), storage.hostAlive(endedId)]).toEqual([false, false]);
  storage.close();
});
