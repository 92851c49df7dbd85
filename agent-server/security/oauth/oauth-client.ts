import type * as openid from "openid-client";
import { LancelotError } from "../../contract/errors.ts";
import { isLoopbackHost } from "../addresses.ts";
import type { GatedFetch } from "../types.ts";
import type { OAuthSettings } from "./oauth-settings.ts";
import type { Tokens } from "./token-store.ts";

/** Timeout of the token endpoint in seconds; shorter than the file lock's maximum age. */
const timeoutSeconds = 10;

/** The provider rejected the refresh token, so the user must sign in again. */
export class SignInNeededError extends Error {}

/** One provider's OAuth 2.0 endpoints with PKCE (RFC 6749, 7636, 7009). */
export interface OAuthClient {
  /** Returns the URL to open, and the values to verify the response with. */
  begin(redirectUri: string): Promise<{ url: string; state: string; verifier: string }>;
  /** @throws LancelotError with a user-facing message */
  exchange(answer: URL, begun: { state: string; verifier: string; redirectUri: string }): Promise<Tokens>;
  /** @throws SignInNeededError, or LancelotError `unavailable` when a retry may succeed */
  refresh(tokens: Tokens): Promise<Tokens>;
  /** Revokes both tokens at the provider; false when it has no revocation endpoint. */
  revoke(tokens: Tokens): Promise<boolean>;
}

export async function createOAuthClient(deps: {
  settings: OAuthSettings;
  secret: string | null;
  gatedFetch: GatedFetch;
  now: () => number;
}): Promise<OAuthClient> {
  const { settings, now } = deps;
  const client = await import("openid-client");
  const endpoints = [settings.token_endpoint, ...(settings.revocation_endpoint === undefined ? [] : [settings.revocation_endpoint])];
  const fetcher = deps.gatedFetch([...new Set(endpoints.map((endpoint) => new URL(endpoint).origin))]);
  const configuration = new client.Configuration(
    {
      issuer: new URL(settings.authorization_endpoint).origin,
      authorization_endpoint: settings.authorization_endpoint,
      token_endpoint: settings.token_endpoint,
      ...(settings.revocation_endpoint === undefined ? {} : { revocation_endpoint: settings.revocation_endpoint }),
      code_challenge_methods_supported: ["S256"],
    },
    settings.client_id,
    undefined,
    deps.secret === null ? client.None() : client.ClientSecretPost(deps.secret),
  );
  configuration.timeout = timeoutSeconds;
  configuration[client.customFetch] = (url, options) => fetcher(url, options as RequestInit);
  // The settings schema allows http for loopback hosts only.
  if (endpoints.some((endpoint) => isLoopbackHost(new URL(endpoint).hostname))) client.allowInsecureRequests(configuration);

  const toTokens = (answer: openid.TokenEndpointResponse, before: Tokens | null): Tokens => ({
    accessToken: answer.access_token,
    // Without a new refresh token, the old one stays valid.
    refreshToken: answer.refresh_token ?? before?.refreshToken ?? null,
    expiresAt: answer.expires_in === undefined ? null : new Date(now() + answer.expires_in * 1_000).toISOString(),
    refreshedAt: new Date(now()).toISOString(),
    scopes: answer.scope?.split(" ") ?? before?.scopes ?? settings.scopes,
    clientId: settings.client_id,
  });

  return {
    async begin(redirectUri) {
      const state = client.randomState();
      const verifier = client.randomPKCECodeVerifier();
      const url = client.buildAuthorizationUrl(configuration, {
        ...settings.parameters,
        redirect_uri: redirectUri,
        scope: settings.scopes.join(" "),
        state,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      });
      return { url: url.href, state, verifier };
    },
    async exchange(answer, { state, verifier, redirectUri }) {
      // The provider expects the redirect URI of the authorization request, which may differ in form from the received URL.
      const current = new URL(redirectUri);
      for (const [name, value] of answer.searchParams) current.searchParams.set(name, value);
      try {
        const checks = { pkceCodeVerifier: verifier, expectedState: state };
        return toTokens(await client.authorizationCodeGrant(configuration, current, checks, { redirect_uri: redirectUri }), null);
      } catch (cause) {
        throw toUserError(cause, settings, client);
      }
    },
    async refresh(tokens) {
      if (tokens.refreshToken === null) throw new SignInNeededError();
      try {
        return toTokens(await client.refreshTokenGrant(configuration, tokens.refreshToken), tokens);
      } catch (cause) {
        if (cause instanceof client.ResponseBodyError && ["invalid_grant", "invalid_client", "unauthorized_client"].includes(cause.error))
          throw new SignInNeededError(cause.error, { cause });
        throw toUserError(cause, settings, client);
      }
    },
    async revoke(tokens) {
      if (settings.revocation_endpoint === undefined) return false;
      for (const token of [tokens.refreshToken, tokens.accessToken]) {
        if (token === null) continue;
        try {
          await client.tokenRevocation(configuration, token);
        } catch (cause) {
          // An unknown token is already revoked.
          if (!(cause instanceof client.ResponseBodyError && cause.error === "invalid_token")) throw toUserError(cause, settings, client);
        }
      }
      return true;
    },
  };
}

function toUserError(cause: unknown, settings: OAuthSettings, client: typeof openid): LancelotError {
  const name = settings.display_name;
  if (cause instanceof client.AuthorizationResponseError)
    return cause.error === "access_denied"
      ? new LancelotError("cancelled", `The sign-in to ${name} was refused.`, { cause })
      : new LancelotError(
          "unavailable",
          `${name} did not allow the sign-in (${cause.error}). Check client_id and scopes in config/oauth.yaml.`,
          { cause },
        );
  if (cause instanceof client.ResponseBodyError)
    return new LancelotError("unavailable", `${name} refused the sign-in (${cause.error}). Start again.`, { cause });
  return new LancelotError("unavailable", `${name} could not be reached for the sign-in. Check the network and try again.`, { cause });
}
