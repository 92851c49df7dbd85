import { randomBytes } from "node:crypto";
import type * as vscode from "vscode";

const key = "ownerToken";

/**
 * The token that proves to the host that the owner's editor calls. Made once and kept in SecretStorage; where the system's
 * key store does not work it lives as long as the window, which costs nothing but a fresh one next time.
 */
export async function ownerToken(secrets: vscode.SecretStorage, log: vscode.LogOutputChannel): Promise<string> {
  try {
    const kept = await secrets.get(key);
    if (kept !== undefined && kept.length >= 32) return kept;
    const made = randomBytes(32).toString("base64url");
    await secrets.store(key, made);
    return made;
  } catch (error) {
    log.warn(`SecretStorage does not work here: ${error instanceof Error ? error.message : String(error)}`);
    return randomBytes(32).toString("base64url");
  }
}
