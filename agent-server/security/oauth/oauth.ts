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

/** An event outside a user's call, for the ledger and the views. Never contains a token. */
export interface OAuthNotice {
  readonly provider: OAuthProvider;
  readonly event: "signed_in" | "failed" | "refreshed" | "refresh_failed" | "expired";
  readonly problem?: string;
}

/** Sign-in with OAuth 2.0 and PKCE instead of an API key (M8). Tokens are stored in the vault and sent only to the provider. */
export interface OAuth {
  initiate(provider: OAuthProvider, redirectUri?: string): Promise<{ url: string; state: string; expiresAt: string }>;
  /** Completes the sign-in that the redirect `url` belongs to. @throws LancelotError with a user-facing message */
  complete(url: string): Promise<OAuthState>;
  cancel(provider: OAuthProvider): Promise<OAuthState>;
  revoke(provider: OAuthProvider): Promise<OAuthState>;
  status(): Promise<OAuthState[]>;
  /** Returns the access token for requests, refreshed before it expires. Null when signed out: then an API key is used. */
  token(provider: OAuthProvider): Promise<{ accessToken: string; headers: Readonly<Record<string, string>> } | null>;
  /** Why the owner's config/oauth.yaml is not used; null when it is, or there is none. */
  configProblem(): string | null;
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

/** Time limit of a sign-in; time before expiry at which a token is refreshed; delay before a retry (ms). */
const signInTimeoutMs = 10 * 60_000;
const refreshAheadMs = 5 * 60_000;
const retryMs = 60_000;
const maxTimerMs = 2 ** 31 - 1;

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
  const settingsFile = createOAuthSettings(deps);
  const settingsOf = settingsFile.of;
  const store = createTokenStore(deps.secrets);
  const pending = new Map<OAuthProvider, Pending>();
  const problems = new Map<OAuthProvider, string>();
  const refreshing = new Map<OAuthProvider, Promise<Tokens | null>>();
  const timers = new Map<OAuthProvider, NodeJS.Timeout>();
  let closed = false;

  const flagOf = (provider: OAuthProvider): string => `${provider.toUpperCase()}_OAUTH`;
  function usable(provider: OAuthProvider): OAuthSettings {
    if (!deps.enabled(provider))
      throw new LancelotError("disabled", `Sign-in is turned off. Turn on the flag ${flagOf(provider)} to use it.`, {
        data: { flag: flagOf(provider) },
      });
    const settings = settingsOf(provider);
    if (settings.client_id === "")
      throw new LancelotError("unavailable", `${settings.display_name} requires a client id. ${registrationHelp}`, {
        data: { next: registrationHelp },
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

  /** Schedules the refresh of a token while this host runs. */
  function schedule(provider: OAuthProvider, tokens: Tokens, atLeastMs = 0): void {
    clearTimeout(timers.get(provider));
    timers.delete(provider);
    if (closed || tokens.expiresAt === null || tokens.refreshToken === null) return;
    const inMs = Math.max(Date.parse(tokens.expiresAt) - refreshAheadMs - now(), atLeastMs);
    const refresh = (): void => void current(provider).catch(() => undefined);
    timers.set(provider, setTimeout(refresh, Math.min(inMs, maxTimerMs)).unref());
  }

  /** Returns the current tokens, refreshed when they are about to expire; null when there are no usable ones. */
  async function current(provider: OAuthProvider): Promise<Tokens | null> {
    if (!deps.enabled(provider)) return null;
    const settings = settingsOf(provider);
    const tokens = await store.read(provider);
    if (tokens === null || tokens.clientId !== settings.client_id) return null;
    if (!expiresWithin(tokens, now(), refreshAheadMs)) {
      if (!timers.has(provider)) schedule(provider, tokens);
      return tokens;
    }
    const pendingRefresh = refreshing.get(provider) ?? refreshTokens(provider, settings).finally(() => refreshing.delete(provider));
    refreshing.set(provider, pendingRefresh);
    return pendingRefresh;
  }

  async function refreshTokens(provider: OAuthProvider, settings: OAuthSettings): Promise<Tokens | null> {
    await mkdir(deps.dataDir, { recursive: true, mode: 0o700 });
    const messages = {
      busy: "Another window is refreshing the sign-in. Try again.",
      failed: "The sign-in could not be refreshed. Check the permissions of the data folder.",
    };
    return withFileLock(join(deps.dataDir, `oauth-${provider}.lock`), messages, async () => {
      // Another window may have refreshed first: many refresh tokens can be used only once.
      const tokens = await store.read(provider);
      if (tokens === null || !expiresWithin(tokens, now(), refreshAheadMs)) return tokens;
      try {
        const fresh = await (await clientOf(settings)).refresh(tokens);
        await store.write(provider, fresh);
        problems.delete(provider);
        schedule(provider, fresh, retryMs);
        deps.onNotice?.({ provider, event: "refreshed" });
        return fresh;
      } catch (error) {
        const expired = expiresWithin(tokens, now(), 0);
        if (error instanceof SignInNeededError) {
          const problem = `The sign-in to ${settings.display_name} has expired. Sign in again.`;
          problems.set(provider, problem);
          if (expired) await store.remove(provider);
          deps.onNotice?.({ provider, event: "expired", problem });
        } else {
          const problem = error instanceof LancelotError ? error.message : "The sign-in could not be refreshed.";
          problems.set(provider, problem);
          schedule(provider, tokens, retryMs);
          deps.onNotice?.({ provider, event: "refresh_failed", problem });
        }
        return expired ? null : tokens;
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
    if (!deps.enabled(provider)) return { ...base, status: "disabled", problem: `Turn on the flag ${flagOf(provider)} to sign in.` };
    if (settings.client_id === "") return { ...base, status: "unconfigured", problem: registrationHelp };
    const open = pending.get(provider);
    if (open !== undefined && open.expiresAt > now()) return { ...base, status: "waiting", problem: null };
    const problem = problems.get(provider) ?? null;
    const tokens = await store.read(provider);
    if (tokens === null || tokens.clientId !== settings.client_id)
      return { ...base, status: problem === null ? "signed_out" : "failed", problem };
    const { expiresAt, refreshedAt, scopes } = tokens;
    const expired = expiresWithin(tokens, now(), 0) && (tokens.refreshToken === null || problem !== null);
    const shownProblem = expired ? (problem ?? `The sign-in to ${settings.display_name} has expired. Sign in again.`) : problem;
    return { ...base, status: expired ? "expired" : "signed_in", expiresAt, refreshedAt, scopes, problem: shownProblem };
  }

  async function complete(url: string): Promise<OAuthState> {
    const answer = URL.canParse(url) ? new URL(url) : null;
    const state = answer?.searchParams.get("state") ?? null;
    const found = [...pending].find(([, one]) => state !== null && one.state === state);
    if (answer === null || found === undefined || found[1].expiresAt <= now())
      throw new LancelotError("not_found", "This response does not belong to a pending sign-in. Start again.");
    const [provider, request] = found;
    // Any response ends the sign-in: an authorization code is never tried twice.
    pending.delete(provider);
    try {
      const tokens = await (await clientOf(usable(provider))).exchange(answer, request);
      await store.write(provider, tokens);
      problems.delete(provider);
      schedule(provider, tokens);
    } catch (error) {
      problems.set(provider, error instanceof LancelotError ? error.message : "The sign-in failed.");
      throw error;
    } finally {
      request.loopback?.close();
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
      const expiresAt = now() + signInTimeoutMs;
      let request: Awaited<ReturnType<OAuthClient["begin"]>>;
      let loopback: Loopback | null = null;
      if (given === undefined) {
        // The port is known once the server listens, and the expected state only after that.
        const expected = Promise.withResolvers<string>();
        const server = await listenForAnswer(expected.promise, (url) =>
          complete(url).then(
            ({ displayName }) => {
              deps.onNotice?.({ provider, event: "signed_in" });
              return { ok: true, message: `Signed in to ${displayName}. You can close this page and return to the editor.` };
            },
            (error: unknown) => {
              const message = error instanceof LancelotError ? error.message : "The sign-in failed. See the editor.";
              deps.onNotice?.({ provider, event: "failed", problem: message });
              return { ok: false, message };
            },
          ),
        );
        request = await client.begin(server.redirectUri);
        expected.resolve(request.state);
        loopback = server;
      } else request = await client.begin(given);
      pending.set(provider, {
        state: request.state,
        verifier: request.verifier,
        redirectUri: loopback?.redirectUri ?? given ?? "",
        expiresAt,
        loopback,
      });
      const expire = (): void => {
        if (pending.get(provider)?.state !== request.state) return;
        drop(provider);
        deps.onNotice?.({ provider, event: "failed", problem: "The sign-in timed out." });
      };
      setTimeout(expire, signInTimeoutMs).unref();
      return { url: request.url, state: request.state, expiresAt: new Date(expiresAt).toISOString() };
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
      // Removed locally even when the provider cannot be reached.
      await store.remove(provider);
      const revoked = await clientOf(settingsOf(provider))
        .then((client) => client.revoke(tokens))
        .catch(() => false);
      const state = await stateOf(provider);
      if (revoked) return state;
      return {
        ...state,
        problem: `Signed out. ${state.displayName} could not be reached, so also revoke the access in your account there.`,
      };
    },
    status: () => Promise.all(oauthProviders.map(stateOf)),
    async token(provider) {
      const tokens = await current(provider);
      return tokens === null ? null : { accessToken: tokens.accessToken, headers: settingsOf(provider).headers };
    },
    configProblem: settingsFile.problem,
    close() {
      closed = true;
      for (const provider of oauthProviders) drop(provider);
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

const registrationHelp =
  "Register Lancelot there as a desktop application with PKCE, and set its client_id in config/oauth.yaml in the data folder. Until then, your API key is used.";

/** True when the access token expires within `ahead` ms. */
function expiresWithin({ expiresAt }: Tokens, now: number, ahead: number): boolean {
  return expiresAt !== null && Date.parse(expiresAt) - now <= ahead;
}
