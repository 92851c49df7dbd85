import type { Provenance } from "../../contract/memory.ts";
import type { MemoryDeps } from "../types.ts";
import { supports, touches } from "./evidence-support.ts";
import { type GateInput, refuse, type GateStep } from "./gate-step.ts";

/** A reference to something that can be looked up. */
const reference = /^(?:message|receipt):[\w.:-]{1,200}$/;

/**
 * The third gate looks up the claimed evidence. An agent's `user` holds only with a message of the owner that
 * says the same; `core:human` and global items require it.
 */
export function checkEvidence(input: GateInput, lookUp: MemoryDeps["evidence"]): GateStep {
  const { edit, author } = input;
  if (author.by === "owner") return { ...input, verified: edit.provenance.source === "user" };
  if (author.by === "system" && edit.provenance.source === "system") return input;

  const { provenance, problem } = checkedProvenance(input, lookUp);
  const verified = provenance.source === "user";
  const notes = problem === null ? input.notes : [...input.notes, problem];
  const alternatives = [
    "Give provenance user with the message in which the owner said it (message:<id>), in the owner's own words and language.",
    "Ask the owner.",
  ];
  if (edit.target === "core:human" && !verified)
    return refuse(
      "memory.evidence",
      `Memory about the owner needs the owner's own words as evidence. ${problem ?? "None are given."}`,
      ...alternatives,
    );
  if (edit.namespace === "global" && edit.target === "archival" && !verified)
    return refuse(
      "memory.evidence",
      `A global memory needs the owner's own words as evidence. ${problem ?? "None are given."}`,
      ...alternatives,
      "Use the namespace workspace.",
    );
  return { ...input, edit: { ...edit, provenance }, verified, notes };
}

/** The verified provenance, and the problem of the claimed one. */
export function checkedProvenance(
  { edit, author }: Pick<GateInput, "edit" | "author">,
  lookUp: MemoryDeps["evidence"],
): { provenance: Provenance; problem: string | null } {
  const { source, ref } = edit.provenance;
  const known = ref !== undefined && reference.test(ref) ? lookUp(ref) : null;
  const isReference = ref !== undefined && /^(?:message|receipt):/i.test(ref.trim());
  const kept = ref === undefined || (isReference && known === null) ? {} : { ref };
  const as = (claim: Provenance["source"], problem: string | null): { provenance: Provenance; problem: string | null } => ({
    provenance: { source: claim, ...kept },
    problem,
  });
  if (source === "user") {
    if (ref === undefined) return as("agent", "No message of the user is given, so it counts as the agent's.");
    if (known === null) return as("agent", "The given message does not exist, so it counts as the agent's.");
    if (known.source !== "user" || !ref.startsWith("message:"))
      return as(
        known.source === "tool" ? "tool" : "agent",
        "The evidence is not a message of the user, so it does not count as the user's words.",
      );
    const isSupported =
      edit.content === null ? touches(`${edit.selector ?? ""}\n${edit.reason}`, known.text) : supports(edit.content, known.text);
    return isSupported ? as("user", null) : as("agent", "The given message does not say this, so it counts as the agent's.");
  }
  if (isReference && known === null)
    return as(source === "system" ? "agent" : source, "The given evidence does not exist; it was removed.");
  if (known?.source === "tool") return as("tool", null);
  return as(source === "system" && author.by !== "system" ? "agent" : source, null);
}
