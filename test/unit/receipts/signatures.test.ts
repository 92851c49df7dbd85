import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Ledger } from "../../../agent-server/receipts/receipts.ts";
import { keyIdOf, signHead, type SignedHead } from "../../../agent-server/receipts/signature.ts";
import { createSecrets, reservedSecrets } from "../../../agent-server/security/security.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { dropTriggers, keyStore, LedgerFolder, opening, rewriteFrom, rows } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let store: ReturnType<typeof keyStore>;
let storage: Storage;
let ledger: Ledger;
let time: number;
const logged: string[] = [];
const log = (message: string) => void logged.push(message);

beforeEach(() => {
  folder = new LedgerFolder();
  store = keyStore();
  time = Date.UTC(2026, 10, 21, 12);
  logged.length = 0;
  ({ storage, ledger } = folder.host(() => time, { secrets: store, log }));
});
afterEach(() => {
  vi.useRealTimers();
  folder.remove();
});

/** `receipts` more receipts: twice as many entries. */
function fill(receipts: number, into = ledger): void {
  for (let index = 0; index < receipts; index += 1) into.record(opening(`action ${index}`), { status: "success", outputs: { index } });
  into.flush();
}
const heads = () =>
  storage.db.prepare<[], SignedHead>("SELECT seq, hash, at, key_id AS keyId, signature FROM ledger_signatures ORDER BY seq").all();
const ledgerId = () => storage.db.prepare<[], string>("SELECT ledger_id FROM ledger_identity").pluck().get() ?? "";
const run = (sql: string, ...values: unknown[]) => storage.db.prepare(sql).run(...values);

/** Three signed heads: at 20, 40 and 60; then ten entries that are not signed. */
async function signedLedger(): Promise<void> {
  for (let part = 0; part < 3; part += 1) {
    fill(10);
    time += 600_000;
    await ledger.sign();
  }
  fill(5);
}

describe("signed heads", () => {
  it("say in verification up to where the ledger is signed, when, and by which key", async () => {
    await signedLedger();
    const [, , last] = heads();
    expect(await ledger.verify()).toMatchObject({
      ok: true,
      entries: 70,
      signed: { seq: 60, at: new Date(time).toISOString(), keyId: last?.keyId, heads: 3 },
    });
    expect(last?.keyId).toMatch(/^[0-9a-f]{16}$/);
  });

  it("are not made where no key store is, which is reported", async () => {
    const { ledger } = folder.host(() => time);
    fill(2, ledger);
    expect(await ledger.sign()).toBeNull();
    expect(ledger.degraded()).toMatch(/No key store .* not signed/);
    expect(await ledger.verify()).toMatchObject({ ok: true, signed: null });
    await expect(ledger.rotateKey()).rejects.toMatchObject({ code: "unavailable" });
  });

  it("are not made while the key store fails, which is reported, and are when it works again", async () => {
    store.broken = true;
    fill(2);
    expect(await ledger.sign()).toBeNull();
    expect(ledger.degraded()).toBe("The receipts are not signed: The stored secrets are locked.");
    expect(logged).toContain("could not read the ledger's signing key");
    expect((await ledger.verify()).ok).toBe(true);
    store.broken = false;
    expect((await ledger.sign())?.seq).toBe(4);
    expect(ledger.degraded()).toBeNull();
  });

  it("need no signature for an empty ledger", async () => {
    expect(await ledger.sign()).toBeNull();
    expect(heads()).toEqual([]);
  });

  it("are made after 256 entries by themselves, in a later turn than the append", async () => {
    fill(128);
    expect(heads()).toEqual([]);
    await vi.waitFor(() => expect(heads().map(({ seq }) => seq)).toEqual([256]));
    fill(127);
    await ledger.verify();
    expect(heads()).toHaveLength(1);
    fill(1);
    await vi.waitFor(() => expect(heads().map(({ seq }) => seq)).toEqual([256, 512]));
  });

  it("are made a minute after the first entry that is not signed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    ledger.close(ledger.open(opening()), { status: "success" });
    vi.advanceTimersByTime(59_999);
    expect(store.asked).toBe(0);
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await vi.waitFor(() => expect(heads().map(({ seq }) => seq)).toEqual([2]));
  });

  it("are made when the host ends, once", async () => {
    fill(1);
    await ledger.end();
    expect(heads().map(({ seq }) => seq)).toEqual([2]);
    const asked = store.asked;
    await ledger.end();
    expect(store.asked).toBe(asked);
  });

  it("do not hold up the end of a host for long when the key store never answers", async () => {
    const { ledger } = folder.host(() => time, { secrets: { ...store, get: () => new Promise<null>(() => undefined) }, log });
    fill(1, ledger);
    const start = performance.now();
    await ledger.end();
    expect(performance.now() - start).toBeLessThan(30_000);
  });

  it("keep the private key in the key store alone", async () => {
    await signedLedger();
    const { private: secret } = JSON.parse(store.entries.get(reservedSecrets.ledgerKey) ?? "{}") as { private: string };
    expect(secret.length).toBeGreaterThan(40);
    storage.db.pragma("wal_checkpoint(TRUNCATE)");
    expect(readFileSync(join(folder.dataDir, "lancelot.sqlite")).includes(secret)).toBe(false);
    expect(Object.keys(heads()[0] ?? {})).toEqual(["seq", "hash", "at", "keyId", "signature"]);
  });

  it("of two windows are by one key, made once", async () => {
    const other = folder.host(() => time, { secrets: store, log }).ledger;
    fill(1);
    const both = await Promise.all([ledger.sign(), other.sign()]);
    fill(1, other);
    await other.sign();
    await ledger.sign();
    expect(new Set(heads().map(({ keyId }) => keyId)).size).toBe(1);
    expect(both.some((signed) => signed !== null)).toBe(true);
    expect(storage.db.prepare("SELECT count(*) FROM ledger_keys").pluck().get()).toBe(1);
    expect((await other.verify()).ok).toBe(true);
  });

  it("stay verifiable after a new key, which signs from then on", async () => {
    await signedLedger();
    const before = heads()[0]?.keyId;
    const keyId = await ledger.rotateKey();
    expect(keyId).not.toBe(before);
    expect(heads().map((head) => head.keyId)).toEqual([before, before, before, keyId]);
    expect(await ledger.verify()).toMatchObject({ ok: true, signed: { keyId, heads: 4 } });
    const later = folder.host(() => time, { secrets: store, log });
    fill(1, later.ledger);
    expect((await later.ledger.sign())?.keyId).toBe(keyId);
    expect(later.ledger.search({ query: "rotateKey", limit: 1 }).items[0]).toMatchObject({ status: "success", riskTier: "T3" });
  });

  it("stay verifiable when the key store lost the key", async () => {
    await signedLedger();
    store.entries.clear();
    const again = folder.host(() => time, { secrets: store, log });
    expect((await again.ledger.verify()).signed?.heads).toBe(3);
    fill(1, again.ledger);
    await again.ledger.sign();
    expect(new Set(heads().map((head) => head.keyId)).size).toBe(2);
    expect(await again.ledger.verify()).toMatchObject({ ok: true, signed: { heads: 4 } });
  });

  it("work with the vault of a host without an editor", async () => {
    const secrets = createSecrets({ dataDir: folder.dataDir, env: {} });
    const { ledger } = folder.host(() => time, { secrets, log });
    fill(2, ledger);
    expect((await ledger.sign())?.seq).toBe(4);
    expect(await ledger.verify()).toMatchObject({ ok: true, signed: { heads: 1 } });
    expect(await secrets.list()).toEqual([reservedSecrets.ledgerHeads, reservedSecrets.ledgerKey]);
  });

  it("a damaged entry of the key store is said without its text", async () => {
    store.entries.set(reservedSecrets.ledgerKey, '{"v":1,"private":"c2VjcmV0","keys":[]}');
    fill(1);
    expect(await ledger.sign()).toBeNull();
    expect(ledger.degraded()).toMatch(/LANCELOT_LEDGER_KEY cannot be parsed/);
    expect(ledger.degraded()).not.toContain("c2VjcmV0");
  });
});

describe("the tables of signatures", () => {
  it.each([
    "UPDATE ledger_signatures SET hash = 'x'",
    "DELETE FROM ledger_signatures",
    "INSERT OR REPLACE INTO ledger_signatures SELECT seq, 'x', at, key_id, signature FROM ledger_signatures",
    "UPDATE ledger_keys SET public_key = 'x'",
    "DELETE FROM ledger_keys",
    "UPDATE ledger_identity SET ledger_id = 'x'",
    "DELETE FROM ledger_identity",
  ])("refuse %s", async (sql) => {
    fill(1);
    await ledger.sign();
    expect(() => storage.db.exec(sql)).toThrow(/append-only|stays/);
  });
});

/** A key of someone else, put where the ledger keeps its public keys. */
function foreignKey() {
  const pair = generateKeyPairSync("ed25519");
  const publicKey = pair.publicKey.export({ format: "der", type: "spki" }).toString("base64");
  return { keyId: keyIdOf(publicKey), publicKey, private: pair.privateKey };
}
const otherName = (body: string) => body.replace(/"actionName":"action \d+"/, '"actionName":"something else"');
const otherStatus = (body: string) => body.replace('"status":"success"', '"status":"failure"');

describe("a rewritten ledger, with fresh hashes and a fresh head,", () => {
  it.each([
    ["from its first entry", 1, otherName, 20],
    ["in its middle", 25, otherName, 40],
    ["from the entry after a signature", 41, otherName, 60],
    ["at the very entry that was signed", 40, otherStatus, 40],
  ])("%s is found at the first signature after it", async (_, from, change, found) => {
    await signedLedger();
    const before = rows(storage)[from - 1]?.body;
    rewriteFrom(storage, from, change);
    expect(rows(storage)[from - 1]?.body).not.toBe(before);
    const result = await ledger.verify();
    expect(result.firstBad).toMatchObject({ seq: found, problem: "signature" });
    expect(result).toMatchObject({ ok: false, entries: found - 1 });
    expect(result.firstBad?.message).toMatch(/the ledger was rewritten/);
    expect(result.firstBad?.message).toContain(found === 20 ? "from the start" : `after entry ${found - 20}`);
  });

  it("and signed by another key is found, also when that key was put among the ledger's", async () => {
    await signedLedger();
    rewriteFrom(storage, 5, otherName);
    const key = foreignKey();
    run("INSERT INTO ledger_keys (key_id, public_key, at) VALUES (?, ?, 0)", key.keyId, key.publicKey);
    run("DELETE FROM ledger_signatures");
    for (const seq of [20, 40, 60, 70]) {
      const signed = signHead(ledgerId(), { seq, hash: rows(storage)[seq - 1]?.hash ?? "", at: time }, key);
      run("INSERT INTO ledger_signatures VALUES (?, ?, ?, ?, ?)", seq, signed.hash, signed.at, signed.keyId, signed.signature);
    }
    const result = await ledger.verify();
    expect(result.firstBad).toMatchObject({ seq: 20, problem: "signature" });
    expect(result.firstBad?.message).toContain(`${key.keyId})`);
  });

  it("without its signatures is found by what the key store remembers", async () => {
    await signedLedger();
    rewriteFrom(storage, 5, otherName);
    run("DELETE FROM ledger_signatures");
    expect((await ledger.verify()).firstBad).toMatchObject({ seq: 60, problem: "signature" });
  });

  it("where nothing was signed yet is not found: this is what the cadence is for", async () => {
    await signedLedger();
    rewriteFrom(storage, 65, otherName);
    expect((await ledger.verify()).ok).toBe(true);
  });
});

describe("signatures", () => {
  it.each<[what: string, tamper: () => unknown, seq: number, message: RegExp]>([
    ["changed", () => run("UPDATE ledger_signatures SET signature = 'AAAA' WHERE seq = 40"), 40, /forged signature/],
    ["of another time", () => run("UPDATE ledger_signatures SET at = at + 1 WHERE seq = 40"), 40, /forged signature/],
    ["moved to another entry", () => run("UPDATE ledger_signatures SET seq = 41 WHERE seq = 40"), 41, /forged signature/],
    ["under another key's name", () => run("UPDATE ledger_signatures SET key_id = 'other' WHERE seq = 20"), 20, /unknown key/],
    ["gone at the end", () => run("DELETE FROM ledger_signatures WHERE seq = 60"), 60, /its signature was removed/],
    ["all gone", () => run("DELETE FROM ledger_signatures"), 60, /its signature was removed/],
  ])("that are %s are found", async (_, tamper, seq, message) => {
    await signedLedger();
    dropTriggers(storage);
    tamper();
    const { ok, firstBad } = await ledger.verify();
    expect(ok).toBe(false);
    expect(firstBad).toMatchObject({ seq, problem: "signature" });
    expect(firstBad?.message).toMatch(message);
  });

  it("of another ledger say nothing about this one", async () => {
    await signedLedger();
    dropTriggers(storage);
    run("UPDATE ledger_identity SET ledger_id = 'another'");
    const other = folder.host(() => time, { secrets: store, log });
    expect((await other.ledger.verify()).firstBad).toMatchObject({ seq: 20, problem: "signature" });
  });

  it("show a tail that was cut off together with the head", async () => {
    await signedLedger();
    dropTriggers(storage);
    run("DELETE FROM ledger WHERE seq > 50");
    run("UPDATE ledger_head SET seq = 50, hash = (SELECT hash FROM ledger WHERE seq = 50)");
    store.entries.delete(reservedSecrets.ledgerHeads);
    expect((await ledger.verify()).firstBad).toMatchObject({ seq: 51, problem: "removed" });
  });
});

describe("an older copy of the database in its place", () => {
  const file = () => join(folder.dataDir, "lancelot.sqlite");

  it("is found by what the key store remembers, whatever is written after it", async () => {
    fill(10);
    await ledger.sign();
    storage.db.pragma("wal_checkpoint(TRUNCATE)");
    copyFileSync(file(), `${file()}.old`);
    fill(20);
    time += 600_000;
    await ledger.sign();
    storage.close();
    copyFileSync(`${file()}.old`, file());
    ({ storage, ledger } = folder.host(() => time, { secrets: store, log }));
    const first = await ledger.verify();
    expect(first.firstBad).toMatchObject({ seq: 21, problem: "removed" });
    expect(first.firstBad?.message).toContain("the ledger had 60 entries when it was signed");
    fill(30);
    expect((await ledger.verify()).firstBad).toMatchObject({ seq: 60, problem: "signature" });
  });

  it("the key store never goes back to an earlier head", async () => {
    fill(10);
    await ledger.sign();
    const kept = store.entries.get(reservedSecrets.ledgerHeads);
    const seq = (JSON.parse(kept ?? "{}") as { ledgers: Record<string, { seq: number }> }).ledgers[ledgerId()]?.seq;
    expect(seq).toBe(20);
    dropTriggers(storage);
    run("DELETE FROM ledger WHERE seq > 10");
    run("UPDATE ledger_head SET seq = 10, hash = (SELECT hash FROM ledger WHERE seq = 10)");
    run("DELETE FROM ledger_signatures");
    await ledger.sign();
    expect(store.entries.get(reservedSecrets.ledgerHeads)).toBe(kept);
    expect((await ledger.verify()).firstBad).toMatchObject({ seq: 11, problem: "removed" });
  });
});
