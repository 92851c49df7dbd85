import { LancelotError } from "../../contract/errors.ts";
import type { Lane, ModelOverride } from "../../contract/router.ts";
import type { LoadedConfig, Profile } from "../models-config.ts";
import type { createListing } from "../model-list.ts";
import type { Local } from "../local/types.ts";
import type { ActiveModel } from "../request.ts";
import type { Candidate, Selection } from "../provider-selection.ts";
import type { RouterConfig } from "./router-config.ts";

/** The target of a call: a provider, its profile, and the model. */
export interface Target {
  readonly lane: Lane;
  readonly candidate: Candidate;
  readonly profile: Profile;
  readonly model: ActiveModel;
  /** A note for the rationale, for example that the deep model is the fast one. */
  readonly note: string | null;
}

/** A lane to resolve to its provider and model. */
export interface Wanted {
  readonly lane: Lane;
  readonly profile?: "fast" | "deep" | "cache" | undefined;
  readonly override?: ModelOverride | undefined;
  /** Name in models.yaml that overrides the configured one. */
  readonly provider?: string | undefined;
}

export interface TargetsDeps {
  selection: Selection;
  listing: ReturnType<typeof createListing>;
  local: Pick<Local, "model">;
  /** LANCELOT_PROVIDER. */
  chosen: string | undefined;
}

export type Targets = ReturnType<typeof createTargets>;

const timeoutMs = 15_000;

export function createTargets({ selection, listing, local, chosen }: TargetsDeps) {
  /**
   * @param loaded the current models.yaml
   * @throws LancelotError `unavailable` with the next step when there is no usable target
   */
  async function resolve(wanted: Wanted, loaded: LoadedConfig, router: RouterConfig): Promise<Target> {
    const { lane, override } = wanted;
    const configured = lane === "local_redaction" ? router.lanes.local_utility : router.lanes[lane];
    const laneProvider = configured?.provider ?? (lane.startsWith("local") ? "local" : undefined);
    const name = override?.provider ?? wanted.provider ?? laneProvider;
    const candidate = name === undefined ? await selection.select(loaded, chosen) : await selection.named(name, loaded, chosen);
    if (lane.startsWith("local") && !isOnThisMachine(candidate))
      throw new LancelotError(
        "unavailable",
        `${candidate.displayName} is not on this machine, so the lane ${lane} cannot use it. Set a local provider in config/router.yaml.`,
        { data: { what: "model", action: "choose_model" } },
      );
    const model = override?.model ?? ((await isOfLane()) ? configured?.model : undefined);
    const wantedProfile = wanted.profile ?? (lane === "flagship_deep" ? "deep" : "fast");
    if (candidate.kind === "local") return ofLocal(candidate, loaded, lane, model);
    const profile = profileOf(candidate, wantedProfile);
    const given: Profile = model === undefined || model === profile.model ? profile : { ...profile, model, context_window: undefined };
    const used = candidate.kind === "vscode" && given.model === "auto" ? { ...given, model: await editorsModel(candidate) } : given;
    return {
      lane,
      candidate,
      profile: used,
      model: describe(candidate, used, loaded),
      note:
        lane === "flagship_deep" && model === undefined && !hasOwnDeep(candidate)
          ? `${candidate.displayName} has no deep profile in models.yaml, so its fast model is used.`
          : null,
    };

    /** The model configured for a lane is never sent to another provider. Without a provider of its own, the lane uses the active one. */
    async function isOfLane(): Promise<boolean> {
      if (configured?.model === undefined) return false;
      if (override?.provider !== undefined) return override.provider === configured.provider;
      if (wanted.provider === undefined) return true;
      const owner = laneProvider ?? (await selection.select(loaded, chosen).catch(() => null))?.name;
      return owner === wanted.provider;
    }
  }

  async function ofLocal(candidate: Candidate, loaded: LoadedConfig, lane: Lane, wanted: string | undefined): Promise<Target> {
    const note = lane === "flagship_deep" ? "The local provider has only one model." : null;
    // The local model runs on this machine, whatever lane it answers for.
    const own: Lane = lane === "local_redaction" ? lane : "local_utility";
    const { name: provider, kind, displayName } = candidate;
    if (candidate.connection === null) {
      const { name, contextWindow, small } = await local.model();
      if (wanted !== undefined && wanted !== name)
        throw new LancelotError(
          "unavailable",
          `The local model is ${name}, not ${wanted}. Choose another provider for ${wanted}, or omit the model.`,
          { data: { what: "model", action: "choose_model" } },
        );
      const model = { provider, kind, model: name, displayName, contextWindow, small };
      return { lane: own, candidate, profile: { model: name, max_tokens: 2048 }, model, note };
    }
    const { local: configured } = loaded.config;
    const name = wanted ?? (await serverModel(candidate, configured.model));
    const contextWindow = configured.context_window ?? listing.window(candidate, name) ?? 8192;
    const model = { provider, kind, model: name, displayName, contextWindow, small: configured.small };
    return { lane: own, candidate, profile: { model: name, max_tokens: 2048 }, model, note };
  }

  function describe(candidate: Candidate, profile: Profile, loaded: LoadedConfig): ActiveModel {
    const { name: provider, kind, displayName } = candidate;
    const contextWindow =
      profile.context_window ?? listing.window(candidate, profile.model) ?? (kind === "openai_compatible" ? 32_768 : 128_000);
    const notice = loaded.problem === null ? {} : { notice: loaded.problem };
    return { provider, kind, model: profile.model, displayName, contextWindow, small: candidate.config?.small ?? false, ...notice };
  }

  /** The model of a local server: the configured one, otherwise the first that it lists. */
  async function serverModel(candidate: Candidate, named: string): Promise<string> {
    if (named !== "auto") return named;
    const [first] = await listing.ask(candidate, AbortSignal.timeout(timeoutMs));
    if (first !== undefined) return first.model;
    throw new LancelotError("unavailable", "The local server lists no models. Load one there, or set local.model in config/models.yaml.");
  }

  /** The first model that the editor offers. */
  async function editorsModel(candidate: Candidate): Promise<string> {
    const [first] = await listing.ask(candidate, AbortSignal.timeout(timeoutMs));
    if (first !== undefined) return first.model;
    const message =
      "VS Code offers no language model. Install or sign in to an extension that offers one (such as GitHub Copilot), or choose another provider.";
    throw new LancelotError("unavailable", message, { data: { what: "model", action: "choose_model" } });
  }

  return { resolve };
}

/** The profile of a provider; the fast one where it is missing. @throws LancelotError `unavailable` */
export function profileOf(candidate: Candidate, lane: "fast" | "deep" | "cache"): Profile {
  const profile = candidate.config?.[lane] ?? candidate.config?.fast;
  if (profile === undefined) throw new LancelotError("unavailable", `${candidate.displayName} has no fast profile in config/models.yaml.`);
  return profile;
}

/** Whether the deep profile differs from the fast one: another model, or thinking. */
export function hasOwnDeep(candidate: Candidate): boolean {
  const { fast, deep } = candidate.config ?? {};
  if (deep === undefined || fast === undefined) return deep !== undefined;
  return deep.model !== fast.model || (deep.thinking?.enabled ?? false) !== (fast.thinking?.enabled ?? false);
}

/** Whether the model runs on this machine: nothing leaves it, and a long prompt may take minutes before the first token. */
export function isOnThisMachine({ kind, connection }: Candidate): boolean {
  if (connection === null) return kind === "local";
  const { hostname } = new URL(connection.baseUrl);
  return (kind === "local" || kind === "openai_compatible") && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
