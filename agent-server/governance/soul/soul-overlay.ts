import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { SoulDocument } from "../../contract/soul.ts";
import type { ActiveSoul } from "../decision-facts.ts";
import { compileSoul, soulHash } from "./compile-soul.ts";
import type { SoulTerms } from "./soul-terms.ts";
import type { Redactor } from "../../security/security.ts";

const Terms = SoulDocument.shape.autonomy_posture.shape.requires_approval;
const Sentences = SoulDocument.shape.tone_invariants;

/** A stricter soul for a mode or a part of a task. Omitted fields keep the base's value. */
export const SoulOverlay = z.strictObject({
  /** Part of the version: `v2+review`. */
  name: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/),
  level: z.enum(["supervised", "autonomous"]).optional(),
  /** Replaces the base's list; may only contain terms that it covers. */
  allowed_autonomous: Terms.optional(),
  /** Added to the base's list. */
  requires_approval: Terms.optional(),
  risk_rules: SoulDocument.shape.risk_rules.unwrap().optional(),
  tone_invariants: Sentences.optional(),
  memory_ethics: Sentences.optional(),
  default_timeout_seconds: z.int().min(10).optional(),
  max_concurrent_jobs: z.int().min(0).optional(),
  max_job_duration_seconds: z.int().min(1).optional(),
  no_autonomous_irreversible: z.boolean().optional(),
  require_ready_state: z.boolean().optional(),
});
export type SoulOverlay = z.input<typeof SoulOverlay>;

/** The fields of an overlay that would widen its base, as sentences; empty when it only restricts. */
export function findWidenings(base: SoulDocument, overlay: z.output<typeof SoulOverlay>, terms: SoulTerms): string[] {
  const { autonomy_posture: posture, approval_rules: approval, scheduling_boundaries: scheduling } = base;
  const found: string[] = [];
  if (overlay.level === "autonomous" && posture.level !== "autonomous") found.push("level would go from supervised to autonomous");
  const permitted = posture.allowed_autonomous.map((term) => terms.autonomousCoverage(term));
  for (const term of overlay.allowed_autonomous ?? []) {
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
  for (const rule of overlay.risk_rules ?? []) {
    if (!rule.enforced && base.risk_rules.some((one) => one.name === rule.name && one.enforced)) {
      found.push(`the risk rule "${rule.name}" would no longer be enforced`);
    }
  }
  const larger = (name: string, requested: number | undefined, limit: number) => {
    if (requested !== undefined && requested > limit) found.push(`${name} would grow from ${limit} to ${requested}`);
  };
  larger("default_timeout_seconds", overlay.default_timeout_seconds, approval.default_timeout_seconds);
  larger("max_concurrent_jobs", overlay.max_concurrent_jobs, scheduling.max_concurrent_jobs);
  larger("max_job_duration_seconds", overlay.max_job_duration_seconds, scheduling.max_job_duration_seconds);
  if (overlay.no_autonomous_irreversible === false && scheduling.no_autonomous_irreversible) {
    found.push("jobs could do irreversible actions without approval");
  }
  if (overlay.require_ready_state === false && scheduling.require_ready_state) found.push("jobs could run before Lancelot is set up");
  return found;
}

/**
 * The base restricted by an overlay. It has its own version and hash, so that no cached decision of the base applies to it.
 * @throws LancelotError `conflict`, naming each field that would widen the base; `invalid_params` for an invalid overlay.
 */
export function restrict(base: ActiveSoul, overlay: SoulOverlay, deps: { terms: SoulTerms; redactor: Pick<Redactor, "text"> }): ActiveSoul {
  const parsed = SoulOverlay.safeParse(overlay);
  if (!parsed.success) throw new LancelotError("invalid_params", `Invalid soul overlay: ${z.prettifyError(parsed.error)}`);
  const restrictions = parsed.data;
  const wider = findWidenings(base.document, restrictions, deps.terms);
  if (wider.length > 0) {
    throw new LancelotError(
      "conflict",
      `The overlay ${restrictions.name} would widen soul ${base.version}: ${wider.join("; ")}. An overlay can only restrict.`,
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
