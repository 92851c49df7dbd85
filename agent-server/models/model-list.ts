import { LancelotError } from "../contract/errors.ts";
import type { ModelInfo, ProviderState } from "../contract/models.ts";
import type { Local } from "./local/types.ts";
import type { ActiveModel } from "./request.ts";
import type { Provider } from "./providers/types.ts";
import { createProvider, type Candidate } from "./provider-selection.ts";

type Offer = Awaited<ReturnType<Provider["listModels"]>>;

const keptMs = 5 * 60_000;
const timeoutMs = 15_000;

/** The models of each provider, cached for five minutes. */
export function createListing(deps: { now: () => number }) {
  const offers = new Map<string, { key: string | null; baseUrl: string; at: number; offer: Offer }>();

  const kept = ({ name, connection }: Candidate) => {
    const known = offers.get(name);
    return known !== undefined && known.baseUrl === connection?.baseUrl && known.key === connection.key ? known : undefined;
  };

  /** @throws LancelotError with a message for the user */
  async function ask(candidate: Candidate, signal: AbortSignal): Promise<Offer> {
    const { name, connection, displayName } = candidate;
    if (connection === null) return [];
    const known = kept(candidate);
    if (known !== undefined && deps.now() - known.at < keptMs) return known.offer;
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const offer = await createProvider(connection).listModels(AbortSignal.any([signal, timeout]));
      offers.set(name, { key: connection.key, baseUrl: connection.baseUrl, at: deps.now(), offer });
      return offer;
    } catch (cause) {
      if (timeout.aborted && !signal.aborted)
        throw new LancelotError("unavailable", `${displayName} did not respond within ${timeoutMs / 1000} s.`, { cause });
      throw cause;
    }
  }

  async function listOne(candidate: Candidate, active: ActiveModel | null, local: Local, signal: AbortSignal) {
    const { name: provider, kind, displayName, config, hasKey } = candidate;
    const isActive = active?.provider === provider;
    let { problem } = candidate;
    let offer: Offer = [];
    if (problem === null)
      try {
        offer = kind === "local" && candidate.connection === null ? await describeLocal(local) : await ask(candidate, signal);
      } catch (cause) {
        if (signal.aborted) throw cause;
        problem = cause instanceof LancelotError ? cause.message : `${displayName} could not be reached.`;
      }
    const names = new Set(offer.map(({ model }) => model));
    for (const profile of [config?.fast, config?.deep, config?.cache]) {
      if (profile === undefined || names.has(profile.model)) continue;
      names.add(profile.model);
      offer = [...offer, { model: profile.model, displayName: profile.model, contextWindow: profile.context_window ?? null }];
    }
    const items = offer.map((one): ModelInfo => ({ provider, kind, ...one, active: isActive && active.model === one.model }));
    return { items, state: { provider, kind, displayName, active: isActive, hasKey, problem } satisfies ProviderState };
  }

  return {
    ask,
    /** Context window in tokens, where the provider reports it. */
    window: (candidate: Candidate, model: string): number | null =>
      kept(candidate)?.offer.find((one) => one.model === model)?.contextWindow ?? null,
    async list(candidates: readonly Candidate[], active: ActiveModel | null, local: Local, signal: AbortSignal) {
      const found = await Promise.all(candidates.map((candidate) => listOne(candidate, active, local, signal)));
      return { items: found.flatMap(({ items }) => items), providers: found.map(({ state }) => state) };
    },
  };
}

async function describeLocal(local: Local): Promise<Offer> {
  const { name, contextWindow } = await local.model();
  return [{ model: name, displayName: name, contextWindow }];
}
