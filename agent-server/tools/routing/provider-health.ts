import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { HealthStatus, ProviderHealth } from "../../contract/providers.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { ToolProvider } from "./capabilities.ts";

/** The health of the providers, from their probes and from the results of their use. */
export interface Health {
  /** The last known health. */
  of(id: string): ProviderHealth;
  /** True while a provider is excluded after repeated failures. */
  isCoolingDown(id: string): boolean;
  /** Probes now. Concurrent calls share one probe. Never throws. */
  check(id: string): Promise<ProviderHealth>;
  checkAll(): Promise<void>;
  /** Reports that the provider is in use, so it is probed regularly for a while. */
  used(id: string): void;
  /** Reports a success. */
  succeeded(id: string): void;
  /** Reports a failure that the provider caused. Several in a row exclude it, regardless of its probe. */
  failed(id: string, message: string): void;
  /** Probes all providers once after `delayMs`. */
  start(delayMs: number): void;
  close(): void;
}

export interface HealthDeps {
  readonly providers: readonly ToolProvider[];
  readonly ledger: Pick<Ledger, "record">;
  readonly emit: Emit;
  readonly log: Log;
  /** Milliseconds. */
  readonly now?: () => number;
  /** In ms: the probe interval and timeout, how long a provider counts as in use, the first and the longest cooldown. */
  readonly times?: Partial<typeof defaultTimes>;
  /** Failures in a row that exclude a provider. */
  readonly threshold?: number;
}

const defaultTimes = { interval: 30_000, timeout: 15_000, inUse: 300_000, cooldown: 30_000, maxCooldown: 300_000 };
const defaultThreshold = 3;

interface State {
  seen: ProviderHealth;
  /** In a row, since the last success. */
  failures: number;
  lastFailure: string;
  /** When (ms) the provider can be tried again; null when it is not excluded. */
  cooldownUntil: number | null;
  /** Cooldowns since the last success. Each one is twice as long as the one before. */
  cooldowns: number;
  /** The probe succeeds after a cooldown, but no action has yet: one more failure excludes the provider again. */
  onProbation: boolean;
  usedAt: number | null;
  pendingCheck: Promise<ProviderHealth> | null;
}

const unknown: ProviderHealth = { status: "unknown", message: "Not checked yet.", nextStep: null, checkedAt: null };
const rank: Readonly<Record<HealthStatus, number>> = { ok: 0, degraded: 1, down: 2, off: 3, unknown: 3 };

export function createHealth(deps: HealthDeps): Health {
  const now = deps.now ?? Date.now;
  const times = { ...defaultTimes, ...deps.times };
  const threshold = deps.threshold ?? defaultThreshold;
  const states = new Map<string, State>(
    deps.providers.map(({ id }) => [
      id,
      {
        seen: unknown,
        failures: 0,
        lastFailure: "",
        cooldownUntil: null,
        cooldowns: 0,
        onProbation: false,
        usedAt: null,
        pendingCheck: null,
      },
    ]),
  );
  const providers = new Map(deps.providers.map((provider) => [provider.id, provider]));
  let first: NodeJS.Timeout | undefined;
  let every: NodeJS.Timeout | undefined;
  let closed = false;

  function get(id: string): { state: State; provider: ToolProvider } {
    const [state, provider] = [states.get(id), providers.get(id)];
    if (state === undefined || provider === undefined) throw new LancelotError("not_found", `There is no provider ${id}.`);
    return { state, provider };
  }

  function effective({ state, provider }: { state: State; provider: ToolProvider }): ProviderHealth {
    const { seen, failures, lastFailure } = state;
    if (state.cooldownUntil !== null) {
      return {
        status: "down",
        message: `${provider.title} failed ${failures} times in a row and is excluded for now. Last failure: ${lastFailure}`,
        nextStep: seen.nextStep ?? "It is retried automatically. To retry now, select Check Now in War Room → Tools.",
        checkedAt: seen.checkedAt,
      };
    }
    if (state.onProbation && seen.status === "ok") {
      return {
        ...seen,
        status: "degraded",
        message: `${provider.title} responds again after failures (${lastFailure}). One more failure excludes it.`,
      };
    }
    return seen;
  }

  /** Updates a provider's state, and records and announces a change of its health. */
  function change(id: string, work: (state: State) => void): ProviderHealth {
    const found = get(id);
    const before = effective(found);
    work(found.state);
    const after = effective(found);
    if (before.status === after.status || closed) return after;
    deps.emit("providers", {});
    // The first probe is not a change.
    if (before.status === "unknown") return after;
    const worse = rank[after.status] > rank[before.status];
    try {
      deps.ledger.record(
        {
          actionType: "system",
          actionName: worse ? "health_degraded" : "health_recovered",
          inputs: { title: `${found.provider.title}: ${after.status}`, provider: id, from: before.status, to: after.status },
          riskTier: "T0",
          metadata: { provider: { name: id, version: found.provider.version() ?? "unknown" } },
        },
        {
          status: worse ? "failure" : "success",
          outputs: { message: after.message },
          ...(worse ? { errorMessage: after.message } : {}),
        },
      );
    } catch (error) {
      deps.log("the change of a provider's health could not be recorded", error);
    }
    return after;
  }

  async function probe(provider: ToolProvider): Promise<Omit<ProviderHealth, "checkedAt">> {
    const stop = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Omit<ProviderHealth, "checkedAt">>((resolve) => {
      timer = setTimeout(() => {
        stop.abort();
        const seconds = times.timeout / 1000;
        resolve({
          status: "down",
          message: `${provider.title} did not answer within ${seconds} seconds.`,
          nextStep: "Restart it, then select Check Now in War Room → Tools.",
        });
      }, times.timeout);
      timer.unref();
    });
    const runProbe = async () => {
      try {
        return await provider.probe(stop.signal);
      } catch (error) {
        if (!(error instanceof LancelotError)) deps.log(`the probe of ${provider.id} failed`, error);
        const message =
          error instanceof LancelotError ? error.message : `${provider.title} could not be checked. See the log for the reason.`;
        return { status: "down" as const, message, nextStep: null };
      }
    };
    try {
      return await Promise.race([runProbe(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  const health: Health = {
    of: (id) => effective(get(id)),

    isCoolingDown(id) {
      const { cooldownUntil } = get(id).state;
      return cooldownUntil !== null && now() < cooldownUntil;
    },

    check(id) {
      const { state, provider } = get(id);
      state.pendingCheck ??= probe(provider)
        .then(({ status, message, nextStep }) =>
          change(id, (current) => {
            current.seen = { status, message, nextStep, checkedAt: new Date(now()).toISOString() };
            if (current.cooldownUntil === null || (status !== "ok" && status !== "degraded")) return;
            current.cooldownUntil = null;
            current.onProbation = true;
          }),
        )
        .finally(() => {
          state.pendingCheck = null;
        });
      return state.pendingCheck;
    },

    checkAll: async () => void (await Promise.all(deps.providers.map(({ id }) => health.check(id)))),

    used(id) {
      get(id).state.usedAt = now();
      if (closed) return;
      every ??= setInterval(() => {
        const inUse = [...states].filter(([, { usedAt }]) => usedAt !== null && now() - usedAt < times.inUse).map(([one]) => one);
        for (const one of inUse) if (!health.isCoolingDown(one)) void health.check(one);
        if (inUse.length > 0) return;
        clearInterval(every);
        every = undefined;
      }, times.interval).unref();
    },

    succeeded(id) {
      change(id, (state) => {
        state.failures = 0;
        state.cooldowns = 0;
        state.onProbation = false;
        state.cooldownUntil = null;
        if (state.seen.status !== "down") return;
        // A success outweighs the last probe.
        state.seen = {
          status: "ok",
          message: `${get(id).provider.title} works.`,
          nextStep: null,
          checkedAt: new Date(now()).toISOString(),
        };
      });
    },

    failed(id, message) {
      change(id, (state) => {
        state.failures += 1;
        state.lastFailure = message.slice(0, 300);
        if (state.cooldownUntil !== null || (!state.onProbation && state.failures < threshold)) return;
        state.onProbation = false;
        state.cooldownUntil = now() + Math.min(times.cooldown * 2 ** state.cooldowns, times.maxCooldown);
        state.cooldowns += 1;
      });
    },

    start(delayMs) {
      first = setTimeout(() => void health.checkAll(), delayMs).unref();
    },

    close() {
      closed = true;
      clearTimeout(first);
      clearInterval(every);
    },
  };
  return health;
}
