import type { ProviderKind } from "../contract/models.ts";
import type { Lane } from "../contract/router.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Redactor } from "../security/security.ts";
import type { ProviderCall } from "./providers/types.ts";
import type { ModelEvent, ModelRequest } from "./request.ts";

const summaryLength = 500;

/** The part of a call's settings that its receipt contains. */
export interface CallSettings {
  /** Name in models.yaml. */
  provider: string;
  kind: ProviderKind;
  lane: Lane;
  call: ProviderCall;
  /** The router's decision for this call. */
  decisionId?: string;
  /** Number of hidden values by kind. */
  hidden?: Readonly<Record<string, number>>;
}

/** Opens the receipt of one attempt, before its request. */
export function openCallReceipt(
  { ledger, redactor }: { ledger: Pick<Ledger, "open">; redactor: Redactor },
  attempt: CallSettings,
  request: ModelRequest,
  context: { questId: string | null; parentId: string | null },
  tries: number,
): string {
  return ledger.open({
    actionType: "llm_call",
    actionName: `${attempt.provider}/${attempt.call.model}`,
    inputs: redactor.value({
      messages: request.messages.length,
      tools: request.tools.length,
      maxTokens: attempt.call.maxTokens,
      lastMessage: summarizeLast(request),
    }),
    riskTier: "T0",
    cognitionTier: "SYNTHESIS",
    parentId: context.parentId,
    questId: context.questId,
    metadata: {
      provider: attempt.provider,
      kind: attempt.kind,
      model: attempt.call.model,
      lane: attempt.lane,
      attempt: tries,
      ...(attempt.decisionId === undefined ? {} : { decisionId: attempt.decisionId }),
      ...(attempt.hidden === undefined || Object.keys(attempt.hidden).length === 0 ? {} : { hidden: attempt.hidden }),
    },
  });
}

/** A bounded summary of an answer. */
export function summarizeAnswer(done: Extract<ModelEvent, { type: "done" }>): Record<string, unknown> {
  const text = done.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const calls = done.content.flatMap((part) =>
    part.type === "tool_call" ? [{ name: part.name, args: bounded(JSON.stringify(part.args)) }] : [],
  );
  return { text: bounded(text), toolCalls: calls.slice(0, 20), malformedCalls: done.malformed.length, stop: done.stop };
}

function summarizeLast(request: ModelRequest): string {
  const last = request.messages.at(-1);
  if (last === undefined) return "";
  if (last.role === "tool")
    return last.results
      .map((result) => `${result.name}${result.isError ? " failed" : ""}: ${bounded(result.text, 100)}`)
      .join("\n")
      .slice(0, 1000);
  return bounded(last.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n"));
}

function bounded(text: string, length = summaryLength): string {
  return text.length > length ? `${text.slice(0, length)}… (${text.length} characters)` : text;
}
