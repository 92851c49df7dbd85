import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { type OAuthProvider, oauthProviders, type OAuthState } from "../../contract/oauth.ts";
import { withFileLock } from "../file-lock.ts";
import type { GatedFetch, Secrets } from "../types.ts";
import { createOAuthClient, type OAuthClient, SignInNeededError } from "./oauth-client.ts";
import { listenForAnswer, type Loopback } from "./loopback.ts";
import { createOAuthSettings, type OAuthSettings } from "./oauth-settings.ts";
import { createTokenStore, type Tokens } from "./token-store.ts";

/** What happens without the owner's hand, for the ledger and the views. Never a token. */
export interface OAuthNotice {
  readonly provider: OAuthProvider;
  readonly event: "signed_in" | "failed" | "refreshed" | "refresh_failed" | "expired";
  readonly problem?: string;
}

/** Signing in by OAuth 2.0 with PKCE instead of a key (M8). Tokens lie in the vault and go to the provider alone. */
export interface OAuth {
  initiate(provider: OAuthProvider, redirectUri?: string): Promise<{ url: string; state: string; expiresAt: string }>;
  /** Ends the sign-in that `url`, the provider's answer, belongs to. @throws LancelotError worded for the owner */
  complete(url: string): Promise<OAuthState>;
  cancel(provider: OAuthProvider): Promise<OAuthState>;
  revoke(provider: OAuthProvider): Promise<OAuthState>;
  status(): Promise<OAuthState[]>;
  /** What a request to the provider carries; renewed before it expires. Null where nobody is signed in: a key is used then. */
  token(provider: OAuthProvider): Promise<{ accessToken: string; headers: Readonly<Record<string, string>> } | null>;
  close(): void;
}

interface Pending {
  readonly state: string;
  readonly verifier: string;
  readonly redirectUri: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  loopback: Loopback | null;
}

/** How long a sign-in may take, and how long before its end a token is renewed. Milliseconds. */
const signInMs = 10 * 60_000;
const aheadMs = 5 * 60_000;
const againMs = 60_000;
const longestTimer = 2 ** 31 - 1;

export function createOAuth(deps: {
  configDir: string;
  dataDir: string;
  secrets: Pick<Secrets, "get" | "set" | "delete">;
  gatedFetch: GatedFetch;
  enabled: (provider: OAuthProvider) => boolean;
  onNotice?: (notice: OAuthNotice) => void;
  now?: () => number;
}): OAuth {
  const now = deps.now ?? Date.now;
  const settingsOf = createOAuthSettings(deps);
  const store = createTokenStore(deps.secrets);
  const pending = new Map<OAuthProvider, Pending>();
  const problems = new Map<OAuthProvider, string>();
  const renewing = new Map<OAuthProvider, Promise<Tokens | null>>();
  const timers = new Map<OAuthProvider, NodeJS.Timeout>();
  let closed = false;

  const flagOf = (provider: OAuthProvider): string => `${provider.toUpperCase()}_OAUTH`;
  function usable(provider: OAuthProvider): OAuthSettings {
    if (!deps.enabled(provider))
      throw new LancelotError("disabled", `Signing in is switched off (the flag ${flagOf(provider)}).`, {
        data: { flag: flagOf(provider) },
      });
    const settings = settingsOf(provider);
    if (settings.client_id === "")
      throw new LancelotError("unavailable", `${settings.display_name} needs a client id. ${registerWords}`, {
        data: { next: registerWords },
      });
    return settings;
  }
  const clientOf = async (settings: OAuthSettings): Promise<OAuthClient> => {
    const { client_secret_name: name } = settings;
    return createOAuthClient({
      settings,
      secret: name === undefined ? null : await deps.secrets.get(name),
      gatedFetch: deps.gatedFetch,
      now,
    });
  };

  function drop(provider: OAuthProvider): void {
    pending.get(provider)?.loopback?.close();
    pending.delete(provider);
  }

  /** Renews a token in time, while this host lives. */
  function schedule(provider: OAuthProvider, tokens: Tokens, atLeastMs = 0): void {
    clearTimeout(timers.get(provider));
    timers.delete(provider);
    if (closed || tokens.expiresAt === null || tokens.refreshToken === null) return;
    const inMs = Math.max(Date.parse(tokens.expiresAt) - aheadMs - now(), atLeastMs);
    const look = (): void => void current(provider).catch(() => undefined);
    timers.set(provider, setTimeout(look, Math.min(inMs, longestTimer)).unref());
  }

  /** The tokens as they are now, renewed when their end is near; null where there are none that can be used. */
  async function current(provider: OAuthProvider): Promise<Tokens | null> {
    if (!deps.enabled(provider)) return null;
    const settings = settingsOf(provider);
    const tokens = await store.read(provider);
    if (tokens === null || tokens.clientId !== settings.client_id) return null;
    if (!isNear(tokens, now(), aheadMs)) {
      if (!timers.has(provider)) schedule(provider, tokens);
      return tokens;
    }
    const underway = renewing.get(provider) ?? renew(provider, settings).finally(() => renewing.delete(provider));
    renewing.set(provider, underway);
    return underway;
  }

  async function renew(provider: OAuthProvider, settings: OAuthSettings): Promise<Tokens | null> {
    await mkdir(deps.dataDir, { recursive: true, mode: 0o700 });
    const words = {
      busy: "Another window renews the sign-in. Try again.",
      failed: "The sign-in could not be renewed. Check the data folder.",
    };
    return withFileLock(join(deps.dataDir, `oauth-${provider}.lock`), words, async () => {
      // Another window may have been first: a refresh token often holds once.
      const tokens = await store.read(provider);
      if (tokens === null || !isNear(tokens, now(), aheadMs)) return tokens;
      try {
        const fresh = await (await clientOf(settings)).refresh(tokens);
        await store.write(provider, fresh);
        problems.delete(provider);
        schedule(provider, fresh, againMs);
        deps.onNotice?.({ provider, event: "refreshed" });
        return fresh;
      } catch (error) {
        const over = isNear(tokens, now(), 0);
        if (error instanceof SignInNeededError) {
          const problem = `The sign-in to ${settings.display_name} has ended. Sign in again.`;
          problems.set(provider, problem);
          if (over) await store.remove(provider);
          deps.onNotice?.({ provider, event: "expired", problem });
        } else {
          const problem = error instanceof LancelotError ? error.message : "The sign-in could not be renewed.";
          problems.set(provider, problem);
          schedule(provider, tokens, againMs);
          deps.onNotice?.({ provider, event: "refresh_failed", problem });
        }
        return over ? null : tokens;
      }
    });
  }

  async function stateOf(provider: OAuthProvider): Promise<OAuthState> {
    let settings: OAuthSettings;
    try {
      settings = settingsOf(provider);
    } catch (error) {
      const problem = error instanceof LancelotError ? error.message : "The settings cannot be read.";
      return {
        provider,
        displayName: provider,
        status: "unconfigured",
        expiresAt: null,
        refreshedAt: null,
        scopes: [],
        redirect: "loopback",
        problem,
      };
    }
    const base = {
      provider,
      displayName: settings.display_name,
      redirect: settings.redirect,
      expiresAt: null,
      refreshedAt: null,
      scopes: [],
    };
    if (!deps.enabled(provider)) return { ...base, status: "disabled", problem: `Switch the flag ${flagOf(provider)} on to sign in.` };
    if (settings.client_id === "") return { ...base, status: "unconfigured", problem: registerWords };
    const open = pending.get(provider);
    if (open !== undefined && open.expiresAt > now()) return { ...base, status: "waiting", problem: null };
    const problem = problems.get(provider) ?? null;
    const tokens = await store.read(provider);
    if (tokens === null || tokens.clientId !== settings.client_id)
      return { ...base, status: problem === null ? "signed_out" : "failed", problem };
    const { expiresAt, refreshedAt, scopes } = tokens;
    const over = isNear(tokens, now(), 0) && (tokens.refreshToken === null || problem !== null);
    const words = over ? (problem ?? `The sign-in to ${settings.display_name} has ended. Sign in again.`) : problem;
    return { ...base, status: over ? "expired" : "signed_in", expiresAt, refreshedAt, scopes, problem: words };
  }

  async function complete(url: string): Promise<OAuthState> {
    const answer = URL.canParse(url) ? new URL(url) : null;
    const state = answer?.searchParams.get("state") ?? null;
    const found = [...pending].find(([, one]) => state !== null && one.state === state);
    if (answer === null || found === undefined || found[1].expiresAt <= now())
      throw new LancelotError("not_found", "This answer belongs to no sign-in that is open. Begin it again.");
    const [provider, begun] = found;
    // One answer ends it, whatever it says: a code is never tried twice.
    pending.delete(provider);
    try {
      const tokens = await (await clientOf(usable(provider))).exchange(answer, begun);
      await store.write(provider, tokens);
      problems.delete(provider);
      schedule(provider, tokens);
    } catch (error) {
      problems.set(provider, error instanceof LancelotError ? error.message : "The sign-in failed.");
      throw error;
    } finally {
      begun.loopback?.close();
    }
    return stateOf(provider);
  }

  return {
    async initiate(provider, redirectUri) {
      const settings = usable(provider);
      drop(provider);
      problems.delete(provider);
      const client = await clientOf(settings);
      const given = redirectUri ?? settings.redirect_uri;
      const expiresAt = now() + signInMs;
      let begun: Awaited<ReturnType<OAuthClient["begin"]>>;
      let loopback: Loopback | null = null;
      if (given === undefined) {
        // The port is known only once it listens, and what it waits for only after that.
        const expected = Promise.withResolvers<string>();
        const server = await listenForAnswer(expected.promise, (url) =>
          complete(url).then(
            ({ displayName }) => {
              deps.onNotice?.({ provider, event: "signed_in" });
              return { ok: true, words: `Signed in to ${displayName}. You can close this page and go back to the editor.` };
            },
            (error: unknown) => {
              const words = error instanceof LancelotError ? error.message : "The sign-in failed. See the editor.";
              deps.onNotice?.({ provider, event: "failed", problem: words });
              return { ok: false, words };
            },
          ),
        );
        begun = await client.begin(server.redirectUri);
        expected.resolve(begun.state);
        loopback = server;
      } else begun = await client.begin(given);
      pending.set(provider, {
        state: begun.state,
        verifier: begun.verifier,
        redirectUri: loopback?.redirectUri ?? given ?? "",
        expiresAt,
        loopback,
      });
      const expire = (): void => {
        if (pending.get(provider)?.state !== begun.state) return;
        drop(provider);
        deps.onNotice?.({ provider, event: "failed", problem: "The sign-in was not completed in time." });
      };
      setTimeout(expire, signInMs).unref();
      return { url: begun.url, state: begun.state, expiresAt: new Date(expiresAt).toISOString() };
    },
    complete,
    async cancel(provider) {
      drop(provider);
      return stateOf(provider);
    },
    async revoke(provider) {
      drop(provider);
      clearTimeout(timers.get(provider));
      timers.delete(provider);
      const tokens = await store.read(provider);
      problems.delete(provider);
      if (tokens === null) return stateOf(provider);
      // Gone from here even where the provider cannot be told.
      await store.remove(provider);
      const withdrawn = await clientOf(settingsOf(provider))
        .then((client) => client.revoke(tokens))
        .catch(() => false);
      const state = await stateOf(provider);
      if (withdrawn) return state;
      return {
        ...state,
        problem: `Signed out here. ${state.displayName} could not be told: withdraw the access in your account there too.`,
      };
    },
    status: () => Promise.all(oauthProviders.map(stateOf)),
    async token(provider) {
      const tokens = await current(provider);
      return tokens === null ? null : { accessToken: tokens.accessToken, headers: settingsOf(provider).headers };
    },
    close() {
      closed = true;
      for (const provider of oauthProviders) drop(provider);
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

const registerWords =
  "Register Lancelot as a desktop application with PKCE there and put its client_id into config/oauth.yaml in the data folder. Until then a key is used.";

/** Whether a token ends within `ahead` ms. */
function isNear({ expiresAt }: Tokens, now: number, ahead: number): boolean {
  return expiresAt !== null && Date.parse(expiresAt) - now <= ahead;
}
