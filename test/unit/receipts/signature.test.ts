import { createHash, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createSignatureChecker, keyIdOf, signHead } from "../../../agent-server/receipts/signature.ts";
import { createSignatureWalk } from "../../../agent-server/receipts/signature-walk.ts";

function newKey(type: "ed25519" | "ed448" = "ed25519") {
  const pair = generateKeyPairSync(type as "ed25519");
  const publicKey = pair.publicKey.export({ format: "der", type: "spki" }).toString("base64");
  return { keyId: keyIdOf(publicKey), publicKey, private: pair.privateKey };
}
const key = newKey();
const head = { seq: 12, hash: "ab".repeat(32), at: 1_700_000_000_000 };
const signed = signHead("ledger", head, key);

describe("a signature", () => {
  it("is Ed25519 over the text that the export's format names, so that anyone can check it", () => {
    const text = `lancelot ledger head v1\nledger\n12\n${head.hash}\n1700000000000\n`;
    const publicKey = createPublicKey({ key: Buffer.from(key.publicKey, "base64"), format: "der", type: "spki" });
    expect(verify(null, Buffer.from(text), publicKey, Buffer.from(signed.signature, "base64"))).toBe(true);
    expect(signed).toMatchObject({ ...head, keyId: key.keyId });
  });

  it("names its key by the start of SHA-256 over its DER", () => {
    const der = Buffer.from(key.publicKey, "base64");
    expect(key.keyId).toBe(createHash("sha256").update(der).digest("hex").slice(0, 16));
  });

  it("is good for what was signed, with the key that signed it", () => {
    expect(createSignatureChecker("ledger", [newKey(), key]).check(signed)).toBe("good");
  });

  it.each([
    ["another place", { ...signed, seq: 13 }],
    ["another hash", { ...signed, hash: "cd".repeat(32) }],
    ["another time", { ...signed, at: head.at + 1 }],
    ["another signature", { ...signed, signature: Buffer.alloc(64).toString("base64") }],
    ["no signature", { ...signed, signature: "" }],
  ])("is forged for %s", (_, changed) => {
    expect(createSignatureChecker("ledger", [key]).check(changed)).toBe("forged");
  });

  it("is forged in another ledger", () => {
    expect(createSignatureChecker("other", [key]).check(signed)).toBe("forged");
  });

  const other = newKey();
  const foreign = newKey("ed448");
  it.each([
    ["none is known", []],
    ["another is known", [other]],
    ["another bears its name", [{ keyId: key.keyId, publicKey: other.publicKey }]],
    ["it bears another name", [{ keyId: other.keyId, publicKey: key.publicKey }]],
    ["it cannot be read", [{ keyId: key.keyId, publicKey: "AAAA" }]],
    ["what bears its name can be read as nothing", [{ keyId: keyIdOf(""), publicKey: "" }]],
  ])("is of an unknown key when %s", (_, keys) => {
    expect(createSignatureChecker("ledger", keys).check(signed)).toBe("unknown");
  });

  it("counts only from keys of its kind", () => {
    const by = signHead("ledger", head, foreign);
    expect(createSignatureChecker("ledger", [foreign]).check(by)).toBe("unknown");
    expect(
      createSignatureChecker("ledger", [{ keyId: keyIdOf("AAAA"), publicKey: "AAAA" }]).check({ ...signed, keyId: keyIdOf("AAAA") }),
    ).toBe("unknown");
  });
});

describe("a walk over the signed heads", () => {
  const checker = createSignatureChecker("ledger", [key]);
  const at = (seq: number, when = head.at) => signHead("ledger", { seq, hash: `hash ${seq}`, at: when }, key);

  it("passes on what fits", () => {
    const walk = createSignatureWalk([at(2), at(4)], checker, null);
    for (let seq = 1; seq <= 5; seq += 1) expect(walk.pass(seq, `hash ${seq}`, null)).toBeNull();
    expect(walk.finish()).toBeNull();
    expect(walk.result()).toEqual({ seq: 4, at: new Date(head.at).toISOString(), keyId: key.keyId, heads: 2 });
  });

  it("checks every signature of one entry", () => {
    const walk = createSignatureWalk([at(1), { ...at(1), signature: "AAAA" }], checker, null);
    expect(walk.pass(1, "hash 1", "r")).toMatchObject({ seq: 1, receiptId: "r", problem: "signature" });
  });

  it("compares with what the key store kept at the very entry", () => {
    const walk = createSignatureWalk([], checker, { seq: 2, hash: "hash 2", at: head.at });
    expect(walk.pass(1, "hash 1", null)).toBeNull();
    expect(walk.pass(2, "another", "r")).toMatchObject({
      seq: 2,
      receiptId: "r",
      problem: "signature",
      message: expect.stringContaining(new Date(head.at).toISOString()) as string,
    });
  });

  it.each([
    ["the key store's is later", 9, head.at + 5_000, 8, head.at, 9, head.at + 5_000],
    ["the signature's is later", 8, head.at, 9, head.at + 5_000, 9, head.at + 5_000],
  ])("names the latest that is known of what is gone: %s", (_, keptSeq, keptAt, signedSeq, signedAt, known, when) => {
    const walk = createSignatureWalk([at(signedSeq, signedAt)], checker, { seq: keptSeq, hash: `hash ${keptSeq}`, at: keptAt });
    walk.pass(1, "hash 1", null);
    expect(walk.finish()).toMatchObject({ seq: 2, receiptId: null, problem: "removed" });
    expect(walk.finish()?.message).toContain(`had ${known} entries when it was signed on ${new Date(when).toISOString()}`);
  });
});
