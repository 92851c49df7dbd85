import { actionContextOf, intentOf } from "../contract/action.ts";
import { LancelotError } from "../contract/errors.ts";
import { decisionOf, type Execution, isRefusal, receiptOf, refusalOf, refusalText } from "../execution/execution.ts";
import { feedbackFor, type GovernanceFeedback } from "../governance/governance.ts";
import type { Log } from "../security/security.ts";
import { type PathLocks, refuseSecrets, describeOutcome, describeTouchedFiles, toProposed } from "../workspace/workspace.ts";
import type { Router, RouteRequest } from "./routing/capability-router.ts";
import type { Health } from "./routing/provider-health.ts";
import type { Answer, Effect, Scope, Tool } from "./tool.ts";
import { asRecord, parseArguments } from "./tool-arguments.ts";
import { createToolCallRecord, type ToolCallRecord, type ToolCallRecordDeps } from "./tool-call-record.ts";
import type { ToolCall, ToolOutcome } from "./types.ts";

export interface ToolRunnerDeps extends ToolCallRecordDeps {
  readonly catalog: readonly Tool[];
  readonly execution: Pick<Execution, "pipeline" | "verifications" | "settlement">;
  readonly locks: PathLocks;
  /** What a tool works with. @throws LancelotError `unavailable` without a workspace. */
  readonly scope: (call: ToolCall) => Scope;
  /** Why a tool cannot be used now; null when it can. */
  readonly problem: (tool: Tool) => string | null;
  readonly router: Router;
  readonly health: Health;
  readonly log: Log;
}

/** The only way to run a tool: parse arguments, authorize, plan, execute through the pipeline, bound the answer. */
export function createToolRunner(deps: ToolRunnerDeps): (call: ToolCall) => Promise<ToolOutcome> {
  const { catalog, locks } = deps;
  return async (call) => {
    const record = createToolCallRecord(deps, call);
    const tool = catalog.find(({ name }) => name === call.tool);
    if (tool === undefined) {
      const message = `There is no tool ${call.tool}. Available tools: ${catalog.map(({ name }) => name).join(", ")}.`;
      record.receipt("failure", null, {}, message);
      return record.finish("failure", message, { isError: true, error: new LancelotError("not_found", message) });
    }
    const parsed = parseArguments(tool, call.args);
    if (!parsed.ok) {
      record.receipt("failure", tool, {}, parsed.problem);
      return record.finish("failure", parsed.problem, { isError: true, error: new LancelotError("invalid_params", parsed.problem) });
    }
    record.show({ title: deps.redactor.text(tool.title(parsed.args)).text, status: "running" });
    try {
      const keys = tool.edits?.(parsed.args).map((path) => `call\0${call.quest ?? ""}\0${path}`) ?? [];
      const answer = await locks.hold(keys, () => runTool(deps, call, record, tool, parsed.args));
      reportHealth(deps, record, tool, null);
      return record.finish(answer.isError === true ? "failure" : "success", answer.text, {
        isError: answer.isError === true,
        changeId: answer.changeId ?? null,
        hint: answer.hint,
      });
    } catch (error) {
      return finishFailed(deps, call, record, tool, error);
    }
  };
}

/** Authorizes what the tool reads, plans, and executes what it planned. */
async function runTool(deps: ToolRunnerDeps, call: ToolCall, record: ToolCallRecord, tool: Tool, args: unknown): Promise<Answer> {
  const { pipeline } = deps.execution;
  throwIfStopped(call.signal);
  const unrouted = deps.scope(call);
  refuseSecrets(unrouted.placeholders, tool, call.args);
  const problem = deps.problem(tool);
  if (problem !== null) throw new LancelotError("unavailable", problem);
  const inputs = asRecord(call.args);
  const { actionType, name: actionName, provider } = tool;
  const question = { title: record.card.title ?? actionName, detail: JSON.stringify(inputs, null, 2) };
  const receipt = { actionType, actionName, inputs, metadata: { provider } };
  const context = { ...actionContextOf(call), onWaiting: record.waiting };
  record.decided(await pipeline.authorize(tool.reads(args, unrouted), context, question, receipt), record.card.approvalId ?? null);
  const request = routeRequestOf(tool);
  if (deps.router.knows(request)) {
    record.chosen = await deps.router.choose(request);
    deps.health.used(record.chosen.provider.id);
  }
  const scope: Scope = { ...unrouted, chosen: record.chosen?.provider ?? null };
  const planned = await tool.plan(args, scope);
  const settled =
    planned.kind === "effect" && planned.needsReviewedFiles === true ? await planAfterReview(call, tool, args, scope, planned) : planned;
  if (settled.kind === "effect") return execute(deps, call, record, tool, settled);
  await deps.ledger.ready(call.signal);
  record.receipt(
    settled.isError === true ? "failure" : "success",
    tool,
    { ...settled.outputs, ...record.injections(tool, settled.text) },
    settled.isError === true ? settled.text : null,
  );
  return settled;
}

/** An effect on the disk waits for the review of the quest's proposed changes, and is planned again after it. */
async function planAfterReview(call: ToolCall, tool: Tool, args: unknown, scope: Scope, planned: Effect): Promise<Answer | Effect> {
  const { quest, signal } = call;
  if (quest === null || scope.changes.review.list({ questId: quest, open: true, limit: 1 }).length === 0) return planned;
  if (planned.steps.some((step) => scope.governance.evaluate(intentOf(step, call)).verdict === "deny")) return planned;
  if (call.settleReview === undefined) {
    throw new LancelotError(
      "conflict",
      "Edits of this task are waiting for review, so they are not on the disk yet, and nobody can review them now. End your turn, and continue after the review.",
    );
  }
  await call.settleReview(signal);
  throwIfStopped(signal);
  return tool.plan(args, scope);
}

async function execute(deps: ToolRunnerDeps, call: ToolCall, record: ToolCallRecord, tool: Tool, effect: Effect): Promise<Answer> {
  let isFinished = false;
  const { value } = await deps.execution.pipeline.execute<Answer>({
    ...actionContextOf(call),
    onWaiting: record.waiting,
    onDecided: record.decided,
    onReceipt: (receiptId) => record.show({ receiptId }),
    onTouched: (touched) => {
      record.show({ touched });
      record.changed = describeTouchedFiles(touched);
    },
    onTaskOutcome: (outcome) => {
      isFinished = true;
      record.show({ proposed: toProposed(outcome) });
      record.changed = describeOutcome(outcome);
    },
    actionType: tool.actionType,
    actionName: tool.name,
    inputs: asRecord(call.args),
    steps: effect.steps,
    question: effect.question,
    consent: "ask",
    touches: effect.touches,
    ...(effect.watch === undefined ? {} : { watch: effect.watch }),
    ...(effect.inView === undefined ? {} : { inView: effect.inView }),
    ...(effect.approvedPaths === undefined ? {} : { approvedPaths: effect.approvedPaths }),
    ...record.providerOf(tool),
    run: async (context) => {
      const result = await effect.run(context);
      return { ...result, outputs: { ...result.outputs, ...record.injections(tool, result.value.text) } };
    },
    ...(effect.verify === undefined ? {} : { verify: effect.verify }),
  });
  // Processes that still run keep the task; what they leave is settled after the next command or review.
  if (!isFinished || deps.execution.settlement === null) return value;
  const settled = await deps.execution.settlement.settle({ ...actionContextOf(call), parent: record.card.receiptId ?? call.parent });
  if (settled !== "") record.changed = [record.changed, settled].filter((text) => text !== "").join("\n");
  return value;
}

/** @throws LancelotError `cancelled` when the user stopped the call. */
function finishFailed(deps: ToolRunnerDeps, call: ToolCall, record: ToolCallRecord, tool: Tool, error: unknown): ToolOutcome {
  const { card } = record;
  const hasReceipt = (): boolean => card.receiptId !== undefined && card.receiptId !== null;
  if (!(error instanceof LancelotError)) deps.log(`${tool.name} failed`, error);
  if (!call.signal.aborted) reportHealth(deps, record, tool, error);
  const problem =
    error instanceof LancelotError
      ? error
      : new LancelotError("internal", `${tool.name} failed because of an internal error; the log has the details.`, { cause: error });
  if (call.signal.aborted || problem.code === "cancelled") {
    if (!hasReceipt()) record.receipt("cancelled", tool, {}, stopped);
    record.finish("cancelled", stopped, { isError: true });
    throw problem.code === "cancelled" ? problem : new LancelotError("cancelled", stopped, { cause: error });
  }
  const decision = decisionOf(problem);
  if (decision !== null) record.decided([decision], card.approvalId ?? null);
  const refusalReceipt = receiptOf(problem);
  if (refusalReceipt !== null) record.show({ receiptId: refusalReceipt });
  if (!hasReceipt()) record.receipt("failure", tool, record.injections(tool, problem.message), problem.message);
  const feedback = feedbackOn(deps, call, tool, problem);
  if (feedback !== null) record.show({ alternatives: [...feedback.alternatives] });
  const status = isRefusal(problem) ? "denied" : "failure";
  return record.finish(status, refusalText(tool.name, problem, feedback), { isError: true, error: problem });
}

/** The rules and alternatives for a denied call; null when nothing was denied. */
function feedbackOn(deps: ToolRunnerDeps, call: ToolCall, tool: Tool, error: LancelotError): GovernanceFeedback | null {
  const decision = decisionOf(error);
  if (decision === null || !isRefusal(error)) return null;
  const tools = deps.catalog.filter((one) => deps.problem(one) === null).map(({ name }) => name);
  const intent = { capability: tool.capability, action: tool.action, args: asRecord(call.args) };
  return feedbackFor(intent, decision, { tool: tool.name, tools, ...refusalOf(error) });
}

/** Reports how the provider did. A routed tool's providers are reported where they are tried. */
function reportHealth({ health }: ToolRunnerDeps, { chosen }: ToolCallRecord, tool: Tool, error: unknown): void {
  if (chosen === null || tool.routed === true) return;
  const { provider } = chosen;
  if (error === null) return health.succeeded(provider.id);
  if (provider.blames?.(error) !== true) return;
  health.failed(provider.id, error instanceof Error ? error.message : `${provider.title} failed.`);
  void health.check(provider.id);
}

function routeRequestOf({ capability, action, routed, provider }: Tool): RouteRequest {
  return routed === true ? { capability, action } : { capability, only: provider.name };
}

const stopped = "You stopped it.";

function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new LancelotError("cancelled", stopped);
}
