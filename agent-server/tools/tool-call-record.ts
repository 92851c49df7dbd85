import type { Approval, Decision } from "../contract/governance.ts";
import type { ToolPart } from "../contract/chat.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Placeholders, Redactor, Sanitizer } from "../security/security.ts";
import type { LancelotError } from "../contract/errors.ts";
import type { RouteDecision } from "../contract/providers.ts";
import { type Execution, brief, highestTier, type Provider } from "../execution/execution.ts";
import { boundText, describeUnknownPlaceholders } from "../workspace/workspace.ts";
import type { Chosen } from "./routing/capability-router.ts";
import { toProvider } from "./routing/provider-failover.ts";
import type { Tool } from "./tool.ts";
import { asRecord } from "./tool-arguments.ts";
import type { ToolCall, ToolOutcome } from "./types.ts";

/** The card, the receipt and the answer of one tool call while it runs. */
export interface ToolCallRecord {
  readonly card: Partial<ToolPart>;
  /** The provider of the call; null before it is chosen, and where there is no choice. */
  chosen: Chosen | null;
  /** What a command changed, for the model. */
  changed: string;
  show(update: Partial<ToolPart>): void;
  decided(decisions: readonly Decision[], approvalId: string | null): void;
  waiting(approval: Approval): void;
  /** Writes the receipt of a call that had no effect. */
  receipt(status: "success" | "failure" | "cancelled", tool: Tool | null, outputs: Record<string, unknown>, error: string | null): void;
  /** For the receipt: which instructions to the model an output contains. The output itself is passed on, marked as data. */
  injections(tool: Tool, text: string): { injection?: string[] };
  /** The provider for the receipt, with the reason where there was a choice. */
  providerOf(tool: Tool): { provider: Provider; route?: Record<string, unknown> };
  finish(
    status: ToolPart["status"],
    text: string,
    more: { error?: LancelotError; isError: boolean; changeId?: string | null; hint?: string | undefined },
  ): ToolOutcome;
}

export interface ToolCallRecordDeps {
  readonly execution: Pick<Execution, "verifications">;
  readonly ledger: Pick<Ledger, "record" | "ready">;
  readonly redactor: Redactor;
  readonly sanitizer: Sanitizer;
  readonly placeholders: Placeholders;
}

export function createToolCallRecord(deps: ToolCallRecordDeps, call: ToolCall): ToolCallRecord {
  const started = performance.now();
  const placeholders = call.quest === null ? null : deps.placeholders.of(call.quest);
  const redactor = placeholders?.secrets ?? deps.redactor;
  const elapsed = (): number => Math.round(performance.now() - started);
  let decisions: readonly Decision[] = [];

  const record: ToolCallRecord = {
    card: { title: call.tool, rules: [] },
    chosen: null,
    changed: "",

    show(update) {
      Object.assign(record.card, update);
      call.onUpdate?.(update);
    },

    decided(made, approvalId) {
      decisions = made;
      const strictest = made.toSorted((a, b) => (a.tier < b.tier ? 1 : -1))[0];
      if (strictest === undefined) return;
      const { tier, verdict } = strictest;
      record.show({ status: "running", tier, verdict, rules: made.flatMap(({ rules }) => rules), approvalId });
    },

    waiting({ id, tier, rules }) {
      record.show({ status: "waiting", tier, verdict: "ask", rules, approvalId: id });
    },

    receipt(status, tool, outputs, errorMessage) {
      const receiptId = deps.ledger.record(
        {
          actionType: tool?.actionType ?? "tool_call",
          actionName: call.tool,
          inputs: asRecord(call.args),
          riskTier: highestTier(decisions),
          parentId: call.parent,
          questId: call.quest,
          metadata: { ...(tool === null ? {} : record.providerOf(tool)), decision: brief(decisions) },
        },
        { status, outputs, errorMessage, durationMs: elapsed() },
      );
      record.show({ receiptId });
    },

    injections(tool, text) {
      if (tool.capability === "quest") return {};
      const findings = deps.sanitizer.inspect(text).findings.map(({ rule }) => rule);
      if (findings.length === 0) return {};
      record.show({ findings });
      return { injection: findings };
    },

    providerOf(tool) {
      if (record.chosen === null) return { provider: tool.provider };
      const { route, provider } = record.chosen;
      return { provider: toProvider(provider), ...(tool.routed === true ? { route: boundRoute(route) } : {}) };
    },

    finish(status, text, more) {
      const bounded = boundText(redactor.text(text).text, more.hint ?? "Request a smaller part.").text;
      const parts = [
        bounded,
        record.changed === "" ? "" : redactor.text(record.changed).text,
        describeUnknownPlaceholders(placeholders, call.args),
      ];
      const answer = parts.filter((part) => part !== "").join("\n\n");
      const failures = status === "cancelled" || call.quest === null ? "" : deps.execution.verifications.takeFailures(call.quest);
      const output = failures === "" ? answer : `${answer}\n\n[Verification of earlier actions: ${redactor.text(failures).text}]`;
      const changeId = more.changeId ?? null;
      record.show({ status, output, durationMs: elapsed(), changeId });
      return {
        text: output,
        isError: more.isError,
        receiptId: record.card.receiptId ?? null,
        changeId,
        card: record.card,
        ...(more.error === undefined ? {} : { error: more.error }),
      };
    },
  };
  return record;
}

/** A route, cut to what a receipt needs. */
function boundRoute({ reason, alternatives }: RouteDecision): Record<string, unknown> {
  return {
    reason: reason.slice(0, 500),
    alternatives: alternatives.slice(0, 8).map(({ provider, usable, reason: why }) => ({ provider, usable, reason: why.slice(0, 200) })),
  };
}
