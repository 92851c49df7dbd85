import type { AnsweredBy, Lane } from "../../agent-server/contract/router.ts";
import { t } from "./l10n.ts";

/** A lane as people read it. */
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

/** Why this model answered, for a hint and a screen reader. */
export function answeredText({ displayName, model, lane, rationale }: AnsweredBy): string {
  const name = displayName === model ? model : t("{0} of {1}", model, displayName);
  return t("Answered by {0}, lane {1}. {2}", name, laneText(lane), rationale);
}
