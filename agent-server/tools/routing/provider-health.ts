import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { HealthStatus, ProviderHealth } from "../../contract/providers.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { ToolProvider } from "./capabilities.ts";

/** How the providers are: what they say of themselves when they are looked at, and what came of using them. */
export interface Health {
  /** As last known. */
  of(id: string): ProviderHealth;
  /** True when it was left out for its failures and it is too early to try again. */
  isCoolingDown(id: string): boolean;
  /** Looks now; lookers at the same moment share one look. Never throws. */
  check(id: string): Promise<ProviderHealth>;
  checkAll(): Promise<void>;
  /** Something is done with it: it is looked at every half minute for a while. */
  used(id: string): void;
  /** It did what it was to do. */
  succeeded(id: string): void;
  /** It could not, for a reason of its own. Several times in a row and it is down, whatever it says of itself. */
  failed(id: string, message: string): void;
  /** The first look at all of them, after `delayMs`. */
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
  /** All in ms: between looks, the longest a look may take, how long something counts as used, the rest after failures. */
  readonly times?: Partial<typeof defaultTimes>;
  /** Failures in a row that take a provider out. */
  readonly threshold?: number;
}

const defaultTimes = { interval: 30_000, timeout: 5_000, inUse: 300_000, cooldown: 30_000, maxCooldown: 300_000 };
const defaultThreshold = 3;

interface State {
  seen: ProviderHealth;
  /** In a row, since the last success. */
  failures: number;
  lastFailure: string;
  /** Set while it is left out for its failures: when (ms) it may be tried again. */
  cooldownUntil: number | null;
  /** How often it was taken out since it last worked: each time it rests longer. */
  cooldowns: number;
  /** It answers again after it was taken out, and has not worked yet: one more failure takes it out. */
  onProbation: boolean;
  usedAt: number | null;
  pendingCheck: Promise<ProviderHealth> | null;
}

const unknown: ProviderHealth = { status: "unknown", message: "It was not looked at yet.", nextStep: null, checkedAt: null };
const rank: Readonly<Record<HealthStatus, number>> = { ok: 0, degraded: 1, down: 2, off: 3, unknown: 3 };

export function createHealth(deps: HealthDeps): Health {
  const now = deps.now ?? Date.now;
  const times = { ...defaultTimes, ...deps.times };
  const threshold = deps.threshold ?? defaultThreshold;
  const states = new Map<string, State>(
    deps.providers.map(({ id }) => [
      id,
      { seen: unknown, failures: 0, lastFailure: "", cooldownUntil: null, cooldowns: 0, onProbation: false, usedAt: null, pendingCheck: null },
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
        message: `${provider.title} failed ${failures} times in a row, so it is left out for now. The last time: ${lastFailure}`,
        nextStep: seen.nextStep ?? "It is tried again by itself. To try now, check the tools' health.",
        checkedAt: seen.checkedAt,
      };
    }
    if (state.onProbation && seen.status === "ok") {
      return {
        ...seen,
        status: "degraded",
        message: `${provider.title} answers again; it failed before (${lastFailure}) and one more failure takes it out.`,
      };
    }
    return seen;
  }

  /** Does something to a provider's state and tells what became of its health. */
  function change(id: string, work: (state: State) => void): ProviderHealth {
    const found = get(id);
    const before = effective(found);
    work(found.state);
    const after = effective(found);
    if (before.status === after.status || closed) return after;
    deps.emit("providers", {});
    // A first look is no change.
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
          nextStep: "Start it again, then check the tools' health.",
        });
      }, times.timeout);
      timer.unref();
    });
    const runProbe = async () => {
      try {
        return await provider.probe(stop.signal);
      } catch (error) {
        if (!(error instanceof LancelotError)) deps.log(`looking at ${provider.id} failed`, error);
        const message = error instanceof LancelotError ? error.message : `${provider.title} could not be looked at; the log says why.`;
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
        // It works, whatever the last look said.
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
