import * as z from "zod";
import { Timestamp } from "./common.ts";
import { method } from "./method.ts";

export const oauthProviders = ["anthropic", "google"] as const;
export const OAuthProvider = z.enum(oauthProviders);
export type OAuthProvider = z.infer<typeof OAuthProvider>;

/** A provider's sign-in, without tokens. */
export const OAuthState = z.object({
  provider: OAuthProvider,
  displayName: z.string(),
  status: z.enum(["disabled", "unconfigured", "signed_out", "waiting", "signed_in", "expired", "failed"]),
  expiresAt: Timestamp.nullable(),
  /** Time of the last renewal. */
  refreshedAt: Timestamp.nullable(),
  scopes: z.array(z.string()),
  /** How the provider redirects back: to a loopback port, or to the editor's own address. */
  redirect: z.enum(["loopback", "editor"]),
  /** Why it cannot be used, with the next step; null when it can. */
  problem: z.string().nullable(),
});
export type OAuthState = z.infer<typeof OAuthState>;

export const oauthMethods = {
  "oauth.initiate": method({
    summary:
      "Begins a sign-in with PKCE: answers with the address to open. The answer of the provider comes back by loopback or oauth.complete.",
    access: "owner",
    params: z.object({
      provider: OAuthProvider,
      /** The redirect URI: a loopback server of the host, or an address that the editor opens. */
      redirectUri: z.url().max(2000).optional(),
    }),
    result: z.object({ url: z.string(), state: z.string(), expiresAt: Timestamp }),
    route: { method: "POST", path: "/oauth/initiate" },
  }),
  "oauth.complete": method({
    summary: "Completes a sign-in with the address that the provider redirected to.",
    access: "owner",
    params: z.object({ url: z.string().min(1).max(8000) }),
    result: OAuthState,
  }),
  "oauth.cancel": method({
    summary: "Cancels a sign-in in progress.",
    access: "owner",
    params: z.object({ provider: OAuthProvider }),
    result: OAuthState,
  }),
  "oauth.revoke": method({
    summary: "Signs out: revokes the tokens at the provider and deletes them from the vault.",
    access: "owner",
    params: z.object({ provider: OAuthProvider }),
    result: OAuthState,
    route: { method: "POST", path: "/oauth/revoke" },
  }),
  "oauth.status": method({
    summary: "The sign-ins and their expiry, without tokens.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(OAuthState) }),
    route: { method: "GET", path: "/oauth/status" },
  }),
};
