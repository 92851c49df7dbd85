import { LancelotError } from "../contract/errors.ts";
import type { Log } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import { type PublicKey, signHead, type SignedHead } from "./signature.ts";
import type { KeyRing, KeptHead, SigningKeys } from "./signing-keys.ts";

/** Heads are signed after this many new entries, or this many milliseconds after the first of them. */
const signEvery = { entries: 256, ms: 60_000 };
/** Minimum interval (ms) between updates of the head in the key store, which may need an fsync or a call to the editor. */
const keepEvery = 300_000;
/** Maximum time (ms) that shutdown waits for the key store. */
const endTimeout = 1_500;
/** Minimum delay (ms) before a failed key store is tried again. */
const retryAfter = 30_000;

/** Keys and heads that verification checks signatures with. */
export interface SignatureFacts {
  /** Trusted keys. */
  keys: readonly PublicKey[];
  /** Latest head in the key store; null when there is none or the key store is unavailable. */
  kept: KeptHead | null;
}

/** Signs the ledger's head periodically, outside the append path. */
export interface HeadSigner {
  /** Call after an append that reached `seq`. Never waits, never throws. */
  onAppend(seq: number): void;
  /** Signs the current head. Returns null without a key store or with nothing to sign. */
  sign(): Promise<SignedHead | null>;
  rotate(): Promise<string>;
  /** User-facing reason why heads are not signed; null when they are. */
  degraded(): string | null;
  facts(): Promise<SignatureFacts>;
  /** Signs new entries. Returns after at most 1.5 seconds, or immediately without new entries. */
  end(): Promise<void>;
}

const noKeyStore = "No key store is connected, so the receipts are not signed: a complete rewrite of the ledger would not be detected.";

export function createHeadSigner(deps: {
  storage: Storage;
  ledgerId: string;
  /** Null without a key store. */
  keys: SigningKeys | null;
  now: () => number;
  log: Log;
}): HeadSigner {
  const { storage, ledgerId, keys, now, log } = deps;
  const { db } = storage;
  const head = db.prepare<[], { seq: number; hash: string }>("SELECT seq, hash FROM ledger_head");
  const lastSigned = db.prepare<[], number | null>("SELECT max(seq) FROM ledger_signatures").pluck();
  const insert = db.prepare(
    "INSERT INTO ledger_signatures (seq, hash, at, key_id, signature) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const publicKeys = db.prepare<[], PublicKey>("SELECT key_id AS keyId, public_key AS publicKey FROM ledger_keys");

  let ring: KeyRing | null = null;
  let problem: string | null = keys === null ? noKeyStore : null;
  let signedSeq = lastSigned.get() ?? 0;
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<SignedHead | null> | null = null;
  let keptAt = 0;
  let retryAt = 0;
  let ended = false;

  const currentRing = async (): Promise<KeyRing | null> => {
    if (keys === null || ring !== null) return ring;
    try {
      ring = await keys.ring();
      problem = null;
    } catch (error) {
      retryAt = now() + retryAfter;
      problem = `The receipts are not signed: ${error instanceof LancelotError ? error.message : "the key store did not answer."}`;
      log("could not read the ledger's signing key", error);
    }
    return ring;
  };

  const updateKeyStore = async (signed: SignedHead, always: boolean): Promise<void> => {
    if (keys === null || (!always && now() - keptAt < keepEvery)) return;
    keptAt = now();
    try {
      await keys.keepHead({ seq: signed.seq, hash: signed.hash, at: signed.at });
    } catch (error) {
      log("could not store the last signed head in the key store", error);
    }
  };

  const signNow = async (always: boolean): Promise<SignedHead | null> => {
    const key = await currentRing();
    if (key === null || !db.open) return null;
    const at = head.get();
    if (at === undefined || at.seq === 0) return null;
    const signed = signHead(ledgerId, { ...at, at: now() }, key);
    storage.transaction(() => insert.run(signed.seq, signed.hash, signed.at, signed.keyId, signed.signature));
    signedSeq = Math.max(signedSeq, signed.seq);
    await updateKeyStore(signed, always);
    return signed;
  };

  /** Signs one head at a time; concurrent calls are queued. */
  const sign = (always: boolean): Promise<SignedHead | null> => {
    const turn = (running ?? Promise.resolve(null)).catch(() => null).then(() => signNow(always));
    running = turn;
    return turn;
  };

  const signQuietly = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    deps.storage
      .whenWritable()
      .then(() => sign(false))
      .catch((error: unknown) => log("could not sign the ledger's head", error));
  };

  return {
    onAppend: (seq) => {
      if (keys === null || ended || seq <= signedSeq || (ring === null && now() < retryAt)) return;
      if (seq - signedSeq >= signEvery.entries) {
        // Counting restarts here, so that only one signing is scheduled for many appends.
        signedSeq = seq;
        setImmediate(signQuietly);
      } else timer ??= setTimeout(signQuietly, signEvery.ms).unref();
    },
    sign: () => sign(true),
    rotate: async () => {
      if (keys === null) throw new LancelotError("unavailable", noKeyStore);
      ring = await keys.rotate();
      problem = null;
      await sign(true);
      return ring.keyId;
    },
    degraded: () => problem,
    facts: async () => {
      const inFolder = publicKeys.all();
      if (keys === null) return { keys: inFolder, kept: null };
      try {
        // Read before the ledger: a head that is signed in the meantime need not be checked.
        const kept = await keys.keptHead();
        return { keys: (await keys.existing())?.trusted ?? inFolder, kept };
      } catch (error) {
        log("key store unavailable; checking signatures with the keys in the data folder", error);
        return { keys: inFolder, kept: null };
      }
    },
    end: async () => {
      ended = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
      if (keys === null || !db.open || (head.get()?.seq ?? 0) <= (lastSigned.get() ?? 0)) return;
      const over = Promise.withResolvers<null>();
      const limit = setTimeout(() => over.resolve(null), endTimeout);
      await Promise.race([sign(true).catch((error: unknown) => log("could not sign the ledger's last head", error)), over.promise]);
      clearTimeout(limit);
    },
  };
}
