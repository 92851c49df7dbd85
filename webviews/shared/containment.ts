import type { Containment } from "../../agent-server/contract/providers.ts";
import { t } from "./l10n.ts";

/** Describes what becomes of a command's changes. */
export function containmentText(containment: Containment): string {
  switch (containment) {
    case "transactional":
    case "copied":
      return t("Changes are proposed: nothing reaches the workspace before it is judged");
    case "watched":
      return t("Works in the workspace; its changes are detected and can be undone");
    case "host":
      return t("No containment: its changes are detected in the workspace only");
  }
}
