import { randomUUID } from "node:crypto";
import { LancelotError } from "../../contract/errors.ts";
import type { ModelOverride, RouterDecision } from "../../contract/router.ts";
import type { Handlers, Params, Result } from "../../contract/table.ts";
import { decisionOf } from "../model-calls.ts";
import type { ConfigIssue } from "../config-issue.ts";
import type { Breakers } from "../resilience/breakers.ts";
import type { Connectivity } from "../resilience/connectivity.ts";
import type { LoadedRouter } from "./router-config.ts";
import type { Decisions } from "./decisions.ts";
import { chooseLane } from "./lanes.ts";
import type { CallTask } from "./types.ts";
import type { Router } from "./router.ts";

/** The router's state for display. */
export interface RouterView {
  /** The route of a text. Nothing is executed, stored or recorded. */
  decide(params: Params<"router.decide">, override: ModelOverride | undefined): Promise<RouterDecision>;
  decisions(params: Params<"router.decisions">): Result<"router.decisions">;
  stats(): Result<"router.stats">;
  /** The current problems of providers; empty without any. */
  degraded(): string[];
}

export function createRouterView(deps: {
  router: Router;
  decisions: Decisions;
  breakers: Breakers;
  connectivity: Connectivity;
  rules: () => LoadedRouter;
}): RouterView {
  return {
    async decide({ taskType, text, questId }, override) {
      const task: CallTask = { type: taskType, text, override };
      try {
        return decisionOf(await deps.router.route(task), questId ?? null);
      } catch (error) {
        if (!(error instanceof LancelotError)) throw error;
        const { lane, rule, rationale } = chooseLane(deps.rules().config, task);
        const isLocal = lane.startsWith("local") && rule !== "override";
        return {
          id: randomUUID(),
          timestamp: new Date().toISOString(),
          taskType,
          lane,
          provider: "none",
          model: isLocal ? "rules" : "",
          rationale: isLocal
            ? `${rationale} Rules are used, since no local model is available (${error.message}).`
            : `${rationale} ${error.message}`,
          rule,
          alternatives: [],
          elapsedMs: 0,
          success: null,
          error: isLocal ? null : error.message,
          questId: questId ?? null,
          receiptId: null,
        };
      }
    },
    decisions: ({ limit, questId }) => ({ items: deps.decisions.list(limit, questId) }),
    stats() {
      const { problem, notices } = deps.rules();
      const words = [problem, ...notices].filter((line) => line !== null).join(" ");
      return {
        ...deps.decisions.stats(),
        breakers: deps.breakers.states(),
        problem: words === "" ? null : words,
        offline: deps.connectivity.isOffline(),
      };
    },
    degraded() {
      const open = deps.breakers.states().filter(({ state }) => state !== "closed");
      const { problem } = deps.rules();
      return [
        ...(deps.connectivity.isOffline() ? ["No model provider can be reached: there seems to be no network."] : []),
        ...open.map(({ provider, reason }) => `${provider} is paused after repeated failures. ${reason ?? ""}`.trim()),
        ...(problem === null ? [] : [problem]),
      ];
    },
  };
}

/** @param overrideOf the user's choice for a task */
export function routerHandlers(
  { router: view, lint }: { router: RouterView; lint(file: "models" | "router", text: string): ConfigIssue[] },
  overrideOf: (questId: string) => ModelOverride | undefined,
): Pick<Handlers, "router.decide" | "router.decisions" | "router.stats" | "models.lint"> {
  return {
    "models.lint": ({ file, yaml }) => {
      const issues = lint(file, yaml).map((issue) => ({ ...issue, rule: "schema" }));
      return { valid: !issues.some(({ severity }) => severity === "critical"), issues };
    },
    "router.decide": (params) => view.decide(params, params.questId === undefined ? undefined : overrideOf(params.questId)),
    "router.decisions": (params) => view.decisions(params),
    "router.stats": () => view.stats(),
  };
}
