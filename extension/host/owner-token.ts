import { randomBytes } from "node:crypto";
import type * as vscode from "vscode";

const key = "ownerToken";

/**
 * The token that identifies the owner's editor to the host. It is created once and kept in SecretStorage. When the system's
 * key store does not work, each window creates its own.
 */
export async function ownerToken(secrets: vscode.SecretStorage, log: vscode.LogOutputChannel): Promise<string> {
  try {
    const kept = await secrets.get(key);
    if (kept !== undefined && kept.length >= 32) return kept;
    const made = randomBytes(32).toString("base64url");
    await secrets.store(key, made);
    return made;
  } catch (error) {
    log.warn(`SecretStorage is unavailable: ${error instanceof Error ? error.message : String(error)}`);
    return randomBytes(32).toString("base64url");
  }
}
