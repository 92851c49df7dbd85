import type { Verification } from "../contract/receipts.ts";
import { problemAt, type Problem } from "./diagnose.ts";
import type { SignatureChecker, SignedHead } from "./signature.ts";
import type { KeptHead } from "./signing-keys.ts";

/** Checks the signed heads while a verification visits the entries in order. */
export interface SignatureWalk {
  /** Visits the entry `seq` with this hash; returns a problem when a signature does not match. */
  pass(seq: number, hash: string, receiptId: string | null): Problem | null;
  /** A head that came with its entry, whose hash is `hash`. */
  add(head: SignedHead, hash: string): Problem | null;
  /** After the last entry. */
  finish(): Problem | null;
  result(): Verification["signed"];
}

/** @param heads the signed heads, sorted by `seq`; @param kept the key store's latest head of this ledger */
export function createSignatureWalk(heads: readonly SignedHead[], checker: SignatureChecker, kept: KeptHead | null): SignatureWalk {
  let next = 0;
  let checked = 0;
  let last: SignedHead | null = null;
  let passed = 0;

  const judge = (head: SignedHead, hash: string, receiptId: string | null): Problem | null => {
    const found = checker.check(head);
    const bad = (what: string): Problem => problemAt(head.seq, receiptId, "signature", what);
    if (found === "unknown") return bad(`was signed with an unknown key (${head.keyId})`);
    if (found === "forged") return bad(`has a forged signature (key ${head.keyId})`);
    if (head.hash !== hash) return bad(rewritten(head));
    checked += 1;
    last = head;
    return null;
  };

  const rewritten = (head: Pick<SignedHead, "at">): string => {
    const from = last === null ? "from the start" : `after entry ${last.seq}`;
    return `is not the entry that was signed on ${new Date(head.at).toISOString()}: the ledger was rewritten ${from}`;
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
          `is missing: the ledger had ${known} entries when it was signed on ${signed}, and was replaced with an older copy`,
        );
      }
      if (kept !== null && (last === null || last.seq < kept.seq))
        return problemAt(kept.seq, null, "signature", "was signed, but its signature was removed");
      return null;
    },
    result: () => (last === null ? null : { seq: last.seq, at: new Date(last.at).toISOString(), keyId: last.keyId, heads: checked }),
  };
}
