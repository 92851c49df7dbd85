import { t } from "../shared/l10n.ts";

/** A kind of action as people read it: `shell_exec.run` stays, so that it can be found in the soul and the receipts. */
export function capabilityText({ capability, action }: { capability: string; action: string }): string {
  return `${capability}.${action}`;
}

/** What a learned pattern covers, in words. */
export function patternText({ capability, action, scope }: { capability: string; action: string; scope: string | null }): string {
  const name = capabilityText({ capability, action });
  return scope === null ? name : t("{0}, {1}", name, scope);
}
