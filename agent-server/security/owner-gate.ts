import { createHash, timingSafeEqual } from "node:crypto";

/** Tells whether a caller holds the owner token. Without a token nobody does. */
export interface OwnerGate {
  check(presented: string | null | undefined): boolean;
}

/** `token` is what this host was started with; null, empty or white space closes the gate for good. Takes the same time for every wrong token. */
export function createOwnerGate(token: string | null): OwnerGate {
  const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();
  const expected = token === null || token.trim() === "" ? null : digest(token);
  return { check: (presented) => expected !== null && typeof presented === "string" && timingSafeEqual(digest(presented), expected) };
}
