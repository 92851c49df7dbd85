import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { type SoulDocument, SoulScope } from "../../contract/soul.ts";
import type { ActiveSoul } from "../decision-facts.ts";
import { compileSoul, soulHash } from "./compile-soul.ts";
import type { SoulTerms } from "./soul-terms.ts";
import type { Redactor } from "../../security/security.ts";

/** The fields of a scope that would widen its base, as sentences; empty when it only restricts. */
export function findWidenings(base: SoulDocument, scope: SoulScope, terms: SoulTerms): string[] {
  const { autonomy_posture: posture, approval_rules: approval, scheduling_boundaries: scheduling } = base;
  const found: string[] = [];
  if (scope.level === "autonomous" && posture.level !== "autonomous") found.push("level would go from supervised to autonomous");
  const permitted = posture.allowed_autonomous.map((term) => terms.autonomousCoverage(term));
  for (const term of scope.allowed_autonomous ?? []) {
    const requested = terms.autonomousCoverage(term);
    // An unknown term permits nothing, so it widens nothing.
    if (requested === null) continue;
    const within = permitted.some(
      (one) =>
        one !== null &&
        [...requested.kinds].every((kind) => one.kinds.has(kind)) &&
        [...requested.capabilities].every((capability) => one.capabilities.has(capability)) &&
        [...requested.actions].every((action) => one.actions.has(action) || one.capabilities.has(action.slice(0, action.indexOf(".")))),
    );
    if (!within) found.push(`"${term}" would be allowed without asking`);
  }
  for (const rule of scope.risk_rules ?? []) {
    if (!rule.enforced && base.risk_rules.some((one) => one.name === rule.name && one.enforced)) {
      found.push(`the risk rule "${rule.name}" would no longer be enforced`);
    }
  }
  const larger = (name: string, requested: number | undefined, limit: number) => {
    if (requested !== undefined && requested > limit) found.push(`${name} would grow from ${limit} to ${requested}`);
  };
  larger("default_timeout_seconds", scope.default_timeout_seconds, approval.default_timeout_seconds);
  larger("max_concurrent_jobs", scope.max_concurrent_jobs, scheduling.max_concurrent_jobs);
  larger("max_job_duration_seconds", scope.max_job_duration_seconds, scheduling.max_job_duration_seconds);
  if (scope.no_autonomous_irreversible === false && scheduling.no_autonomous_irreversible) {
    found.push("jobs could do irreversible actions without approval");
  }
  if (scope.require_ready_state === false && scheduling.require_ready_state) found.push("jobs could run before Lancelot is set up");
  return found;
}

/**
 * The base restricted by a scope. It has its own version and hash, so that no cached decision of the base applies to it.
 * @throws LancelotError `conflict`, naming each field that would widen the base; `invalid_params` for an invalid scope.
 */
export function restrict(
  base: ActiveSoul,
  scope: z.input<typeof SoulScope>,
  deps: { terms: SoulTerms; redactor: Pick<Redactor, "text"> },
): ActiveSoul {
  const parsed = SoulScope.safeParse(scope);
  if (!parsed.success) throw new LancelotError("invalid_params", `Invalid soul scope: ${z.prettifyError(parsed.error)}`);
  const restrictions = parsed.data;
  const wider = findWidenings(base.document, restrictions, deps.terms);
  if (wider.length > 0) {
    throw new LancelotError(
      "conflict",
      `The scope ${restrictions.name} would widen soul ${base.version}: ${wider.join("; ")}. A scope can only restrict.`,
    );
  }
  const { autonomy_posture: posture, approval_rules: approval, scheduling_boundaries: scheduling } = base.document;
  const document: SoulDocument = {
    ...base.document,
    autonomy_posture: {
      ...posture,
      level: restrictions.level ?? posture.level,
      allowed_autonomous: restrictions.allowed_autonomous ?? posture.allowed_autonomous,
      requires_approval: [...posture.requires_approval, ...(restrictions.requires_approval ?? [])],
    },
    risk_rules: [...base.document.risk_rules, ...(restrictions.risk_rules ?? [])],
    approval_rules: { ...approval, default_timeout_seconds: restrictions.default_timeout_seconds ?? approval.default_timeout_seconds },
    tone_invariants: [...base.document.tone_invariants, ...(restrictions.tone_invariants ?? [])],
    memory_ethics: [...base.document.memory_ethics, ...(restrictions.memory_ethics ?? [])],
    scheduling_boundaries: {
      ...scheduling,
      max_concurrent_jobs: restrictions.max_concurrent_jobs ?? scheduling.max_concurrent_jobs,
      max_job_duration_seconds: restrictions.max_job_duration_seconds ?? scheduling.max_job_duration_seconds,
      no_autonomous_irreversible: restrictions.no_autonomous_irreversible ?? scheduling.no_autonomous_irreversible,
      require_ready_state: restrictions.require_ready_state ?? scheduling.require_ready_state,
    },
  };
  const soul = compileSoul({ version: `${base.version}+${restrictions.name}`, yaml: "", document }, deps.terms, deps.redactor);
  return { ...soul, sha256: soulHash(base.sha256 + JSON.stringify(restrictions)) };
}
