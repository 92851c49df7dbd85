import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hashEntry } from "../../agent-server/receipts/entry.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lancelot-receipts-cli-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const cli = join(import.meta.dirname, "../../agent-server/cli.ts");
function lancelot(...args: string[]) {
  const env = { ...process.env, LANCELOT_DATA: join(folder, "data"), LANCELOT_OWNER_TOKEN: "t".repeat(40) };
  const input = args[0] === "key" ? "abcdefgh12345678\n" : "";
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], { cwd: folder, encoding: "utf8", env, input });
  return { status, stdout, stderr };
}

/** A ledger with some receipts, exported; the file lies outside the data folder. */
function exported(): { file: string; keyId: string } {
  for (const name of ["ONE_API_KEY", "TWO_API_KEY"]) expect(lancelot("key", "set", name)).toMatchObject({ status: 0 });
  const made = lancelot("receipts", "export", "--json");
  expect(made).toMatchObject({ status: 0, stderr: "" });
  const file = join(folder, "ledger.jsonl");
  renameSync(join(folder, "data/exports", (JSON.parse(made.stdout) as { file: string }).file), file);
  const { keys } = JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "") as { keys: { keyId: string }[] };
  return { file, keyId: keys[0]?.keyId ?? "" };
}

describe("lancelot receipts verify FILE", () => {
  it("checks an export without a data folder, reports the key, and counts a named key alone", () => {
    const { file, keyId } = exported();
    rmSync(join(folder, "data"), { recursive: true });
    expect(lancelot("receipts", "verify", file)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(new RegExp(`: (\\d+) entries.*entry \\1 .*key ${keyId}.*Keys: ${keyId}`)) as string,
    });
    expect(lancelot("receipts", "verify", file, keyId)).toMatchObject({ status: 0 });
    const other = lancelot("receipts", "verify", file, "0".repeat(16));
    expect(other).toMatchObject({ status: 1, stdout: expect.stringContaining("unknown key") as string });
  });

  it("names the entry that was changed", () => {
    const { file } = exported();
    const text = readFileSync(file, "utf8");
    const before = text.slice(0, text.indexOf("TWO_API_KEY"));
    const seq = before.split('\n{"entry"').length - 1;
    writeFileSync(file, text.replace("TWO_API_KEY", "OTHER_KEY"));
    const result = lancelot("receipts", "verify", file, "--json");
    expect(result.status).toBe(1);
    expect(JSON.parse(result.stdout)).toMatchObject({ ok: false, firstBad: { seq, problem: "changed" } });
  });

  it.each<[string, string[], RegExp]>([
    ["a file that is not there", ["verify", "nowhere.jsonl"], /There is no such file/],
    ["a file that is something else", ["verify", "package.json"], /not a ledger export/],
    ["too much", ["verify", "a", "b", "c"], /lancelot receipts verify/],
    ["another word", ["bless"], /lancelot receipts verify/],
    ["another format", ["export", "xml"], /lancelot receipts verify/],
  ])("says what is wrong with %s", (_, args, message) => {
    writeFileSync(join(folder, "package.json"), '{"name":"x"}\n');
    const result = lancelot("receipts", ...args);
    expect(result).toMatchObject({ status: 1, stderr: expect.stringMatching(message) as string });
  });
});

describe("lancelot receipts verify", () => {
  it("detects a ledger that was completely rewritten with new hashes", () => {
    expect(lancelot("key", "set", "ONE_API_KEY").status).toBe(0);
    expect(lancelot("receipts", "verify")).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/: (\d+) entries.*entry \1 /) as string,
    });
    const db = new Database(join(folder, "data/lancelot.sqlite"));
    for (const name of db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all())
      db.exec(`DROP TRIGGER ${name}`);
    let previous = "0".repeat(64);
    for (const { seq, body } of db.prepare<[], { seq: number; body: string }>("SELECT seq, body FROM ledger ORDER BY seq").all()) {
      const changed = body.replace("ONE_API_KEY", "NOT_A_KEY");
      const hash = hashEntry(previous, changed);
      db.prepare("UPDATE ledger SET body = ?, hash = ?, prev_hash = ? WHERE seq = ?").run(changed, hash, previous, seq);
      previous = hash;
    }
    db.prepare("UPDATE ledger_head SET hash = ?").run(previous);
    db.close();
    expect(lancelot("receipts", "verify")).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/at entry \d+: /) as string,
    });
  });

  it("hides its own keys from the owner", () => {
    exported();
    expect(lancelot("key", "list").stdout).not.toContain("LANCELOT_LEDGER");
    for (const args of [
      ["delete", "LANCELOT_LEDGER_KEY"],
      ["set", "LANCELOT_LEDGER_HEADS"],
    ])
      expect(lancelot("key", ...args)).toMatchObject({ status: 1, stderr: expect.stringContaining("reserved for Lancelot") as string });
    expect(lancelot("receipts", "verify").status).toBe(0);
  });
});
