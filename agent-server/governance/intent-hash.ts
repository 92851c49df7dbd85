import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { Intent } from "../contract/governance.ts";

/**
 * SHA-256 (hex) over the canonical JSON (RFC 8785) of what an approval is bound to: capability, action, arguments as they are
 * (not redacted), working folder and quest. Throws for arguments that are not JSON.
 */
export function intentHash(intent: Intent): string {
  const { capability, action, args } = intent;
  const text = canonicalize({ capability, action, args, cwd: intent.cwd ?? null, questId: intent.questId ?? null });
  if (text === undefined) throw new TypeError("The intent is not JSON.");
  return createHash("sha256").update(text).digest("hex");
}
