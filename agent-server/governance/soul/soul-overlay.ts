import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { SoulDocument } from "../../contract/soul.ts";
import type { ActiveSoul } from "../decision-facts.ts";
import { compileSoul, soulHash } from "./compile-soul.ts";
import type { SoulTerms } from "./soul-terms.ts";
import type { Redactor } from "../../security/security.ts";

const Terms = SoulDocument.shape.autonomy_posture.shape.requires_approval;
const Sentences = SoulDocument.shape.tone_invariants;

/** A stricter soul for a mode or a part of a task. Fields that are left out stay as they are. */
export const SoulOverlay = z.strictObject({
  /** Stands in the version: `v2+review`. */
  name: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/),
  level: z.enum(["supervised", "autonomous"]).optional(),
  /** Instead of the base's list; only what is in it. */
  allowed_autonomous: Terms.optional(),
  /** Added to the base's. */
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

/** What in an overlay would widen its base: sentences, empty when it only restricts. */
export function findWidenings(base: SoulDocument, overlay: z.output<typeof SoulOverlay>, terms: SoulTerms): string[] {
  const { autonomy_posture: posture, approval_rules: approval, scheduling_boundaries: scheduling } = base;
  const found: string[] = [];
  if (overlay.level === "autonomous" && posture.level !== "autonomous") found.push("level would go from supervised to autonomous");
  const permitted = posture.allowed_autonomous.map((term) => terms.permits(term));
  for (const term of overlay.allowed_autonomous ?? []) {
    const wish = terms.permits(term);
    // What permits nothing widens nothing.
    if (wish === null) continue;
    const within = permitted.some(
      (one) =>
        one !== null &&
        [...wish.kinds].every((kind) => one.kinds.has(kind)) &&
        [...wish.capabilities].every((capability) => one.capabilities.has(capability)) &&
        [...wish.actions].every((action) => one.actions.has(action) || one.capabilities.has(action.slice(0, action.indexOf(".")))),
    );
    if (!within) found.push(`"${term}" would be allowed without asking`);
  }
  for (const rule of overlay.risk_rules ?? []) {
    if (!rule.enforced && base.risk_rules.some((one) => one.name === rule.name && one.enforced)) {
      found.push(`the risk rule "${rule.name}" would no longer be enforced`);
    }
  }
  const larger = (name: string, wish: number | undefined, limit: number) => {
    if (wish !== undefined && wish > limit) found.push(`${name} would grow from ${limit} to ${wish}`);
  };
  larger("default_timeout_seconds", overlay.default_timeout_seconds, approval.default_timeout_seconds);
  larger("max_concurrent_jobs", overlay.max_concurrent_jobs, scheduling.max_concurrent_jobs);
  larger("max_job_duration_seconds", overlay.max_job_duration_seconds, scheduling.max_job_duration_seconds);
  if (overlay.no_autonomous_irreversible === false && scheduling.no_autonomous_irreversible) {
    found.push("jobs could do irreversible things by themselves");
  }
  if (overlay.require_ready_state === false && scheduling.require_ready_state) found.push("jobs could run before Lancelot is set up");
  return found;
}

/**
 * The base with an overlay on it, which can only restrict. Its version and hash are its own, so that no decision made for the base
 * is used for it.
 * @throws LancelotError `conflict`, naming everything that would widen the base; `invalid_params` for what is no overlay.
 */
export function restrict(base: ActiveSoul, overlay: SoulOverlay, deps: { terms: SoulTerms; redactor: Pick<Redactor, "text"> }): ActiveSoul {
  const parsed = SoulOverlay.safeParse(overlay);
  if (!parsed.success) throw new LancelotError("invalid_params", `This is no overlay of a soul: ${z.prettifyError(parsed.error)}`);
  const wish = parsed.data;
  const wider = findWidenings(base.document, wish, deps.terms);
  if (wider.length > 0) {
    throw new LancelotError(
      "conflict",
      `The overlay ${wish.name} would widen soul ${base.version}: ${wider.join("; ")}. An overlay can only restrict.`,
    );
  }
  const { autonomy_posture: posture, approval_rules: approval, scheduling_boundaries: scheduling } = base.document;
  const document: SoulDocument = {
    ...base.document,
    autonomy_posture: {
      ...posture,
      level: wish.level ?? posture.level,
      allowed_autonomous: wish.allowed_autonomous ?? posture.allowed_autonomous,
      requires_approval: [...posture.requires_approval, ...(wish.requires_approval ?? [])],
    },
    risk_rules: [...base.document.risk_rules, ...(wish.risk_rules ?? [])],
    approval_rules: { ...approval, default_timeout_seconds: wish.default_timeout_seconds ?? approval.default_timeout_seconds },
    tone_invariants: [...base.document.tone_invariants, ...(wish.tone_invariants ?? [])],
    memory_ethics: [...base.document.memory_ethics, ...(wish.memory_ethics ?? [])],
    scheduling_boundaries: {
      ...scheduling,
      max_concurrent_jobs: wish.max_concurrent_jobs ?? scheduling.max_concurrent_jobs,
      max_job_duration_seconds: wish.max_job_duration_seconds ?? scheduling.max_job_duration_seconds,
      no_autonomous_irreversible: wish.no_autonomous_irreversible ?? scheduling.no_autonomous_irreversible,
      require_ready_state: wish.require_ready_state ?? scheduling.require_ready_state,
    },
  };
  const soul = compileSoul({ version: `${base.version}+${wish.name}`, yaml: "", document }, deps.terms, deps.redactor);
  return { ...soul, sha256: soulHash(base.sha256 + JSON.stringify(wish)) };
}
