import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import { reservedSecrets, type Secrets } from "../security/security.ts";
import { createLease, type Storage } from "../storage/storage.ts";
import { keyIdOf, type PublicKey } from "./signature.ts";

const StoredRing = z.object({
  v: z.literal(1),
  /** Current signing key (PKCS #8, DER, base64). Previous private keys are not kept. */
  private: z.base64(),
  /** Public keys that verify this owner's signatures; the last is current. */
  keys: z.array(z.object({ keyId: z.string(), publicKey: z.base64(), at: z.number() })).min(1),
});
type StoredRing = z.infer<typeof StoredRing>;

const KeptHead = z.object({ seq: z.int(), hash: z.string(), at: z.number() });
/** A signed head in the key store. */
export type KeptHead = z.infer<typeof KeptHead>;
const StoredHeads = z.object({ v: z.literal(1), ledgers: z.record(z.string(), KeptHead) });

export interface KeyRing {
  keyId: string;
  private: KeyObject;
  /** All trusted keys; the last is current. */
  trusted: PublicKey[];
}

/** The signing key in the key store. All methods throw `unavailable` when the key store cannot be read. */
export interface SigningKeys {
  /** Returns the key ring, created on the first call; null while another host is creating it. */
  ring(): Promise<KeyRing | null>;
  /** Returns the key ring if it exists. */
  existing(): Promise<KeyRing | null>;
  /** Creates a new signing key; previous public keys are kept for verification. */
  rotate(): Promise<KeyRing>;
  keptHead(): Promise<KeptHead | null>;
  /** Stores a head unless a later one is stored. */
  keepHead(head: KeptHead): Promise<void>;
}

/** Milliseconds after which another host may take over creating a key or storing a head. */
const leaseMs = 20_000;

export function createSigningKeys(deps: { secrets: Secrets; storage: Storage; ledgerId: string; now: () => number }): SigningKeys {
  const { secrets, storage, ledgerId, now } = deps;
  const lease = createLease({ storage, name: "key store", now });
  const publish = storage.db.prepare("INSERT INTO ledger_keys (key_id, public_key, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  const published = storage.db.prepare<[], { keyId: string; publicKey: string; at: number }>(
    "SELECT key_id AS keyId, public_key AS publicKey, at FROM ledger_keys ORDER BY at",
  );

  const read = async (): Promise<StoredRing | null> => {
    const text = await secrets.get(reservedSecrets.ledgerKey);
    return text === null ? null : parseStored(StoredRing, text, reservedSecrets.ledgerKey);
  };

  const write = async (before: StoredRing["keys"]): Promise<StoredRing> => {
    const pair = generateKeyPairSync("ed25519");
    const publicKey = pair.publicKey.export({ format: "der", type: "spki" }).toString("base64");
    const ring: StoredRing = {
      v: 1,
      private: pair.privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
      keys: [...before, { keyId: keyIdOf(publicKey), publicKey, at: now() }],
    };
    await secrets.set(reservedSecrets.ledgerKey, JSON.stringify(ring));
    return ring;
  };

  /** Also copies the public keys to the database, so that exports can be verified elsewhere. */
  const use = (ring: StoredRing): KeyRing => {
    if (storage.db.open) storage.transaction(() => ring.keys.forEach((key) => publish.run(key.keyId, key.publicKey, key.at)));
    return {
      keyId: ring.keys.at(-1)?.keyId ?? "",
      private: createPrivateKey({ key: Buffer.from(ring.private, "base64"), format: "der", type: "pkcs8" }),
      trusted: ring.keys.map(({ keyId, publicKey }) => ({ keyId, publicKey })),
    };
  };

  const withLease = async <T>(work: () => Promise<T>): Promise<T | null> => {
    if (!storage.db.open || !lease.take(leaseMs)) return null;
    try {
      return await work();
    } finally {
      lease.release();
    }
  };

  const existing = async (): Promise<KeyRing | null> => {
    const ring = await read();
    return ring === null ? null : use(ring);
  };

  return {
    existing,
    ring: async () => {
      const found = await existing();
      if (found !== null) return found;
      // If the key store lost its key, signatures made with the published keys remain verifiable.
      return withLease(async () => use((await read()) ?? (await write(published.all()))));
    },
    rotate: async () => {
      const ring = await withLease(async () => use(await write((await read())?.keys ?? published.all())));
      if (ring === null) throw new LancelotError("conflict", "Another window is changing the ledger's signing key. Try again.");
      return ring;
    },
    keptHead: async () => {
      const text = await secrets.get(reservedSecrets.ledgerHeads);
      return text === null ? null : (parseStored(StoredHeads, text, reservedSecrets.ledgerHeads).ledgers[ledgerId] ?? null);
    },
    keepHead: async (head) => {
      await withLease(async () => {
        const text = await secrets.get(reservedSecrets.ledgerHeads);
        const ledgers = text === null ? {} : parseStored(StoredHeads, text, reservedSecrets.ledgerHeads).ledgers;
        const kept: KeptHead | undefined = ledgers[ledgerId];
        if (kept !== undefined && kept.seq >= head.seq) return;
        await secrets.set(reservedSecrets.ledgerHeads, JSON.stringify({ v: 1, ledgers: { ...ledgers, [ledgerId]: head } }));
      });
    },
  };
}

function parseStored<T>(schema: z.ZodType<T>, text: string, name: string): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    // The cause is omitted because it may quote the key.
    throw new LancelotError("unavailable", `The key store entry ${name} cannot be parsed, so the receipts are not signed.`);
  }
}
