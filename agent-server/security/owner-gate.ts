import { createHash, timingSafeEqual } from "node:crypto";

/** Checks whether a caller has the owner token. Without a configured token, no caller does. */
export interface OwnerGate {
  check(presented: string | null | undefined): boolean;
}

/** `token` is the token this host was started with; null or a blank token rejects every caller. Compares in constant time. */
export function createOwnerGate(token: string | null): OwnerGate {
  const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();
  const expected = token === null || token.trim() === "" ? null : digest(token);
  return { check: (presented) => expected !== null && typeof presented === "string" && timingSafeEqual(digest(presented), expected) };
}
