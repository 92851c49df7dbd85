import { LancelotError } from "../contract/errors.ts";
import { type OAuthProvider, oauthProviders } from "../contract/oauth.ts";

/** Names under which Lancelot keeps keys of its own in the key store: neither listed nor set nor deleted by hand. */
export const reservedSecrets = {
  /** The ledger's signing key and the public keys that came before it. */
  ledgerKey: "LANCELOT_LEDGER_KEY",
  /** The last signed head of each ledger, outside the database it is about. */
  ledgerHeads: "LANCELOT_LEDGER_HEADS",
} as const;

/** Where the tokens of a sign-in are kept. */
export function oauthSecret(provider: OAuthProvider): string {
  return `LANCELOT_OAUTH_${provider.toUpperCase()}`;
}

const reserved: ReadonlySet<string> = new Set([...Object.values(reservedSecrets), ...oauthProviders.map(oauthSecret)]);

export function isReservedSecret(name: string): boolean {
  return reserved.has(name);
}

/**
 * The guard of `vault.set` and `vault.delete`.
 * @throws LancelotError `denied` for a name that Lancelot keeps for itself
 */
export function refuseReservedSecret(name: string): void {
  if (!isReservedSecret(name)) return;
  throw new LancelotError("denied", `${name} is a key that Lancelot keeps for itself, so it is neither set nor deleted by hand.`);
}
