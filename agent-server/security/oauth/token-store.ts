import * as z from "zod";
import type { OAuthProvider } from "../../contract/oauth.ts";
import { oauthSecret } from "../reserved-secrets.ts";
import type { Secrets } from "../types.ts";

/** What a provider gave, as it lies in the vault. Times are ISO 8601. */
const Tokens = z.object({
  accessToken: z.string().min(1),
  refreshToken: z.string().nullable(),
  expiresAt: z.string().nullable(),
  refreshedAt: z.string(),
  scopes: z.array(z.string()),
  /** The client they were given to: those of another are of no use. */
  clientId: z.string(),
});
export type Tokens = z.infer<typeof Tokens>;

/** Tokens of one provider in the vault; what cannot be read counts as none. */
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
