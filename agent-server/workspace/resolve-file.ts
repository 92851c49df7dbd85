import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";
import type { TargetFile } from "./workspace-files.ts";

export interface ResolvedFile extends TargetFile {
  readonly type: "file" | "directory" | "other" | "missing";
  readonly sensitive: "secret" | "protected" | null;
}

/** Resolves a path. @throws LancelotError `denied` with the rule when tools may not access it. */
export function resolveFile(scope: { readonly governance: Pick<Governance, "resolvePath"> }, asked: string): ResolvedFile {
  const resolved = scope.governance.resolvePath(asked);
  if (!resolved.ok) {
    const rule = { id: resolved.rule, source: "policy" as const, message: resolved.message };
    const decision = { verdict: "deny", tier: "T3", riskLevel: "high", rules: [rule], alternatives: [], cached: false };
    throw new LancelotError("denied", resolved.message, { data: { decision } });
  }
  const { absolute, display, inside, type, sensitive } = resolved;
  return { asked, absolute, display, inside, type, sensitive };
}
