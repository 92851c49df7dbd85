import type { Author, GatedEdit, Verdict } from "../item-types.ts";

/** An edit on its way through the gates: each answers with what is left of it, or refuses it. */
export interface Passing {
  readonly edit: GatedEdit;
  readonly author: Author;
  /** True when the words are the owner's own: written by them, or in a message of theirs that says so. */
  readonly verified: boolean;
  /** What the gates changed, in words for the owner and the model. */
  readonly notes: readonly string[];
  /** Why it waits for the owner; null when it need not. */
  readonly why: string | null;
}

export type Refusal = Extract<Verdict, { kind: "refuse" }>;
export type Step = Passing | Refusal;

export function refuse(rule: string, message: string, ...alternatives: readonly string[]): Refusal {
  return { kind: "refuse", problem: { rule, message }, alternatives };
}

export function isRefusal(step: Step): step is Refusal {
  return "kind" in step;
}

/** The words of the owner's own hand: nobody else's came between. */
export function isOwnersHand({ author, edit }: Pick<Passing, "author" | "edit">): boolean {
  return author.by === "owner" && edit.provenance.source === "user";
}
