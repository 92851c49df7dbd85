/**
 * Names of the OpenTelemetry semantic conventions for generative AI (status: development), as of release 1.41.0:
 * https://github.com/open-telemetry/semantic-conventions/blob/v1.41.0/docs/gen-ai/gen-ai-spans.md (inference, execute tool) and
 * gen-ai-agent-spans.md. Pinned here because unstable names change between releases. Lancelot's own attributes start with
 * `lancelot.`.
 */
export const attributes = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  /** Deprecated since 1.37, but most backends still read it. */
  system: "gen_ai.system",
  conversation: "gen_ai.conversation.id",
  requestModel: "gen_ai.request.model",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolCallId: "gen_ai.tool.call.id",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  errorType: "error.type",

  receipt: "lancelot.receipt.id",
  actionType: "lancelot.action.type",
  actionName: "lancelot.action.name",
  riskTier: "lancelot.risk.tier",
  cognitionTier: "lancelot.cognition.tier",
  quest: "lancelot.quest.id",
  status: "lancelot.status",
  inputs: "lancelot.inputs",
  outputs: "lancelot.outputs",
} as const;

export const operations = { chat: "chat", executeTool: "execute_tool" } as const;

/** Provider kinds with a different name in the conventions. */
const conventionalNames: Readonly<Record<string, string>> = { gemini: "gcp.gemini", xai: "x_ai" };

export function providerName(kind: string): string {
  return conventionalNames[kind] ?? kind;
}
