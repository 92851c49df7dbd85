import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/** A signed statement of the ledger's last entry at a point in time. */
export interface SignedHead {
  seq: number;
  hash: string;
  /** Milliseconds since 1970. */
  at: number;
  keyId: string;
  /** Ed25519, base64. */
  signature: string;
}

export interface PublicKey {
  keyId: string;
  /** SPKI, DER, base64. */
  publicKey: string;
}

/** The signed bytes. They include the ledger's id, so that a signature is valid for one ledger only. */
function statement(ledgerId: string, head: Pick<SignedHead, "seq" | "hash" | "at">): Buffer {
  return Buffer.from(`lancelot ledger head v1\n${ledgerId}\n${head.seq}\n${head.hash}\n${head.at}\n`, "utf8");
}

/** Signs a head with an Ed25519 key. */
export function signHead(
  ledgerId: string,
  head: Pick<SignedHead, "seq" | "hash" | "at">,
  key: { keyId: string; private: KeyObject },
): SignedHead {
  const { seq, hash, at } = head;
  return { seq, hash, at, keyId: key.keyId, signature: sign(null, statement(ledgerId, head), key.private).toString("base64") };
}

/** A key's id: the first 16 hex digits of the SHA-256 of its DER encoding. */
export function keyIdOf(publicKey: string): string {
  return createHash("sha256").update(Buffer.from(publicKey, "base64")).digest("hex").slice(0, 16);
}

/** Checks signatures with a set of public keys; ignores keys whose id does not match. */
export interface SignatureChecker {
  /** `unknown`: there is no key with that id; `forged`: the key did not produce the signature. */
  check(head: SignedHead): "good" | "unknown" | "forged";
}

export function createSignatureChecker(ledgerId: string, keys: readonly PublicKey[]): SignatureChecker {
  const known = new Map<string, KeyObject>();
  for (const { keyId, publicKey } of keys) {
    const key = readPublicKey(publicKey);
    if (key !== null && keyIdOf(publicKey) === keyId) known.set(keyId, key);
  }
  return {
    check: (head) => {
      const key = known.get(head.keyId);
      if (key === undefined) return "unknown";
      const signature = Buffer.from(head.signature, "base64");
      // Several base64 texts decode to the same bytes; only the canonical one is accepted.
      if (signature.toString("base64") !== head.signature) return "forged";
      return verify(null, statement(ledgerId, head), key, signature) ? "good" : "forged";
    },
  };
}

function readPublicKey(publicKey: string): KeyObject | null {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" });
    return key.asymmetricKeyType === "ed25519" ? key : null;
  } catch {
    return null;
  }
}
