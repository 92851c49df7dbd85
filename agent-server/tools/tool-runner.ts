import type { ToolPart } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Decision } from "../contract/governance.ts";
import type { RouteDecision } from "../contract/providers.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Placeholders, Redactor, Sanitizer } from "../security/security.ts";
import { asRecord, parseArguments } from "./tool-arguments.ts";
import { tagOf } from "./routing/provider-failover.ts";
import { feedback, isRefusal, refusalOf } from "../execution/refusals.ts";
import { touchedWords } from "../workspace/effects/effects.ts";
import type { Locks } from "../workspace/path-locks.ts";
import { feedbackFor, type GovernanceFeedback, type RefusedAction } from "../governance/governance.ts";
import { brief, decisionOf, highestTier, receiptOf } from "../execution/decisions.ts";
import type { Health } from "./routing/provider-health.ts";
import type { Provider, Road, Traveller } from "../execution/pipeline.ts";
import { refuseSecrets, unknownWords } from "../workspace/secret-placement.ts";
import type { Chosen, Router, RouteRequest } from "./routing/capability-router.ts";
import { boundText } from "../workspace/text/bounds.ts";
import type { Answer, Effect, Scope, Tool } from "./tool.ts";
import type { ToolCall, ToolOutcome } from "./tools.ts";

export interface FabricDeps {
  readonly catalog: readonly Tool[];
  readonly road: Road;
  readonly ledger: Ledger;
  readonly redactor: Redactor;
  readonly sanitizer: Sanitizer | undefined;
  /** Without them secrets are taken out of results for good. */
  readonly placeholders: Placeholders | undefined;
  readonly locks: Locks;
  /** What a tool works with; throws `unavailable` without a workspace. */
  readonly scope: (call: ToolCall) => Scope;
  /** Why a tool cannot be used now; null when it can. */
  readonly problem: (tool: Tool) => string | null;
  readonly router: Router;
  readonly health: Health;
  /** Words on earlier actions of a quest that were not as they were to be; empty when there is nothing new. */
  readonly takeFailures: (questId: string) => string;
  readonly log: Log;
}

/** The one way to run a tool: arguments, decision, receipt, before-image, effect, bounded answer. */
export function createFabric(deps: FabricDeps): (call: ToolCall) => Promise<ToolOutcome> {
  const { road, ledger, redactor: plain, locks } = deps;

  return async (call) => {
    const started = performance.now();
    const placeholders = call.questId === null ? null : (deps.placeholders?.of(call.questId) ?? null);
    const redactor = placeholders?.secrets ?? plain;
    /** What a command changed, for the model. */
    let changed = "";
    const card: Partial<ToolPart> = { title: call.tool, rules: [] };
    const show = (news: Partial<ToolPart>) => {
      Object.assign(card, news);
      call.onUpdate?.(news);
    };
    /** For the receipt: what in an output reads like orders to the model. It goes on as it is, marked as data. */
    const suspicion = (tool: Tool, text: string): { injection?: string[] } => {
      if (tool.capability === "quest") return {};
      const findings = deps.sanitizer?.inspect(text).findings.map(({ rule }) => rule) ?? [];
      if (findings.length === 0) return {};
      show({ findings });
      return { injection: findings };
    };
    const finish = (
      status: ToolPart["status"],
      text: string,
      more: { error?: LancelotError; isError: boolean; changeId?: string | null; hint?: string | undefined },
    ): ToolOutcome => {
      const said = boundText(redactor.text(text).text, more.hint ?? "Ask for a smaller part.").text;
      const noted = [said, changed === "" ? "" : redactor.text(changed).text, unknownWords(placeholders, call.args)];
      const answer = noted.filter((words) => words !== "").join("\n\n");
      const failures = status === "cancelled" || call.questId === null ? "" : deps.takeFailures(call.questId);
      const bounded = failures === "" ? answer : `${answer}\n\n[Of what was done before: ${redactor.text(failures).text}]`;
      const changeId = more.changeId ?? null;
      show({ status, output: bounded, durationMs: Math.round(performance.now() - started), changeId });
      return {
        text: bounded,
        isError: more.isError,
        receiptId: card.receiptId ?? null,
        changeId,
        card,
        ...(more.error === undefined ? {} : { error: more.error }),
      };
    };
    const routed: { to: Chosen | null } = { to: null };
    /** Who did it, and where there was a choice, why. */
    function named(tool: Tool): { provider: Provider; route?: Record<string, unknown> } {
      if (routed.to === null) return { provider: tool.provider };
      const { route, provider } = routed.to;
      return { provider: tagOf(provider), ...(tool.routed === true ? { route: boundRoute(route) } : {}) };
    }

    /** A call that came to nothing is a receipt too. */
    const record = (
      status: "success" | "failure" | "cancelled",
      tool: Tool | null,
      decisions: readonly Decision[],
      outputs: Record<string, unknown>,
      errorMessage: string | null,
    ) => {
      const receiptId = ledger.record(
        {
          actionType: tool?.actionType ?? "tool_call",
          actionName: call.tool,
          inputs: asRecord(call.args),
          riskTier: highestTier(decisions),
          parentId: call.parentId,
          questId: call.questId,
          metadata: { ...(tool === null ? {} : named(tool)), decision: brief(decisions) },
        },
        { status, outputs, errorMessage, durationMs: Math.round(performance.now() - started) },
      );
      show({ receiptId });
    };

    const tool = deps.catalog.find(({ name }) => name === call.tool);
    if (tool === undefined) {
      const message = `There is no tool ${call.tool}. There are: ${deps.catalog.map(({ name }) => name).join(", ")}.`;
      record("failure", null, [], {}, message);
      return finish("failure", message, { isError: true, error: new LancelotError("not_found", message) });
    }
    const parsed = parseArguments(tool, call.args);
    if (!parsed.ok) {
      record("failure", tool, [], {}, parsed.problem);
      return finish("failure", parsed.problem, { isError: true, error: new LancelotError("invalid_params", parsed.problem) });
    }
    show({ title: plain.text(tool.title(parsed.args)).text, status: "running" });

    /** What the model, and the owner on the card, are told can be done instead of what was not permitted. */
    const negotiate = (tool: Tool, error: LancelotError, decision: Decision | null): GovernanceFeedback | null => {
      if (decision === null || !isRefusal(error)) return null;
      const tools = deps.catalog.filter((one) => deps.problem(one) === null).map(({ name }) => name);
      const intent = { capability: tool.capability, action: tool.action, args: asRecord(call.args) };
      return feedbackFor(intent, decision, { tool: tool.name, tools, ...refusalOf(error) });
    };

    let decisions: readonly Decision[] = [];
    const decided = (made: readonly Decision[], approvalId: string | null) => {
      decisions = made;
      const strictest = made.toSorted((a, b) => (a.tier < b.tier ? 1 : -1))[0];
      if (strictest === undefined) return;
      show({ status: "running", tier: strictest.tier, verdict: strictest.verdict, rules: made.flatMap(({ rules }) => rules), approvalId });
    };
    const traveller: Traveller = {
      questId: call.questId,
      parentId: call.parentId,
      mode: call.mode,
      signal: call.signal,
      onWaiting: (approval) =>
        show({ status: "waiting", tier: approval.tier, verdict: "ask", rules: approval.rules, approvalId: approval.id }),
    };

    /** What came of using the provider a tool is written for; those of a routed one tell it where they are tried. */
    const told = (tool: Tool, error: unknown): void => {
      if (routed.to === null || tool.routed === true) return;
      const { provider } = routed.to;
      const { id, title } = provider;
      if (error === null) return deps.health.succeeded(id);
      if (provider.blames?.(error) !== true) return;
      deps.health.failed(id, error instanceof Error ? error.message : `${title} failed.`);
      void deps.health.look(id);
    };

    /** Looks, plans and, where something is to be done, does it. */
    async function travel(tool: Tool, args: unknown): Promise<Answer> {
      stopIfAborted(call.signal);
      refuseSecrets(placeholders, tool, call.args);
      const problem = deps.problem(tool);
      if (problem !== null) throw new LancelotError("unavailable", problem);
      const unrouted = deps.scope(call);
      const question = { title: card.title ?? tool.name, detail: JSON.stringify(asRecord(call.args), null, 2) };
      const receipt: RefusedAction = {
        actionType: tool.actionType,
        actionName: tool.name,
        inputs: asRecord(call.args),
        metadata: { provider: tool.provider },
      };
      decided(await road.look(tool.looks(args, unrouted), traveller, question, receipt), card.approvalId ?? null);
      const request = requestOf(tool);
      if (deps.router.knows(request)) {
        routed.to = await deps.router.choose(request);
        deps.health.used(routed.to.provider.id);
      }
      const scope: Scope = { ...unrouted, chosen: routed.to?.provider ?? null };
      const planned = await tool.plan(args, scope);
      const settled = planned.kind === "effect" && planned.onDisk === true ? await afterReview(tool, args, scope, planned) : planned;
      if (settled.kind === "effect") return undertake(tool, settled);
      record(
        settled.isError === true ? "failure" : "success",
        tool,
        decisions,
        { ...settled.outputs, ...suspicion(tool, settled.text) },
        settled.isError === true ? settled.text : null,
      );
      return settled;
    }

    /** What works on the disk waits for the owner's review of what the task proposed, and is planned anew after it. */
    async function afterReview(tool: Tool, args: unknown, scope: Scope, planned: Effect): Promise<Answer | Effect> {
      const { questId, mode, signal } = call;
      if (questId === null || scope.changes.review.list({ questId, open: true, limit: 1 }).length === 0) return planned;
      const steps = planned.steps.map((step) => ({ ...step, mode, questId }));
      if (steps.some((step) => scope.governance.evaluate(step).verdict === "deny")) return planned;
      if (call.settleReview === undefined) {
        throw new LancelotError(
          "conflict",
          "Edits of this task wait for the owner's review, so they are not on the disk yet, and nobody can review them now. End your turn; go on after the review.",
        );
      }
      await call.settleReview(signal);
      stopIfAborted(signal);
      return tool.plan(args, scope);
    }

    async function undertake(tool: Tool, effect: Effect): Promise<Answer> {
      const { value } = await road.carry<Answer>({
        ...traveller,
        actionType: tool.actionType,
        actionName: tool.name,
        inputs: asRecord(call.args),
        steps: effect.steps,
        question: effect.question,
        consent: "ask",
        touches: effect.touches,
        ...(effect.watch === undefined ? {} : { watch: effect.watch }),
        ...(effect.approved === undefined ? {} : { approved: effect.approved }),
        onTouched: (touched) => {
          show({ touched });
          changed = touchedWords(touched);
        },
        ...named(tool),
        onDecided: decided,
        onReceipt: (receiptId) => show({ receiptId }),
        run: async (context) => {
          const result = await effect.run(context);
          return { ...result, outputs: { ...result.outputs, ...suspicion(tool, result.value.text) } };
        },
        ...(effect.verify === undefined ? {} : { verify: effect.verify }),
      });
      return value;
    }

    try {
      const keys = tool.edits?.(parsed.args).map((path) => `call\0${call.questId ?? ""}\0${path}`) ?? [];
      const answer = await locks.hold(keys, () => travel(tool, parsed.args));
      told(tool, null);
      return finish(answer.isError === true ? "failure" : "success", answer.text, {
        isError: answer.isError === true,
        changeId: answer.changeId ?? null,
        hint: answer.hint,
      });
    } catch (error) {
      if (!(error instanceof LancelotError)) deps.log(`${tool.name} failed`, error);
      if (!call.signal.aborted) told(tool, error);
      const problem =
        error instanceof LancelotError
          ? error
          : new LancelotError("internal", `${tool.name} failed for a reason of its own; the log has it.`, { cause: error });
      if (call.signal.aborted || problem.code === "cancelled") {
        if (card.receiptId === undefined || card.receiptId === null) record("cancelled", tool, decisions, {}, "Stopped by the owner.");
        finish("cancelled", "Stopped by the owner.", { isError: true });
        throw problem.code === "cancelled" ? problem : new LancelotError("cancelled", "Stopped by the owner.", { cause: error });
      }
      const decision = decisionOf(problem);
      if (decision !== null) decided([decision], card.approvalId ?? null);
      const refusal = receiptOf(problem);
      if (refusal !== null) show({ receiptId: refusal });
      if (card.receiptId === undefined || card.receiptId === null)
        record("failure", tool, decisions, suspicion(tool, problem.message), problem.message);
      const negotiation = negotiate(tool, problem, decision);
      if (negotiation !== null) show({ alternatives: [...negotiation.alternatives] });
      const text = feedback(tool.name, problem, negotiation);
      return finish(isRefusal(problem) ? "denied" : "failure", text, { isError: true, error: problem });
    }
  };
}

function requestOf(tool: Tool): RouteRequest {
  const { capability, action } = tool;
  return tool.routed === true ? { capability, action } : { capability, only: tool.provider.name };
}

/** As much of a route as a receipt needs. */
function boundRoute({ reason, alternatives }: RouteDecision): Record<string, unknown> {
  return {
    reason: reason.slice(0, 500),
    alternatives: alternatives.slice(0, 8).map(({ provider, usable, reason: why }) => ({ provider, usable, reason: why.slice(0, 200) })),
  };
}

function stopIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new LancelotError("cancelled", "Stopped by the owner.");
}
