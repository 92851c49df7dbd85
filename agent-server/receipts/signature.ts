import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/** A head of the ledger under a signature: what the ledger's end was at a moment, in words that a key stands for. */
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

/** What is signed. It names the ledger, so that a signature of one ledger says nothing about another. */
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

/** A key's name: the first 16 hex digits of SHA-256 over its DER. */
export function keyIdOf(publicKey: string): string {
  return createHash("sha256").update(Buffer.from(publicKey, "base64")).digest("hex").slice(0, 16);
}

/** Checks signatures with a set of public keys; one whose name is not its own is left out. */
export interface SignatureChecker {
  /** `unknown`: no key of that name is known; `forged`: the key did not sign this. */
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
      // Base64 has several spellings of the same bytes; the ledger writes one.
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
