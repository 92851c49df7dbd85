import { LancelotError } from "../contract/errors.ts";
import type { OAuthProvider } from "../contract/oauth.ts";
import type { ProviderKind } from "../contract/models.ts";
import type { OAuth } from "../security/security.ts";

/** The sign-in provider of each provider kind. */
export const signInOf: Partial<Record<ProviderKind, OAuthProvider>> = { anthropic: "anthropic", gemini: "google" };

/** Placeholder for a key; never sent. */
export const noKey = "signed-in";

const keyHeaders = ["x-api-key", "x-goog-api-key", "authorization"];

/**
 * A `fetch` that sends the access token of a sign-in instead of a key, renewed when necessary. Providers and SDKs are not aware of it.
 * @throws LancelotError `unavailable` when the sign-in has ended
 */
export function oauthFetch(inner: typeof fetch, oauth: Pick<OAuth, "token">, provider: OAuthProvider, displayName: string): typeof fetch {
  return async (input, init) => {
    const token = await oauth.token(provider);
    if (token === null) {
      const message = `The sign-in to ${displayName} has ended. Sign in again (*Lancelot: Sign In to a Provider*), or set an API key.`;
      throw new LancelotError("unavailable", message, { data: { reason: "key", action: "set_key", retryable: false } });
    }
    const headers = new Headers(input instanceof Request ? input.headers : undefined);
    new Headers(init?.headers).forEach((value, name) => headers.set(name, value));
    for (const name of keyHeaders) headers.delete(name);
    headers.set("authorization", `Bearer ${token.accessToken}`);
    for (const [name, value] of Object.entries(token.headers)) {
      const given = headers.get(name);
      headers.set(name, given === null ? value : `${given},${value}`);
    }
    return inner(input, { ...init, headers });
  };
}
