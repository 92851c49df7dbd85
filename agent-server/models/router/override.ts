import { LancelotError } from "../../contract/errors.ts";
import type { ModelOverride } from "../../contract/router.ts";
import type { LoadedConfig } from "../models-config.ts";
import type { Selection } from "../provider-selection.ts";
import { isOnThisMachine } from "./targets.ts";

/**
 * Checks whether a user's choice for a task can be used: its provider is in models.yaml and available, and a local lane is not combined with
 * a remote provider. The provider itself checks the model.
 * @throws LancelotError `not_found`, `unavailable` or `invalid_params`
 */
export async function checkOverride(override: ModelOverride, deps: { selection: Selection; config: () => LoadedConfig }): Promise<void> {
  const { config } = deps.config();
  const { lane, model } = override;
  const provider = override.provider ?? (lane === "local_utility" ? "local" : undefined);
  if (provider === undefined) return;
  const candidate = await deps.selection.candidate(provider, config);
  if (candidate === null)
    throw new LancelotError(
      "not_found",
      `config/models.yaml has no provider named "${provider}" (${[...new Set([...Object.keys(config.providers), "local"])].join(", ")}).`,
    );
  if (candidate.problem !== null)
    throw new LancelotError("unavailable", candidate.problem, { data: { what: "model", action: "choose_model" } });
  if (lane === "local_utility" && !isOnThisMachine(candidate))
    throw new LancelotError(
      "invalid_params",
      `${candidate.displayName} is not on this machine. Choose the provider local, or another lane.`,
    );
  if (model !== undefined && candidate.kind === "local" && candidate.connection === null)
    throw new LancelotError(
      "invalid_params",
      "The local model cannot be set for one task. Omit the model, or set it with *Lancelot: Choose Model*.",
    );
}
