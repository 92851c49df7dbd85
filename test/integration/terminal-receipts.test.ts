import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hashEntry } from "../../agent-server/receipts/entry.ts";
import { lancelot as runLancelot } from "../support/host/terminal.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lancelot-receipts-cli-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const lancelot = (...words: string[]) =>
  runLancelot(words, {
    cwd: folder,
    env: { LANCELOT_DATA: join(folder, "data"), LANCELOT_OWNER_TOKEN: "t".repeat(40) },
    input: words[0] === "key" ? "abcdefgh12345678\n" : "",
  });

/** A ledger with some receipts, exported; the file lies outside the data folder. */
async function exported(): Promise<{ file: string; keyId: string }> {
  for (const name of ["ONE_API_KEY", "TWO_API_KEY"]) expect(await lancelot("key", "set", name)).toMatchObject({ status: 0 });
  const made = await lancelot("receipts", "export", "--json");
  expect(made).toMatchObject({ status: 0, stderr: "" });
  const file = join(folder, "ledger.jsonl");
  renameSync(join(folder, "data/exports", (JSON.parse(made.stdout) as { file: string }).file), file);
  const { keys } = JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "") as { keys: { keyId: string }[] };
  return { file, keyId: keys[0]?.keyId ?? "" };
}

describe("lancelot receipts verify FILE", () => {
  it("checks an export without a data folder, tells the key, and counts a named key alone", async () => {
    const { file, keyId } = await exported();
    rmSync(join(folder, "data"), { recursive: true });
    expect(await lancelot("receipts", "verify", file)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(new RegExp(`: (\\d+) entries.*entry \\1 .*key ${keyId}.*Keys: ${keyId}`)) as string,
    });
    expect(await lancelot("receipts", "verify", file, keyId)).toMatchObject({ status: 0 });
    const other = await lancelot("receipts", "verify", file, "0".repeat(16));
    expect(other).toMatchObject({ status: 1, stdout: expect.stringContaining("unknown key") as string });
  });

  it("names the entry that was changed", async () => {
    const { file } = await exported();
    const text = readFileSync(file, "utf8");
    const before = text.slice(0, text.indexOf("TWO_API_KEY"));
    const seq = before.split('\n{"entry"').length - 1;
    writeFileSync(file, text.replace("TWO_API_KEY", "OTHER_KEY"));
    const result = await lancelot("receipts", "verify", file, "--json");
    expect(result.status).toBe(1);
    expect(JSON.parse(result.stdout)).toMatchObject({ ok: false, firstBad: { seq, problem: "changed" } });
  });

  it.each<[string, string[], RegExp]>([
    ["a file that is not there", ["verify", "nowhere.jsonl"], /There is no such file/],
    ["a file that is something else", ["verify", "package.json"], /not a ledger export/],
    ["too much", ["verify", "a", "b", "c"], /lancelot receipts verify/],
    ["another word", ["bless"], /lancelot receipts verify/],
    ["another format", ["export", "xml"], /lancelot receipts verify/],
  ])("says what is wrong with %s", async (_, words, message) => {
    writeFileSync(join(folder, "package.json"), '{"name":"x"}\n');
    const result = await lancelot("receipts", ...words);
    expect(result).toMatchObject({ status: 1, stderr: expect.stringMatching(message) as string });
  });
});

describe("lancelot receipts verify", () => {
  it("detects a ledger that was completely rewritten with new hashes", async () => {
    expect((await lancelot("key", "set", "ONE_API_KEY")).status).toBe(0);
    expect(await lancelot("receipts", "verify")).toMatchObject({
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
    expect(await lancelot("receipts", "verify")).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/at entry \d+: /) as string,
    });
  });

  it("hides its own keys from the owner", async () => {
    await exported();
    expect((await lancelot("key", "list")).stdout).not.toContain("LANCELOT_LEDGER");
    for (const words of [
      ["delete", "LANCELOT_LEDGER_KEY"],
      ["set", "LANCELOT_LEDGER_HEADS"],
    ])
      expect(await lancelot("key", ...words)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("reserved for Lancelot") as string,
      });
    expect((await lancelot("receipts", "verify")).status).toBe(0);
  });
});
