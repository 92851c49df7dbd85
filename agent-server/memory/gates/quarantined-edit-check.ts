import type { MemoryProblem } from "../../contract/memory.ts";
import type { Redactor } from "../../security/security.ts";
import type { Author, GatedEdit } from "../item-types.ts";
import type { MemoryDeps } from "../types.ts";
import { checkedProvenance } from "./evidence-gate.ts";
import { findInjections, type InjectionRules } from "./injection-gate.ts";
import { scrub } from "./secret-gate.ts";

/** Current problems of a quarantined edit: the tables, the soul and the evidence may have changed. */
export function checkQuarantinedEdit(
  { edit, author }: { readonly edit: GatedEdit; readonly author: Author["by"] },
  {
    redactor,
    rules,
    forbids,
    evidence,
  }: { redactor: Redactor; rules: InjectionRules; forbids: MemoryDeps["forbids"]; evidence: MemoryDeps["evidence"] },
): MemoryProblem[] {
  const problems: MemoryProblem[] = [];
  const add = (rule: string, message: string): void => {
    problems.push({ rule, message });
  };
  if (edit.target === "core:persona") add("memory.persona", "The persona comes from the soul and is never edited.");
  if (edit.op === "delete") return problems;
  const text = edit.content ?? "";
  if (scrub(text, redactor) !== text) add("memory.secret", "It holds a secret.");

  const forbidden = forbids(text);
  const isOwners = edit.provenance.source === "user";
  // A personal text of the owner is approved by promoting it.
  if (forbidden !== null && !(forbidden.personal && isOwners)) add(forbidden.rule, forbidden.message);

  const found = findInjections([text, edit.tags.join(" ")], rules);
  // The owner's own text that was in use before may be restored.
  const wasInUse = edit.op === "set_aside" && isOwners;
  if (found.syntax.length > 0 && !wasInUse) add("memory.injection", `It contains parts of a prompt (${found.syntax.join(", ")}).`);
  if (wasInUse) return problems;
  if (found.overrides.length > 0) add("memory.injection", `It looks like an attempt to bypass you (${found.overrides.join(", ")}).`);
  if (author === "owner" || edit.op === "set_aside") return problems;

  const claimed = checkedProvenance({ edit, author: { by: author, questId: null } }, evidence);
  const isSupported = isOwners && claimed.provenance.source === "user";
  if (isOwners && !isSupported) add("memory.evidence", claimed.problem ?? "The message that supports it was deleted.");
  if (edit.target === "core:human" && !isOwners) add("memory.evidence", "None of your messages supports it.");
  if (found.instructions.length > 0 && !isSupported)
    add("memory.injection", `It gives instructions (${found.instructions.join(", ")}) that none of your messages supports.`);
  return problems;
}
