import type { DoctorLine } from "../../contract/providers.ts";
import type { Handlers } from "../../contract/table.ts";
import { type Ledger, withReceipt } from "../../receipts/receipts.ts";
import type { Routing } from "./routing.ts";

type Names =
  | "tools.providers"
  | "tools.health"
  | "tools.route"
  | "tools.doctor"
  | "tools.sandbox"
  | "tools.sandbox.build"
  | "tools.sandbox.cancelBuild"
  | "tools.sandbox.restart";

export function routingHandlers(
  routing: Routing,
  ledger: Pick<Ledger, "open" | "close">,
  more: { readonly lines: () => DoctorLine[]; readonly configProblems: () => Readonly<Record<string, string | null>> },
): Pick<Handlers, Names> {
  const byHand = <T>(actionName: string, work: () => Promise<T>): Promise<T> =>
    withReceipt(ledger, { actionType: "user_interaction", actionName, inputs: {}, riskTier: "T1" }, work);
  return {
    "tools.providers": () => ({ items: routing.providers() }),
    "tools.health": () => routing.health(),
    "tools.route": ({ capability, action }) => routing.route(capability, action),
    "tools.doctor": async () => ({ items: [...(await routing.doctor(more.configProblems())), ...more.lines()] }),
    "tools.sandbox": () => routing.sandbox.state(),
    "tools.sandbox.build": () => byHand("tools.sandbox.build", routing.sandbox.build),
    "tools.sandbox.cancelBuild": () => byHand("tools.sandbox.cancelBuild", routing.sandbox.cancelBuild),
    "tools.sandbox.restart": () => byHand("tools.sandbox.restart", routing.sandbox.restart),
  };
}
