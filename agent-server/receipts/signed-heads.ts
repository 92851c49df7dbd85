import { LancelotError } from "../contract/errors.ts";
import type { Log } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import { type PublicKey, signHead, type SignedHead } from "./signature.ts";
import type { KeyRing, KeptHead, SigningKeys } from "./signing-keys.ts";

/** A head is signed after so many new entries, or so many milliseconds after the first new one. */
const signEvery = { entries: 256, ms: 60_000 };
/** How often the key store is told the last signed head (ms): it may be the editor's, or a file that costs an fsync. */
const keepEvery = 300_000;
/** What the end of a host waits for the key store, at most (ms). */
const endTimeout = 1_500;
/** After the key store failed, it is asked again no sooner (ms). */
const retryAfter = 30_000;

/** What verification needs to know about signatures. */
export interface SignatureFacts {
  /** Keys whose signatures count. */
  keys: readonly PublicKey[];
  /** What the key store last heard; null when there is none, or none can be asked. */
  kept: KeptHead | null;
}

/** Signs the ledger's head now and then, off the path of an append. */
export interface HeadSigner {
  /** An append reached `seq`. Never waits, never throws. */
  noticed(seq: number): void;
  /** Signs the head as it is now, unless it is signed already. Null without a key store, and with nothing to sign. */
  sign(): Promise<SignedHead | null>;
  rotate(): Promise<string>;
  /** Why heads are not signed, for the owner; null when they are. */
  degraded(): string | null;
  facts(): Promise<SignatureFacts>;
  /** Signs what is new; returns after 1.5 seconds at the latest, or at once without new entries. */
  end(): Promise<void>;
}

const noKeyStore = "No key store is connected, so the receipts are not signed: a ledger rewritten as a whole would not be noticed.";

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
  let toldAt = 0;
  let askAgainAt = 0;
  let ended = false;

  const currentRing = async (): Promise<KeyRing | null> => {
    if (keys === null || ring !== null) return ring;
    try {
      ring = await keys.ring();
      problem = null;
    } catch (error) {
      askAgainAt = now() + retryAfter;
      problem = `The receipts are not signed: ${error instanceof LancelotError ? error.message : "the key store did not answer."}`;
      log("the ledger's key cannot be had", error);
    }
    return ring;
  };

  const tellKeyStore = async (signed: SignedHead, always: boolean): Promise<void> => {
    if (keys === null || (!always && now() - toldAt < keepEvery)) return;
    toldAt = now();
    try {
      await keys.keepHead({ seq: signed.seq, hash: signed.hash, at: signed.at });
    } catch (error) {
      log("the key store did not take the last signed head", error);
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
    await tellKeyStore(signed, always);
    return signed;
  };

  /** One at a time: a caller that comes meanwhile gets its own turn after it. */
  const sign = (always: boolean): Promise<SignedHead | null> => {
    const turn = (running ?? Promise.resolve(null)).catch(() => null).then(() => signNow(always));
    running = turn;
    return turn;
  };

  const signQuietly = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    sign(false).catch((error: unknown) => log("the ledger's head was not signed", error));
  };

  return {
    noticed: (seq) => {
      if (keys === null || ended || seq <= signedSeq || (ring === null && now() < askAgainAt)) return;
      if (seq - signedSeq >= signEvery.entries) {
        // Counted from here on, so that one turn is asked for and not one for each append until it comes.
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
        // What the key store knew before the ledger is read: a head that is signed meanwhile is no loss.
        const kept = await keys.keptHead();
        return { keys: (await keys.existing())?.trusted ?? inFolder, kept };
      } catch (error) {
        log("the key store cannot be asked; signatures are checked with the keys of the data folder", error);
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
      await Promise.race([sign(true).catch((error: unknown) => log("the ledger's last head was not signed", error)), over.promise]);
      clearTimeout(limit);
    },
  };
}
