import type { Tier } from "../../contract/common.ts";
import type { TrustKey } from "../decision-facts.ts";

const treated: Readonly<Record<Tier, string>> = {
  T0: "it is treated like something that only looks",
  T1: "it is treated as something that can be undone, and is checked after it was done",
  T2: "it is treated as something with effects that are checked at once, and no longer waits for your approval each time by its tier",
  T3: "it waits for your approval each time",
};

export function nameOf({ capability, action, scope }: TrustKey): string {
  return `${capability}.${action} on ${scope === "" ? "anything" : scope}`;
}

/** What was seen, and what accepting it changes. */
export function proposalWords(key: TrustKey, from: Tier, to: Tier, successes: number): string {
  return `${nameOf(key)} went well ${successes} times in a row at ${from}. If you accept, it moves to ${to}: ${treated[to]}. What the soul or policy holds is still asked. One failure takes it back.`;
}

export function confirmationWords(key: TrustKey, to: Tier, failures: number, minutes: number): string {
  return `${failures} actions of ${key.capability} failed within ${minutes} minutes at tiers you had lowered, so everything it was granted is suspended. ${nameOf(key)} had moved to ${to}; accept to grant that again.`;
}

export const suspendedWords = "Suspended after several failures; it waits for your confirmation among the proposals.";
