import type { AnsweredBy, Lane } from "../../agent-server/contract/router.ts";
import { t } from "./l10n.ts";
import type { Models } from "./store.ts";

/** Returns the display name of a lane. */
export function laneText(lane: Lane): string {
  switch (lane) {
    case "flagship_deep":
      return t("Deep");
    case "flagship_fast":
      return t("Fast");
    case "local_utility":
      return t("Local");
    case "local_redaction":
      return t("Redaction");
  }
}

/** Returns the provider's display name of a model, or its id. */
export function modelName(models: Models | null, { provider, model }: Pick<AnsweredBy, "provider" | "model">): string {
  return models?.items.find((item) => item.provider === provider && item.model === model)?.displayName ?? model;
}

/** Explains why this model answered, for a tooltip and a screen reader. */
export function answeredText({ displayName, model, lane, rationale }: AnsweredBy): string {
  const name = displayName === model ? model : t("{0} ({1})", model, displayName);
  return t("Answered by {0} in the {1} lane: {2}", name, laneText(lane), rationale);
}
