import type { PlanStep } from "../contract/chat.ts";
import type { Mode } from "../contract/governance.ts";
import type { Governance } from "../governance/governance.ts";
import type { ToolSchema } from "../models/models.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Redactor, Sanitizer } from "../security/security.ts";
import type { AttachedFile } from "./attached-file.ts";
import { readAttached } from "./attached-file.ts";
import type { ContextMessage, Fitted } from "./budget.ts";
import { costOf, fitConversation } from "./budget.ts";
import { describeEnvironment, type EnvironmentFacts } from "./environment.ts";
import { createDataFence } from "./fence.ts";
import type { Instruction } from "./instruction-files.ts";
import { readInstructions } from "./instruction-files.ts";
import { describeSelf, type SelfFacts } from "./self-knowledge.ts";
import { composeSmallPrompt, composeSystemPrompt } from "./system-prompt.ts";
import { estimateTokens, estimateTools } from "./tokens.ts";
import type { WorkspaceFacts } from "./workspace-facts.ts";
import { readWorkspaceFacts } from "./workspace-facts.ts";

export type { AttachedFile } from "./attached-file.ts";
export type { ContextMessage, ContextToolResult, ContextUserContent } from "./budget.ts";
export { costOf, headByTokens, shorten } from "./budget.ts";
export { applyStates, chooseEvictions, type Eviction, type Piece, type EvictionState, renderPiece } from "./eviction.ts";
export { type ContextSettings, createContextSettings } from "./context-settings.ts";
export { createCustomCommands, type CustomCommands } from "./custom-commands.ts";
export type { EnvironmentFacts } from "./environment.ts";
export type { SelfFacts } from "./self-knowledge.ts";
export { createDataFence, fence, newMarker } from "./fence.ts";
export { estimateTokens } from "./tokens.ts";
export type { Problem } from "./describe-work-state.ts";
export { createWorkState, type WorkStateReader, workStateSource } from "./work-state.ts";

/** The quest and parent receipt under which a read is recorded. */
export interface Trace {
  questId: string | null;
  parentId: string | null;
}

/** Texts from outside the conversation that a run's prompts include; read once when the run starts. */
export interface PromptSources {
  workspace: WorkspaceFacts | null;
  instructions: Instruction[];
  /** The machine and the containment of commands, described; absent when unknown. */
  environment?: string;
  /** Compiled memory for this run, in the form its model supports; absent or empty when there is none. */
  memory?: string;
}

export interface PromptRequest {
  small: boolean;
  canEdit: boolean;
  /** The quest whose edits the prompt speaks of; absent outside of one. */
  questId?: string;
  mode: Mode;
  /** The quest's marker for the data fence (`newMarker`). */
  marker: string;
  plan: readonly PlanStep[];
  tools: readonly ToolSchema[];
  messages: readonly ContextMessage[];
  /** Tokens of the model's context window, and tokens reserved for its answer. */
  window: number;
  answer: number;
  /** Maximum tokens of the whole prompt, when it is less than the window. */
  budget?: number;
  /** Precedes the conversation and rarely changes: pinned items and the summary of earlier turns. */
  head?: readonly ContextMessage[];
  /** Follows the conversation in this prompt only: text that changes from prompt to prompt. */
  tail?: string;
}

/** A prompt that fits the model's window. Token counts are estimates. */
export interface AssembledPrompt {
  system: string;
  fitted: Fitted;
  /** Tokens of the whole prompt, without the answer. */
  tokens: number;
  window: number;
}

/** How many tokens a conversation may use and does use. All are estimates. */
export interface ContextUsage {
  /** Tokens available to the conversation after the fixed parts and the answer. */
  limit: number;
  /** Tokens of head, conversation and tail before anything is shortened. */
  used: number;
  /** Tokens of the system prompt and the tool definitions. */
  fixed: number;
}

/** Assembles prompts from instruction files, workspace facts and attachments, within the model's window. */
export interface Context {
  /** Reads instruction files and workspace facts, with a receipt for each file unless `trace` is null. `near`: paths the task is about. */
  readSources(near: readonly string[], trace: Trace | null): Promise<PromptSources>;
  /** Reads a file or folder that the owner attached, as fenced text, with a receipt. */
  attached(path: string, trace: Trace): Promise<AttachedFile>;
  /** Returns a system prompt and a conversation that fit the window, with a receipt when the conversation is shortened. (Requirement C3.) */
  assemble(sources: PromptSources, request: PromptRequest, trace: Trace): AssembledPrompt;
  /** Measures the same prompt before anything is shortened. */
  measure(sources: PromptSources, request: PromptRequest): ContextUsage;
}

export interface ContextDeps {
  governance: Pick<Governance, "resolvePath" | "posture">;
  ledger: Pick<Ledger, "record">;
  redactor: Redactor;
  /** The quest's reversible redactor, for text that becomes part of the quest. */
  redactorOf: (questId: string) => Redactor;
  workspace: string | null;
  dataDir: string;
  /** Finds injected instructions in repository text; findings are reported to the model and on the receipt. */
  sanitizer: Sanitizer;
  /** The active soul, in full and as one line; null while it is disabled. When absent, prompts include no soul. */
  soul?: (() => { readonly text: string; readonly line: string; readonly version: string } | null) | undefined;
  /** Live state of the host for the prompt's self-description; when absent, prompts include none. */
  self?: (() => SelfFacts) | undefined;
  /** The machine and the containment of commands; when absent, prompts do not describe them. */
  environment?: (() => EnvironmentFacts) | undefined;
}

export function createContext({
  governance,
  ledger,
  redactor,
  redactorOf,
  workspace,
  dataDir,
  sanitizer,
  soul,
  self,
  environment,
}: ContextDeps): Context {
  const inspect = (text: string): string[] => sanitizer.inspect(text).findings.map(({ rule }) => rule);
  const recordRead = (actionName: string, inputs: Record<string, unknown>, trace: Trace | null, error?: string): void => {
    if (trace === null) return;
    ledger.record(
      { actionType: "env_query", actionName, inputs, riskTier: "T0", ...trace },
      error === undefined ? { status: "success" } : { status: "failure", errorMessage: error },
    );
  };

  return {
    async readSources(near, trace) {
      const read = await readInstructions({ governance, redactor, dataDir, workspace }, near);
      const instructions = read.map(({ bytes, ...instruction }) => {
        const findings = instruction.origin === "repository" ? inspect(`${instruction.name}\n${instruction.text}`) : [];
        recordRead("instructions", { path: instruction.name, bytes, ...(findings.length === 0 ? {} : { injection: findings }) }, trace);
        return { ...instruction, findings };
      });
      const facts = workspace === null ? null : await readWorkspaceFacts(workspace, governance);
      if (facts !== null) recordRead("workspace", { entries: facts.entries.length + facts.more, branch: facts.branch }, trace);
      return { instructions, workspace: facts, ...(environment === undefined ? {} : { environment: describeEnvironment(environment()) }) };
    },

    async attached(path, trace) {
      const fileRedactor = trace.questId === null ? redactor : redactorOf(trace.questId);
      const file = await readAttached({ governance, redactor: fileRedactor, inspect }, path);
      if (file.ok)
        recordRead(
          "attach",
          { path: file.path, bytes: file.bytes, ...(file.findings.length === 0 ? {} : { injection: file.findings }) },
          trace,
        );
      else recordRead("attach", { path: file.path }, trace, file.problem);
      return file;
    },

    measure(sources, request) {
      const fixed = estimateTokens(compose(sources, request, [])) + estimateTools(request.tools);
      const used = conversationOf(request).reduce((sum, message) => sum + costOf(message), 0);
      return { limit: Math.max(maxTokens(request) - request.answer - fixed, 0), used, fixed };
    },

    assemble(sources, request, trace) {
      const data = createDataFence(request.marker);
      let system = compose(sources, request, []);
      const toolTokens = estimateTools(request.tools);
      const available = (): number => Math.max(maxTokens(request) - request.answer - toolTokens - estimateTokens(system), 0);
      const messages = conversationOf(request);
      let fitted = fitConversation(messages, available(), data);
      if (fitted.cut > 0) {
        system = compose(sources, request, request.plan);
        fitted = fitConversation(messages, available(), data);
        ledger.record(
          {
            actionType: "system",
            actionName: "context.shorten",
            inputs: { window: maxTokens(request), tokens: fitted.before },
            riskTier: "T0",
            ...trace,
          },
          { status: "success", outputs: { tokens: fitted.after, cut: fitted.cut } },
        );
      }
      return { system, fitted, tokens: estimateTokens(system) + toolTokens + fitted.after, window: request.window };
    },
  };

  function compose(sources: PromptSources, request: PromptRequest, plan: readonly PlanStep[]): string {
    const { workspace: facts, instructions, memory } = sources;
    const active = soul?.() ?? null;
    if (request.small) return composeSmallPrompt(facts, request.canEdit, request.marker, active?.line ?? null, memory);
    const limits = { soulVersion: active?.version ?? null, window: request.window, answer: request.answer };
    return composeSystemPrompt({
      workspace: facts,
      instructions,
      posture: governance.posture({ quest: request.questId ?? null, mode: request.mode }),
      mode: request.mode,
      plan,
      data: createDataFence(request.marker),
      soul: active?.text ?? null,
      memory,
      canRemember: offersMemory(request.tools),
      canReport: request.tools.some(({ name }) => name === "report_outcome"),
      self: self === undefined ? null : describeSelf(self(), limits),
      environment: sources.environment ?? null,
    });
  }
}

/** Whether the model's tools include writing to memory. */
export function offersMemory(tools: readonly Pick<ToolSchema, "name">[]): boolean {
  return tools.some(({ name }) => name === "memory_insert");
}

/** Maximum tokens of a prompt and its answer together. */
function maxTokens({ window, budget }: PromptRequest): number {
  return budget === undefined ? window : Math.min(window, budget);
}

function conversationOf({ head = [], messages, tail }: PromptRequest): ContextMessage[] {
  return [...head, ...messages, ...(tail === undefined || tail === "" ? [] : [userMessage(tail)])];
}

/** Text of the product itself, as a user turn. */
function userMessage(text: string): ContextMessage {
  return { role: "user", content: [{ type: "text", text }] };
}
