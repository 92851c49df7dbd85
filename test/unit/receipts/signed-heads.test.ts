import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { keyIdOf, type SignedHead } from "../../../agent-server/receipts/signature.ts";
import { createHeadSigner, type HeadSigner } from "../../../agent-server/receipts/signed-heads.ts";
import { createSigningKeys, type KeptHead, type KeyRing, type SigningKeys } from "../../../agent-server/receipts/signing-keys.ts";
import { reservedSecrets } from "../../../agent-server/security/security.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { keyStore, LedgerFolder, opening, rows } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let storage: Storage;
let time: number;
let logged: string[];
const append = (count: number) => {
  // A host without a key store: it signs nothing by itself.
  const { ledger } = folder.host(() => time);
  for (let index = 0; index < count; index += 1) ledger.open(opening(`action ${index}`));
};
const heads = () =>
  storage.db.prepare<[], SignedHead>("SELECT seq, hash, at, key_id AS keyId, signature FROM ledger_signatures ORDER BY seq, at").all();

function ring(): KeyRing {
  const pair = generateKeyPairSync("ed25519");
  const publicKey = pair.publicKey.export({ format: "der", type: "spki" }).toString("base64");
  return { keyId: keyIdOf(publicKey), private: pair.privateKey, trusted: [{ keyId: keyIdOf(publicKey), publicKey }] };
}
/** Keys that are always there, and what they are told. */
function keysOf(more: Partial<SigningKeys> = {}) {
  const one = ring();
  const kept: KeptHead[] = [];
  let asked = 0;
  const keys: SigningKeys = {
    ring: () => {
      asked += 1;
      return Promise.resolve(one);
    },
    existing: () => Promise.resolve(one),
    rotate: () => Promise.resolve(ring()),
    keptHead: () => Promise.resolve(kept.at(-1) ?? null),
    keepHead: (head) => {
      kept.push(head);
      return Promise.resolve();
    },
    ...more,
  };
  return { keys, one, kept, asked: () => asked };
}
const signerOf = (keys: SigningKeys | null): HeadSigner =>
  createHeadSigner({ storage, ledgerId: "ledger", keys, now: () => time, log: (message) => logged.push(message) });

beforeEach(() => {
  folder = new LedgerFolder();
  time = Date.UTC(2026, 10, 21, 12);
  logged = [];
  ({ storage } = folder.host(() => time));
});
afterEach(() => {
  vi.useRealTimers();
  folder.remove();
});

describe("signing the head of the ledger", () => {
  it("signs what is there, once for each head and key", async () => {
    const { keys, one } = keysOf();
    const signer = signerOf(keys);
    expect(await signer.sign()).toBeNull();
    append(3);
    const signed = await signer.sign();
    expect(signed).toEqual({ seq: 3, hash: rows(storage)[2]?.hash, at: time, keyId: one.keyId, signature: expect.any(String) as string });
    time += 1;
    await signer.sign();
    expect(heads()).toEqual([signed]);
  });

  it("asks for its key once", async () => {
    const { keys, asked } = keysOf();
    const signer = signerOf(keys);
    append(1);
    await signer.sign();
    append(1);
    await signer.sign();
    expect(asked()).toBe(1);
  });

  it("does so in turn, each caller after the one before it", async () => {
    let running = 0;
    const { keys } = keysOf({
      keepHead: async () => {
        running += 1;
        expect(running).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
      },
    });
    const signer = signerOf(keys);
    append(1);
    const all = await Promise.all([signer.sign(), signer.sign(), signer.sign()]);
    expect(all.map((signed) => signed?.seq)).toEqual([1, 1, 1]);
  });

  it("continues after one that failed", async () => {
    let fail = true;
    const { keys, one } = keysOf({
      ring: () => (fail ? Promise.reject(new LancelotError("unavailable", "Locked.")) : Promise.resolve(one)),
    });
    const signer = signerOf(keys);
    append(1);
    expect(await signer.sign()).toBeNull();
    expect(signer.degraded()).toBe("The receipts are not signed: Locked.");
    expect(logged).toEqual(["could not read the ledger's signing key"]);
    fail = false;
    expect((await signer.sign())?.seq).toBe(1);
    expect(signer.degraded()).toBeNull();
  });

  it("says no more than that of a key store that fails in other words", async () => {
    const { keys } = keysOf({ ring: () => Promise.reject(new Error("EACCES /home/somebody")) });
    const signer = signerOf(keys);
    append(1);
    await signer.sign();
    expect(signer.degraded()).toBe("The receipts are not signed: the key store did not answer.");
  });

  it("tells the key store at once when it is asked to sign, else every five minutes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { keys, kept } = keysOf();
    const signer = signerOf(keys);
    append(1);
    await signer.sign();
    append(1);
    await signer.sign();
    expect(kept.map(({ seq }) => seq)).toEqual([1, 2]);
    const byItself = async (seq: number) => {
      append(seq - (rows(storage).at(-1)?.seq ?? 0));
      signer.onAppend(seq);
      await vi.advanceTimersByTimeAsync(60_000);
      await vi.waitFor(() => expect(heads().at(-1)?.seq).toBe(seq));
    };
    time += 299_999;
    await byItself(3);
    expect(kept).toHaveLength(2);
    time += 1;
    await byItself(4);
    await vi.waitFor(() => expect(kept.map(({ seq }) => seq)).toEqual([1, 2, 4]));
    expect(kept.at(-1)).toEqual({ seq: 4, hash: rows(storage)[3]?.hash, at: time });
  });

  it("signs all the same when the key store does not take the head", async () => {
    const { keys } = keysOf({ keepHead: () => Promise.reject(new Error("full")) });
    const signer = signerOf(keys);
    append(1);
    expect((await signer.sign())?.seq).toBe(1);
    expect(logged).toEqual(["could not store the last signed head in the key store"]);
  });

  it("logs what keeps a head from being written, when nobody waits for it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { keys } = keysOf();
    const signer = signerOf(keys);
    append(1);
    storage.db.exec("DROP TABLE ledger_signatures");
    signer.onAppend(1);
    await vi.advanceTimersByTimeAsync(60_000);
    await vi.waitFor(() => expect(logged).toEqual(["could not sign the ledger's head"]));
  });

  it("is nothing once the database is closed", async () => {
    const { keys } = keysOf();
    const signer = signerOf(keys);
    append(1);
    storage.close();
    expect(await signer.sign()).toBeNull();
    await signer.end();
  });
});

describe("when a head is signed by itself", () => {
  const still = (keys: SigningKeys | null) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate"] });
    const signer = signerOf(keys);
    return { signer, waiting: () => vi.getTimerCount() };
  };

  it("is a minute after the first entry that is not signed, counted once", async () => {
    const { keys } = keysOf();
    const { signer, waiting } = still(keys);
    const idle = waiting();
    append(3);
    const before = waiting();
    signer.onAppend(1);
    expect(waiting()).toBe(before + 1);
    signer.onAppend(2);
    signer.onAppend(3);
    expect(waiting()).toBe(before + 1);
    expect(idle).toBeLessThanOrEqual(before);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(heads()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(heads().map(({ seq }) => seq)).toEqual([3]);
  });

  it("is at once after 256 entries, and again after 256 more", async () => {
    const { keys, asked } = keysOf();
    const { signer } = still(keys);
    append(520);
    signer.onAppend(255);
    await vi.advanceTimersByTimeAsync(0);
    expect(heads()).toEqual([]);
    signer.onAppend(256);
    signer.onAppend(300);
    await vi.advanceTimersByTimeAsync(0);
    expect(heads().map(({ seq }) => seq)).toEqual([520]);
    // What was signed with more than was noticed is not signed again for it.
    signer.onAppend(520);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(asked()).toBe(1);
    expect(heads()).toHaveLength(1);
  });

  it("is not while the key store failed less than half a minute ago", async () => {
    let fail = true;
    let asked = 0;
    const { keys, one } = keysOf({
      ring: () => {
        asked += 1;
        return fail ? Promise.reject(new Error("locked")) : Promise.resolve(one);
      },
    });
    const { signer } = still(keys);
    append(2);
    signer.onAppend(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toBe(1);
    fail = false;
    time += 29_999;
    signer.onAppend(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toBe(1);
    time += 1;
    signer.onAppend(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toBe(2);
    expect(heads().map(({ seq }) => seq)).toEqual([2]);
  });

  it("is never without a key store, nor after the end", async () => {
    const { signer, waiting } = still(null);
    append(1);
    const before = waiting();
    signer.onAppend(1);
    signer.onAppend(1_000);
    expect(waiting()).toBe(before);
    const { keys } = keysOf();
    const other = signerOf(keys);
    await other.end();
    const idle = waiting();
    other.onAppend(1_000);
    expect(waiting()).toBe(idle);
  });

  it("is what a host knows was signed before it", () => {
    const { keys } = keysOf();
    append(2);
    storage.db.prepare("INSERT INTO ledger_signatures (seq, hash, at, key_id, signature) VALUES (2, 'h', 1, 'k', 's')").run();
    const { signer, waiting } = still(keys);
    const idle = waiting();
    signer.onAppend(2);
    expect(waiting()).toBe(idle);
    signer.onAppend(3);
    expect(waiting()).toBe(idle + 1);
  });
});

describe("the end of a host", () => {
  it("signs what is new, and clears what waits", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { keys, asked } = keysOf();
    const signer = signerOf(keys);
    const idle = vi.getTimerCount();
    await signer.end();
    expect(asked()).toBe(0);
    append(1);
    const second = signerOf(keys);
    const before = vi.getTimerCount();
    second.onAppend(1);
    expect(vi.getTimerCount()).toBe(before + 1);
    await second.end();
    expect(vi.getTimerCount()).toBe(before);
    expect(heads().map(({ seq }) => seq)).toEqual([1]);
    expect(idle).toBeLessThanOrEqual(before);
    await signerOf(keys).end();
    expect(asked()).toBe(1);
  });

  it("waits a second and a half for the key store, and logs what fails", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { keys } = keysOf({ ring: () => new Promise<never>(() => undefined) });
    append(1);
    const signer = signerOf(keys);
    let ended = false;
    const ending = signer.end().then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(1_499);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await ending;
    expect(ended).toBe(true);
    const other = signerOf(keysOf().keys);
    storage.db.exec("ALTER TABLE ledger_signatures RENAME COLUMN signature TO away");
    await other.end();
    expect(logged).toEqual(["could not sign the ledger's last head"]);
  });
});

describe("another key", () => {
  it("signs at once, and from then on", async () => {
    const next = ring();
    const { keys, one } = keysOf({ rotate: () => Promise.resolve(next) });
    const signer = signerOf(keys);
    append(1);
    await signer.sign();
    time += 1;
    expect(await signer.rotate()).toBe(next.keyId);
    append(1);
    await signer.sign();
    expect(heads().map(({ seq, keyId }) => [seq, keyId])).toEqual([
      [1, one.keyId],
      [1, next.keyId],
      [2, next.keyId],
    ]);
    expect(signer.degraded()).toBeNull();
  });

  it("ends what was wrong with the one before, and cannot be had without a key store", async () => {
    const next = ring();
    const { keys } = keysOf({ ring: () => Promise.reject(new Error("lost")), rotate: () => Promise.resolve(next) });
    const signer = signerOf(keys);
    append(1);
    await signer.sign();
    expect(signer.degraded()).not.toBeNull();
    await signer.rotate();
    expect(signer.degraded()).toBeNull();
    const messageOf = "No key store is connected, so the receipts are not signed: a complete rewrite of the ledger would not be detected.";
    await expect(signerOf(null).rotate()).rejects.toMatchObject({ code: "unavailable", message: messageOf });
    expect(signerOf(null).degraded()).toBe(messageOf);
  });
});

describe("verification options", () => {
  const published = (keyId: string) => storage.db.prepare("INSERT INTO ledger_keys (key_id, public_key, at) VALUES (?, 'p', 1)").run(keyId);

  it("are the keys of the key store, or of the folder where there are none", async () => {
    const { keys, one } = keysOf();
    published("in the folder");
    expect(await signerOf(null).facts()).toEqual({ keys: [{ keyId: "in the folder", publicKey: "p" }], kept: null });
    const signer = signerOf(keys);
    expect(await signer.facts()).toEqual({ keys: one.trusted, kept: null });
    append(1);
    await signer.sign();
    expect((await signer.facts()).kept).toMatchObject({ seq: 1 });
    expect(await signerOf({ ...keys, existing: () => Promise.resolve(null) }).facts()).toMatchObject({
      keys: [{ keyId: "in the folder", publicKey: "p" }],
      kept: { seq: 1 },
    });
    expect(await signerOf({ ...keys, keptHead: () => Promise.reject(new Error("locked")) }).facts()).toEqual({
      keys: [{ keyId: "in the folder", publicKey: "p" }],
      kept: null,
    });
    expect(logged).toEqual(["key store unavailable; checking signatures with the keys in the data folder"]);
  });
});

describe("the keys in the key store", () => {
  const keysIn = (store: ReturnType<typeof keyStore>, ledgerId = "ledger", at = storage) =>
    createSigningKeys({ secrets: store, storage: at, ledgerId, now: () => time });
  const stored = (store: ReturnType<typeof keyStore>) =>
    JSON.parse(store.entries.get(reservedSecrets.ledgerKey) ?? "{}") as {
      v: number;
      private: string;
      keys: { keyId: string; at: number }[];
    };
  const folderKeys = () => storage.db.prepare("SELECT key_id, at FROM ledger_keys ORDER BY at").raw().all();

  it("are made at the first call, and found from then on", async () => {
    const store = keyStore();
    const keys = keysIn(store);
    expect(await keys.existing()).toBeNull();
    const made = await keys.ring();
    expect(stored(store)).toMatchObject({ v: 1, keys: [{ keyId: made?.keyId, at: time }] });
    expect(folderKeys()).toEqual([[made?.keyId, time]]);
    time += 1;
    for (const again of [await keys.existing(), await keys.ring(), await keysIn(store, "another").ring()]) {
      expect(again).toMatchObject({ keyId: made?.keyId, trusted: made?.trusted });
      expect(again?.private.equals(made?.private as never)).toBe(true);
    }
  });

  it("are rotated, the ones before kept to verify with, without their private parts", async () => {
    const store = keyStore();
    const keys = keysIn(store);
    const first = await keys.ring();
    const secret = stored(store).private;
    time += 5;
    const second = await keys.rotate();
    expect(second.keyId).not.toBe(first?.keyId);
    expect(second.trusted.map(({ keyId }) => keyId)).toEqual([first?.keyId, second.keyId]);
    expect(folderKeys()).toEqual([
      [first?.keyId, time - 5],
      [second.keyId, time],
    ]);
    expect(store.entries.get(reservedSecrets.ledgerKey)).not.toContain(secret);
    // Also where the key store was emptied meanwhile.
    store.entries.clear();
    const third = await keys.rotate();
    expect(third.trusted.map(({ keyId }) => keyId)).toEqual([first?.keyId, second.keyId, third.keyId]);
    store.entries.clear();
    const fourth = await keys.ring();
    expect(fourth?.trusted).toHaveLength(4);
  });

  it("are one host's to make at a time", async () => {
    const store = keyStore();
    const other = folder.host(() => time).storage;
    const lease = "INSERT INTO leases (name, host_id, until) VALUES ('key store', ?, ?)";
    storage.db.prepare(lease).run(other.hostId, time + 20_000);
    const keys = keysIn(store);
    expect(await keys.ring()).toBeNull();
    await expect(keys.rotate()).rejects.toMatchObject({
      code: "conflict",
      message: "Another window is changing the ledger's signing key. Try again.",
    });
    await keys.keepHead({ seq: 1, hash: "h", at: 1 });
    expect(store.entries.size).toBe(0);
    time += 20_000;
    expect(await keys.ring()).not.toBeNull();
    expect(storage.db.prepare("SELECT count(*) FROM leases").pluck().get()).toBe(0);
  });

  it("remember the last head of each ledger, never an earlier one", async () => {
    const store = keyStore();
    const [one, other] = [keysIn(store, "one"), keysIn(store, "other")];
    expect(await one.keptHead()).toBeNull();
    await one.keepHead({ seq: 5, hash: "h5", at: 50 });
    await other.keepHead({ seq: 2, hash: "h2", at: 20 });
    await one.keepHead({ seq: 5, hash: "again", at: 60 });
    await one.keepHead({ seq: 4, hash: "h4", at: 70 });
    expect(await one.keptHead()).toEqual({ seq: 5, hash: "h5", at: 50 });
    expect(await other.keptHead()).toEqual({ seq: 2, hash: "h2", at: 20 });
    expect(await keysIn(store, "third").keptHead()).toBeNull();
    await one.keepHead({ seq: 6, hash: "h6", at: 80 });
    expect(JSON.parse(store.entries.get(reservedSecrets.ledgerHeads) ?? "")).toEqual({
      v: 1,
      ledgers: { one: { seq: 6, hash: "h6", at: 80 }, other: { seq: 2, hash: "h2", at: 20 } },
    });
  });

  it.each(["no JSON", "{}", '{"v":2}'])("that cannot be read are said by their name alone: %s", async (text) => {
    const store = keyStore(
      new Map([
        [reservedSecrets.ledgerKey, text],
        [reservedSecrets.ledgerHeads, text],
      ]),
    );
    const keys = keysIn(store);
    const messageOf = (name: string): Record<string, unknown> => ({
      code: "unavailable",
      message: `The key store entry ${name} cannot be parsed, so the receipts are not signed.`,
    });
    await expect(keys.ring()).rejects.toMatchObject(messageOf(reservedSecrets.ledgerKey));
    await expect(keys.keptHead()).rejects.toMatchObject(messageOf(reservedSecrets.ledgerHeads));
    await expect(keys.keepHead({ seq: 1, hash: "h", at: 1 })).rejects.toMatchObject(messageOf(reservedSecrets.ledgerHeads));
    expect(store.entries.get(reservedSecrets.ledgerHeads)).toBe(text);
  });

  it("are nobody's to make once the data folder is closed", async () => {
    const store = keyStore();
    const keys = keysIn(store);
    await keys.ring();
    storage.close();
    expect(await keys.existing()).not.toBeNull();
    await keys.keepHead({ seq: 1, hash: "h", at: 1 });
    expect(store.entries.has(reservedSecrets.ledgerHeads)).toBe(false);
  });
});
