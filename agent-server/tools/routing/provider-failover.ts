import { LancelotError, type ErrorCode } from "../../contract/errors.ts";
import type { RouteDecision } from "../../contract/providers.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import {
  type ActionOf,
  type Capability,
  type CapabilityActions,
  capabilities,
  type TaskProfile,
  type ToolProvider,
} from "./capabilities.ts";
import type { Health } from "./provider-health.ts";
import type { Provider } from "../../execution/execution.ts";
import { implementation, type Router } from "./capability-router.ts";

export interface ProviderCall {
  readonly questId: string | null;
  /** The parent of the receipts of failovers. */
  readonly parentId: string | null;
  readonly signal: AbortSignal;
  /** The provider that was shown to the user. It is tried first, even if another one became available. */
  readonly planned?: ToolProvider;
  /** True for idempotent actions: another provider is tried even after the first one started. */
  readonly repeatable?: boolean;
  readonly profile?: TaskProfile;
  /** Longest time (ms) until the action starts; 150 s by default. */
  readonly beginMs?: number;
}

export interface ProviderRun {
  readonly provider: ToolProvider;
  /** Aborted when the call is stopped, and when the provider took too long to start. */
  readonly signal: AbortSignal;
  /** Call this right before the first effect. @throws LancelotError `cancelled` when failover to another provider has happened. */
  readonly begin: () => void;
  /** Reports a failure of the provider that is not an error of the action. */
  readonly failed: (message: string) => void;
}

export interface ProviderResult<T> {
  readonly value: T;
  readonly provider: Provider;
  readonly route: RouteDecision;
  /** The providers that were tried before, and why they failed. */
  readonly tried: readonly { readonly provider: string; readonly reason: string }[];
}

/**
 * Runs an action on the first available provider, with failover to the next while no effect has started. Each failover has a receipt.
 * @throws LancelotError of the action; `unavailable` when no provider is available, or when one failed after it had started.
 */
export type RunOnProvider = <C extends Capability, A extends ActionOf<C>, T>(
  capability: C,
  action: A,
  call: ProviderCall,
  use: (act: CapabilityActions[C][A], run: ProviderRun) => Promise<T>,
) => Promise<ProviderResult<T>>;

export interface FailoverDeps {
  readonly router: Router;
  readonly health: Health;
  readonly ledger: Pick<Ledger, "record">;
  readonly log: Log;
  /** How long (ms) to wait for a provider that was told to stop. */
  readonly graceMs?: number;
}

const beginMs = 150_000;
const graceMs = 5_000;
/** Errors about the request, not about the provider. */
const requestErrors: ReadonlySet<ErrorCode> = new Set([
  "invalid_params",
  "not_found",
  "unauthorized",
  "denied",
  "needs_approval",
  "disabled",
  "conflict",
  "rate_limited",
  "too_large",
  "cancelled",
]);

/** True when the provider, not the request, caused the error. */
export function isFault(provider: ToolProvider, error: unknown): boolean {
  if (provider.blames !== undefined) return provider.blames(error);
  return !(error instanceof LancelotError && requestErrors.has(error.code));
}

export function toProvider(provider: ToolProvider): Provider {
  return { name: provider.id, version: provider.version() ?? "unknown" };
}

export function createFailover(deps: FailoverDeps): RunOnProvider {
  const { router, health } = deps;

  return async (capability, action, call, use) => {
    const request = { capability, action, ...(call.profile === undefined ? {} : { profile: call.profile }) };
    const tried: { provider: string; reason: string }[] = [];
    const { provider: best, route } = await router.choose(request);
    let provider: ToolProvider | undefined = call.planned ?? best;
    for (;;) {
      if (call.signal.aborted) throw new LancelotError("cancelled", "Stopped before anything was done.");
      const act = implementation(provider, capability, action);
      if (act === undefined) throw new LancelotError("internal", `${provider.id} does not support ${capability}.${action}.`);
      const outcome = await tryOne(deps, provider, call, (run) => use(act, run));
      if (outcome.ok) return { value: outcome.value, provider: toProvider(provider), route, tried };
      tried.push({ provider: provider.id, reason: outcome.message });
      const next: ToolProvider | undefined = router
        .candidates(request)
        .find((one) => one.allowsFailover !== false && !tried.some(({ provider: id }) => id === one.id));
      if (next === undefined) {
        const message = tried.map(({ reason }) => reason).join(" ");
        throw new LancelotError("unavailable", `${message} No other provider for ${capabilities[capability].title} is available.`, {
          cause: outcome.cause,
          data: { tried },
        });
      }
      deps.ledger.record(
        {
          actionType: "system",
          actionName: "route.failover",
          inputs: { title: `${provider.title} → ${next.title}`, capability, action, from: provider.id, to: next.id },
          riskTier: "T0",
          parentId: call.parentId,
          questId: call.questId,
          metadata: { provider: toProvider(next) },
        },
        { status: "success", outputs: { reason: outcome.message } },
      );
      provider = next;
    }
  };

  async function tryOne<T>(
    { log }: FailoverDeps,
    provider: ToolProvider,
    call: ProviderCall,
    use: (run: ProviderRun) => Promise<T>,
  ): Promise<{ ok: true; value: T } | { ok: false; message: string; cause: unknown }> {
    const stop = new AbortController();
    const signal = AbortSignal.any([call.signal, stop.signal]);
    const limit = call.beginMs ?? beginMs;
    let begun = false;
    let abandoned = false;
    let failure: string | null = null;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), limit);
    });
    const begin = (): void => {
      if (abandoned) throw new LancelotError("cancelled", `${provider.title} took too long to start, so it was stopped.`);
      begun = true;
      clearTimeout(timer);
    };
    const onStop = Promise.withResolvers<"stopped">();
    // After the start, the provider itself ends its work, and the caller waits for it.
    const stopped = (): void => {
      if (begun) return;
      abandoned = true;
      onStop.resolve("stopped");
    };
    call.signal.addEventListener("abort", stopped, { once: true });
    health.used(provider.id);
    const running = (async () => use({ provider, signal, begin, failed: (message) => (failure = message) }))();
    try {
      const first = await Promise.race([running.then((value) => ({ value })), late, onStop.promise]);
      if (first === "stopped") {
        await settles(running, deps.graceMs ?? graceMs);
        throw new LancelotError("cancelled", "Stopped before anything was done.");
      }
      if (first !== "late") {
        if (failure === null) health.succeeded(provider.id);
        else health.failed(provider.id, failure);
        return { ok: true, value: first.value };
      }
      abandoned = true;
      stop.abort();
      const message = `${provider.title} did not start within ${Math.round(limit / 1000)} seconds.`;
      const settled = await settles(running, deps.graceMs ?? graceMs);
      health.failed(provider.id, message);
      if (!settled && call.repeatable !== true) {
        throw new LancelotError(
          "unavailable",
          `${message} It did not stop either, so no other provider was tried, because the action could run twice.`,
        );
      }
      return { ok: false, message, cause: null };
    } catch (error) {
      if (abandoned || call.signal.aborted || !isFault(provider, error)) throw error;
      if (!(error instanceof LancelotError)) log(`${provider.id} failed`, error);
      const message = error instanceof LancelotError ? error.message : `${provider.title} failed. See the log for the reason.`;
      // A failure that needs the network says nothing about commands that do not.
      if (begun || call.profile?.network !== true) health.failed(provider.id, message);
      if (begun && call.repeatable !== true) {
        throw new LancelotError(
          "unavailable",
          `${provider.title} failed after it had started, so its effects are unknown and it was not retried: ${message} Check the current state before you repeat it.`,
          { cause: error, data: { provider: provider.id, begun: true } },
        );
      }
      return { ok: false, message, cause: error };
    } finally {
      clearTimeout(timer);
      call.signal.removeEventListener("abort", stopped);
    }
  }
}

async function settles(running: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const wait = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const done = running.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([done, wait]);
  } finally {
    clearTimeout(timer);
  }
}
