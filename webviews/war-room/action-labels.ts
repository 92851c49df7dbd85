import { t } from "../shared/l10n.ts";

/** Returns the name of an action as it appears in the soul and the receipts, such as `shell_exec.run`. */
export function capabilityText({ capability, action }: { capability: string; action: string }): string {
  return `${capability}.${action}`;
}

/** Describes the scope of a learned pattern. */
export function patternText({ capability, action, scope }: { capability: string; action: string; scope: string | null }): string {
  const name = capabilityText({ capability, action });
  return scope === null ? name : t("{0}, {1}", name, scope);
}
