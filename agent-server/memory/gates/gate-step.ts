import type { Author, GatedEdit, Verdict } from "../item-types.ts";

/** An edit on its way through the gates: each gate returns the edit as it accepts it, or a refusal. */
export interface GateInput {
  readonly edit: GatedEdit;
  readonly author: Author;
  /** True for the owner's own statement: written by them, or supported by a message of theirs. */
  readonly verified: boolean;
  /** Changes by the gates, as messages for the owner and the model. */
  readonly notes: readonly string[];
  /** The reason it waits for the owner; null when it does not. */
  readonly why: string | null;
}

export type Refusal = Extract<Verdict, { kind: "refuse" }>;
export type GateStep = GateInput | Refusal;

export function refuse(rule: string, message: string, ...alternatives: readonly string[]): Refusal {
  return { kind: "refuse", problem: { rule, message }, alternatives };
}

export function isRefusal(step: GateStep): step is Refusal {
  return "kind" in step;
}

/** True when the owner wrote it directly. */
export function isDirectOwnerEdit({ author, edit }: Pick<GateInput, "author" | "edit">): boolean {
  return author.by === "owner" && edit.provenance.source === "user";
}
