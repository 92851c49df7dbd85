import * as z from "zod";
import type { OAuthProvider } from "../../contract/oauth.ts";
import { oauthSecret } from "../reserved-secrets.ts";
import type { Secrets } from "../types.ts";

/** A provider's tokens as stored in the vault. Times are ISO 8601. */
const Tokens = z.object({
  accessToken: z.string().min(1),
  refreshToken: z.string().nullable(),
  expiresAt: z.string().nullable(),
  refreshedAt: z.string(),
  scopes: z.array(z.string()),
  /** The client that the tokens were issued to; another client cannot use them. */
  clientId: z.string(),
});
export type Tokens = z.infer<typeof Tokens>;

/** Stores tokens per provider in the vault; unreadable entries count as missing. */
export function createTokenStore(secrets: Pick<Secrets, "get" | "set" | "delete">) {
  return {
    async read(provider: OAuthProvider): Promise<Tokens | null> {
      const text = await secrets.get(oauthSecret(provider));
      if (text === null) return null;
      try {
        return Tokens.parse(JSON.parse(text));
      } catch {
        return null;
      }
    },
    write: (provider: OAuthProvider, tokens: Tokens): Promise<void> => secrets.set(oauthSecret(provider), JSON.stringify(tokens)),
    remove: (provider: OAuthProvider): Promise<void> => secrets.delete(oauthSecret(provider)),
  };
}
