import * as z from "zod";
import { Timestamp } from "./common.ts";
import { method } from "./method.ts";

export const oauthProviders = ["anthropic", "google"] as const;
export const OAuthProvider = z.enum(oauthProviders);
export type OAuthProvider = z.infer<typeof OAuthProvider>;

/** One provider's sign-in. Never a token. */
export const OAuthState = z.object({
  provider: OAuthProvider,
  displayName: z.string(),
  status: z.enum(["disabled", "unconfigured", "signed_out", "waiting", "signed_in", "expired", "failed"]),
  expiresAt: Timestamp.nullable(),
  /** When it was last renewed. */
  refreshedAt: Timestamp.nullable(),
  scopes: z.array(z.string()),
  /** How the provider's answer comes back: to a port of this machine, or by the editor's own address. */
  redirect: z.enum(["loopback", "editor"]),
  /** Why it cannot be used and what to do; null when it can. */
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
      /** Where the provider sends the owner back to: a loopback server of the host, or an address the editor opens. */
      redirectUri: z.url().max(2000).optional(),
    }),
    result: z.object({ url: z.string(), state: z.string(), expiresAt: Timestamp }),
    route: { method: "POST", path: "/oauth/initiate" },
  }),
  "oauth.complete": method({
    summary: "Ends a sign-in with the address the provider sent the owner back to.",
    access: "owner",
    params: z.object({ url: z.string().min(1).max(8000) }),
    result: OAuthState,
  }),
  "oauth.cancel": method({
    summary: "Gives up a sign-in that was begun.",
    access: "owner",
    params: z.object({ provider: OAuthProvider }),
    result: OAuthState,
  }),
  "oauth.revoke": method({
    summary: "Signs out: withdraws the tokens at the provider and removes them from the vault.",
    access: "owner",
    params: z.object({ provider: OAuthProvider }),
    result: OAuthState,
    route: { method: "POST", path: "/oauth/revoke" },
  }),
  "oauth.status": method({
    summary: "The sign-ins and how long they hold. Never a token.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(OAuthState) }),
    route: { method: "GET", path: "/oauth/status" },
  }),
};
