import { LancelotError } from "../contract/errors.ts";
import { type OAuthProvider, oauthProviders } from "../contract/oauth.ts";

/** Names of Lancelot's own entries in the key store. Users cannot list, set or delete them. */
export const reservedSecrets = {
  /** The ledger's signing key and all public keys. */
  ledgerKey: "LANCELOT_LEDGER_KEY",
  /** The last signed head of each ledger, stored outside its database. */
  ledgerHeads: "LANCELOT_LEDGER_HEADS",
} as const;

/** Name of the entry with a provider's OAuth tokens. */
export function oauthSecret(provider: OAuthProvider): string {
  return `LANCELOT_OAUTH_${provider.toUpperCase()}`;
}

const reserved: ReadonlySet<string> = new Set([...Object.values(reservedSecrets), ...oauthProviders.map(oauthSecret)]);

export function isReservedSecret(name: string): boolean {
  return reserved.has(name);
}

/**
 * Guards `vault.set` and `vault.delete`.
 * @throws LancelotError `denied` for a reserved name
 */
export function refuseReservedSecret(name: string): void {
  if (!isReservedSecret(name)) return;
  throw new LancelotError("denied", `${name} is reserved for Lancelot, so you cannot set or delete it.`);
}
