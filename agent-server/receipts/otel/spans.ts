import { createHash } from "node:crypto";
import { type Attributes, type HrTime, SpanKind, type SpanContext, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import type { Receipt } from "../../contract/receipts.ts";
import { attributes, operations, providerName } from "./conventions.ts";

/** Maximum cached trace ids of receipts without a quest; a child follows soon after its parent. */
const maxCachedTraces = 5_000;

/** Converts a closed receipt to a span. */
export type ToSpan = (receipt: Receipt) => ReadableSpan;

/**
 * Creates a span for each receipt: the trace is the quest or, without one, the root receipt; the parent is the receipt's parent.
 * Ids are derived from receipt ids, so that every window produces the same. @param content include inputs, outputs and error messages.
 */
export function createToSpan(deps: { resource: Resource; version: string; content: boolean }): ToSpan {
  const traces = new Map<string, string>();
  const traceOf = ({ id, questId, parentId }: Receipt): string => {
    if (questId !== null) return hex(`quest ${questId}`, 32);
    const trace = parentId === null ? hex(`receipt ${id}`, 32) : (traces.get(parentId) ?? hex(`receipt ${parentId}`, 32));
    if (traces.size >= maxCachedTraces) traces.delete(traces.keys().next().value ?? "");
    traces.set(id, trace);
    return trace;
  };
  const context = (traceId: string, receiptId: string): SpanContext => ({
    traceId,
    spanId: hex(`span ${receiptId}`, 16),
    traceFlags: TraceFlags.SAMPLED,
  });

  return (receipt) => {
    const traceId = traceOf(receipt);
    const start = Date.parse(receipt.timestamp);
    const duration = receipt.durationMs ?? 0;
    const own = context(traceId, receipt.id);
    return {
      name: spanName(receipt),
      kind: receipt.actionType === "llm_call" ? SpanKind.CLIENT : SpanKind.INTERNAL,
      spanContext: () => own,
      ...(receipt.parentId === null ? {} : { parentSpanContext: context(traceId, receipt.parentId) }),
      startTime: toTime(start),
      endTime: toTime(start + duration),
      duration: toTime(duration),
      status: statusOf(receipt, deps.content),
      attributes: attributesOf(receipt, deps.content),
      links: [],
      events: [],
      ended: true,
      resource: deps.resource,
      instrumentationScope: { name: "lancelot", version: deps.version },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  };
}

function spanName(receipt: Receipt): string {
  if (receipt.actionType === "llm_call") return `${operations.chat} ${text(receipt.metadata["model"]) ?? receipt.actionName}`;
  return receipt.actionType === "tool_call" ? `${operations.executeTool} ${receipt.actionName}` : receipt.actionName;
}

/** A cancelled action is not an error. */
function statusOf(receipt: Receipt, content: boolean): ReadableSpan["status"] {
  if (receipt.status !== "failure") return { code: receipt.status === "success" ? SpanStatusCode.OK : SpanStatusCode.UNSET };
  return { code: SpanStatusCode.ERROR, ...(content && receipt.errorMessage !== null ? { message: receipt.errorMessage } : {}) };
}

function attributesOf(receipt: Receipt, content: boolean): Attributes {
  const of: Attributes = {
    [attributes.receipt]: receipt.id,
    [attributes.actionType]: receipt.actionType,
    [attributes.actionName]: receipt.actionName,
    [attributes.riskTier]: receipt.riskTier,
    [attributes.cognitionTier]: receipt.cognitionTier,
    [attributes.status]: receipt.status,
  };
  const set = (name: string, value: string | number | string[] | undefined): void => {
    if (value !== undefined) of[name] = value;
  };
  set(attributes.quest, receipt.questId ?? undefined);
  set(attributes.conversation, receipt.questId ?? undefined);
  if (receipt.status === "failure") set(attributes.errorType, text(receipt.metadata["reason"]) ?? "_OTHER");
  if (receipt.actionType === "llm_call") {
    const { kind, model, usage } = receipt.metadata;
    const tokens = typeof usage === "object" && usage !== null ? (usage as Record<string, unknown>) : receipt.metadata;
    const stop = text(receipt.outputs["stop"]);
    const provider = text(kind) === undefined ? undefined : providerName(text(kind) ?? "");
    set(attributes.operation, operations.chat);
    set(attributes.provider, provider);
    set(attributes.system, provider);
    set(attributes.requestModel, text(model));
    set(attributes.finishReasons, stop === undefined ? undefined : [stop]);
    set(attributes.inputTokens, count(tokens["inputTokens"]));
    set(attributes.outputTokens, count(tokens["outputTokens"]));
  }
  if (receipt.actionType === "tool_call") {
    set(attributes.operation, operations.executeTool);
    set(attributes.toolName, receipt.actionName);
    set(attributes.toolType, "function");
    set(attributes.toolCallId, receipt.id);
  }
  if (content) {
    const tool = receipt.actionType === "tool_call";
    set(tool ? attributes.toolArguments : attributes.inputs, JSON.stringify(receipt.inputs));
    set(tool ? attributes.toolResult : attributes.outputs, JSON.stringify(receipt.outputs));
  }
  return of;
}

function hex(name: string, digits: number): string {
  return createHash("sha256").update(name).digest("hex").slice(0, digits);
}

/** Milliseconds as seconds and nanoseconds. */
function toTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const count = (value: unknown): number | undefined => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
