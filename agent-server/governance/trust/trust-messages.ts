import type { Tier } from "../../contract/common.ts";
import type { TrustKey } from "../decision-facts.ts";

const effects: Readonly<Record<Tier, string>> = {
  T0: "it is treated as read-only",
  T1: "it is treated as reversible and verified in the background",
  T2: "it no longer requires approval by its tier, and is verified at once",
  T3: "it requires your approval each time",
};

export function actionLabel({ capability, action, scope }: TrustKey): string {
  return `${capability}.${action} on ${scope === "" ? "anything" : scope}`;
}

/** The evidence for a lower tier, and the effect of accepting it. */
export function proposalMessage(key: TrustKey, from: Tier, to: Tier, successes: number): string {
  return `${actionLabel(key)} succeeded ${successes} times in a row at ${from}. If you accept, it moves to ${to}: ${effects[to]}. Soul and policy rules still apply. One failure resets it.`;
}

export function confirmationMessage(key: TrustKey, to: Tier, failures: number, minutes: number): string {
  return `${failures} ${key.capability} actions failed within ${minutes} minutes at lowered tiers, so all lowered tiers of ${key.capability} are suspended. ${actionLabel(key)} was at ${to}; accept to restore that.`;
}

export const suspendedMessage = "Suspended after several failures. To restore the tier, accept it under Proposals.";
