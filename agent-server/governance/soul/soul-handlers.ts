import type { Handlers } from "../../contract/table.ts";
import type { SoulService } from "./types.ts";

/** The contract's soul methods. */
export function soulHandlers(
  soul: SoulService,
): Pick<
  Handlers,
  | "soul.status"
  | "soul.get"
  | "soul.lint"
  | "soul.propose"
  | "soul.proposals"
  | "soul.approve"
  | "soul.reject"
  | "soul.activate"
  | "soul.rollback"
> {
  return {
    "soul.status": () => soul.status(),
    "soul.get": ({ version }) => soul.get(version),
    "soul.lint": ({ yaml }) => {
      const issues = soul.lint(yaml);
      return { valid: !issues.some((issue) => issue.severity === "critical"), issues };
    },
    // A caller without the owner's token proposes as the agent.
    "soul.propose": ({ yaml, reason }, call) => soul.propose({ yaml, reason, by: call.owner ? "owner" : "agent", questId: null }),
    "soul.proposals": ({ status, limit }) => ({ items: soul.proposals({ status, limit }) }),
    "soul.approve": ({ id }) => soul.approve(id),
    "soul.reject": ({ id, reason }) => soul.reject(id, reason),
    "soul.activate": ({ id }) => soul.activate(id),
    "soul.rollback": ({ version }) => soul.rollback(version),
  };
}
