import type { Verification } from "../contract/receipts.ts";
import { problemAt, type Problem } from "./diagnose.ts";
import type { SignatureChecker, SignedHead } from "./signature.ts";
import type { KeptHead } from "./signing-keys.ts";

/** Checks the signed heads while a verification passes the entries in order. */
export interface SignatureWalk {
  /** The entry `seq` has this hash. Names what does not fit a signature. */
  pass(seq: number, hash: string, receiptId: string | null): Problem | null;
  /** A head that came with its entry, whose hash is `hash`. */
  add(head: SignedHead, hash: string): Problem | null;
  /** After the last entry. */
  finish(): Problem | null;
  result(): Verification["signed"];
}

/** @param heads the signed heads, by `seq`; @param kept what the key store remembers of this ledger */
export function createSignatureWalk(heads: readonly SignedHead[], checker: SignatureChecker, kept: KeptHead | null): SignatureWalk {
  let next = 0;
  let checked = 0;
  let last: SignedHead | null = null;
  let passed = 0;

  const judge = (head: SignedHead, hash: string, receiptId: string | null): Problem | null => {
    const found = checker.check(head);
    const bad = (what: string): Problem => problemAt(head.seq, receiptId, "signature", what);
    if (found === "unknown") return bad(`was signed with a key (${head.keyId}) that is not the owner's`);
    if (found === "forged") return bad(`has a signature that its key (${head.keyId}) did not make`);
    if (head.hash !== hash) return bad(rewritten(head));
    checked += 1;
    last = head;
    return null;
  };

  const rewritten = (head: Pick<SignedHead, "at">): string => {
    const from = last === null ? "from its beginning on" : `after entry ${last.seq}`;
    return `is not the one that was signed on ${new Date(head.at).toISOString()}: the ledger was written anew somewhere ${from}`;
  };

  return {
    pass: (seq, hash, receiptId) => {
      passed = seq;
      for (let head = heads[next]; head !== undefined && head.seq <= seq; head = heads[next]) {
        next += 1;
        const problem = judge(head, hash, receiptId);
        if (problem !== null) return problem;
      }
      return kept?.seq === seq && kept.hash !== hash ? problemAt(seq, receiptId, "signature", rewritten(kept)) : null;
    },
    add: (head, hash) => judge(head, hash, null),
    finish: () => {
      const later = heads[next];
      const known = Math.max(kept?.seq ?? 0, later?.seq ?? 0);
      if (known > passed) {
        const signed = new Date(Math.max(kept?.at ?? 0, later?.at ?? 0)).toISOString();
        return problemAt(
          passed + 1,
          null,
          "removed",
          `is missing: the ledger had ${known} entries when it was signed on ${signed}, and an older copy of it is in its place`,
        );
      }
      if (kept !== null && (last === null || last.seq < kept.seq))
        return problemAt(kept.seq, null, "signature", "was signed, and its signature is gone");
      return null;
    },
    result: () => (last === null ? null : { seq: last.seq, at: new Date(last.at).toISOString(), keyId: last.keyId, heads: checked }),
  };
}
