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
  /** Receipt under which failovers hang. */
  readonly parentId: string | null;
  readonly signal: AbortSignal;
  /** The provider the owner was told of: first, whatever came up since. */
  readonly planned?: ToolProvider;
  /** Doing it twice changes nothing: then another provider may also be tried after the first began. */
  readonly repeatable?: boolean;
  readonly profile?: TaskProfile;
  /** Longest (ms) until it begins; two and a half minutes unless said. */
  readonly beginMs?: number;
}

export interface ProviderRun {
  readonly provider: ToolProvider;
  /** Ends when the call is stopped, and when this provider took too long to begin. */
  readonly signal: AbortSignal;
  /** Called right before the first effect. Throws when somebody else was asked meanwhile: then nothing may be done. */
  readonly begin: () => void;
  /** It gave an answer and yet failed for a reason of its own. */
  readonly failed: (words: string) => void;
}

export interface ProviderResult<T> {
  readonly value: T;
  readonly provider: Provider;
  readonly route: RouteDecision;
  /** Those that were tried before it, and why they did not do it. */
  readonly tried: readonly { readonly provider: string; readonly reason: string }[];
}

/**
 * Does something with the first provider that can. While it has certainly not begun, the next one is tried; each time is a receipt.
 * @throws LancelotError what the action itself throws; `unavailable` when no provider can do it, or when one failed after it had begun.
 */
export type RunOnProvider = <C extends Capability, A extends ActionOf<C>, T>(
  capability: C,
  action: A,
  call: ProviderCall,
  use: (act: CapabilityActions[C][A], trial: ProviderRun) => Promise<T>,
) => Promise<ProviderResult<T>>;

export interface FailoverDeps {
  readonly router: Router;
  readonly health: Health;
  readonly ledger: Pick<Ledger, "record">;
  readonly log: Log;
  /** How long (ms) a provider that was told to stop is waited for. */
  readonly graceMs?: number;
}

const beginMs = 150_000;
const graceMs = 5_000;
/** What an action says about what was asked of it, not about who did it. */
const answers: ReadonlySet<ErrorCode> = new Set([
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

/** True when a provider could not do something for a reason of its own. */
export function isFault(provider: ToolProvider, error: unknown): boolean {
  if (provider.blames !== undefined) return provider.blames(error);
  return !(error instanceof LancelotError && answers.has(error.code));
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
      if (act === undefined) throw new LancelotError("internal", `${provider.id} does not do ${capability}.${action}.`);
      const outcome = await tryOne(deps, provider, call, (trial) => use(act, trial));
      if (outcome.ok) return { value: outcome.value, provider: toProvider(provider), route, tried };
      tried.push({ provider: provider.id, reason: outcome.words });
      const next: ToolProvider | undefined = router
        .candidates(request)
        .find((one) => one.stepsIn !== false && !tried.some(({ provider: id }) => id === one.id));
      if (next === undefined) {
        const words = tried.map(({ reason }) => reason).join(" ");
        throw new LancelotError("unavailable", `${words} There is no other way of ${capabilities[capability].title} to take instead.`, {
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
        { status: "success", outputs: { reason: outcome.words } },
      );
      provider = next;
    }
  };

  async function tryOne<T>(
    { log }: FailoverDeps,
    provider: ToolProvider,
    call: ProviderCall,
    use: (trial: ProviderRun) => Promise<T>,
  ): Promise<{ ok: true; value: T } | { ok: false; words: string; cause: unknown }> {
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
      if (abandoned) throw new LancelotError("cancelled", `${provider.title} took too long to begin, so it does nothing any more.`);
      begun = true;
      clearTimeout(timer);
    };
    const onStop = Promise.withResolvers<"stopped">();
    // Once it has begun, it is the provider that ends what it started; nobody goes away before that.
    const stopped = (): void => {
      if (begun) return;
      abandoned = true;
      onStop.resolve("stopped");
    };
    call.signal.addEventListener("abort", stopped, { once: true });
    health.used(provider.id);
    const running = (async () => use({ provider, signal, begin, failed: (words) => (failure = words) }))();
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
      const words = `${provider.title} did not begin within ${Math.round(limit / 1000)} seconds.`;
      const settled = await settles(running, deps.graceMs ?? graceMs);
      health.failed(provider.id, words);
      if (!settled && call.repeatable !== true) {
        throw new LancelotError(
          "unavailable",
          `${words} It could not be stopped either, so nothing else is tried: it would be done twice.`,
        );
      }
      return { ok: false, words, cause: null };
    } catch (error) {
      if (abandoned || call.signal.aborted || !isFault(provider, error)) throw error;
      if (!(error instanceof LancelotError)) log(`${provider.id} failed`, error);
      const words = error instanceof LancelotError ? error.message : `${provider.title} failed for a reason of its own; the log has it.`;
      // A place without a network says nothing about commands that need none.
      if (begun || call.profile?.network !== true) health.failed(provider.id, words);
      if (begun && call.repeatable !== true) {
        throw new LancelotError(
          "unavailable",
          `${provider.title} failed after it had begun, so what it did is not known and it is not done again: ${words} Look at what is there before you repeat it.`,
          { cause: error, data: { provider: provider.id, begun: true } },
        );
      }
      return { ok: false, words, cause: error };
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
