import type { GovernanceStats } from "../contract/governance.ts";
import type { Handlers } from "../contract/table.ts";

import { learningHandlers } from "./learning/learning.ts";
import { soulHandlers } from "./soul/soul.ts";
import { trustHandlers } from "./trust/trust.ts";
import type { Governance } from "./types.ts";

type Names =
  | "policy.evaluate"
  | "policy.explain"
  | `approvals.${string}`
  | "governance.stats"
  | `soul.${string}`
  | `trust.${string}`
  | `learning.${string}`;

/** The contract's governance methods. `verifications` come from the execution pipeline. */
export function governanceHandlers(
  governance: Governance,
  verifications: () => GovernanceStats["verifications"],
): Pick<Handlers, Extract<keyof Handlers, Names>> {
  return {
    "policy.evaluate": ({ mode, cwd, job, ...intent }) =>
      governance.evaluate({
        ...intent,
        mode: mode ?? "normal",
        ...(cwd === undefined ? {} : { cwd }),
        ...(job === undefined ? {} : { job }),
      }),
    "policy.explain": ({ command, cwd }) => governance.explain(command, cwd),
    "approvals.list": ({ status, questId, limit }) => ({
      items: governance.approvals.list({ status: status ?? "pending", limit, ...(questId === undefined ? {} : { questId }) }),
    }),
    "approvals.decide": ({ id, decision, reason, scope }, { transport }) =>
      governance.approvals.decide(id, decision, reason, scope, transport),
    "approvals.askAgain": ({ id }, { transport }) => governance.approvals.askAgain(id, transport),
    "approvals.rules": () => ({ items: governance.approvals.rules() }),
    "approvals.revokeRule": ({ id }) => {
      governance.approvals.revokeRule(id);
      return {};
    },
    "governance.stats": ({ days }) => governance.stats(days, verifications()),
    ...soulHandlers(governance.soul),
    ...trustHandlers(governance.trust),
    ...learningHandlers(governance.learning),
  };
}
