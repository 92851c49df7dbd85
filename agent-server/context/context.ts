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
export { applyStates, chooseEvictions, type Eviction, type Piece, type PieceState, renderPiece } from "./pieces.ts";
export { type ContextSettings, createContextSettings } from "./settings.ts";
export type { SelfFacts } from "./self-knowledge.ts";
export { createDataFence, fence, newMarker } from "./fence.ts";
export { estimateTokens } from "./tokens.ts";

/** Under which quest and receipt a read is recorded. */
export interface Trace {
  questId: string | null;
  parentId: string | null;
}

/** What a run's prompts are made of, read once when the run starts. */
export interface Surroundings {
  workspace: WorkspaceFacts | null;
  instructions: Instruction[];
  /** What is remembered, compiled for this run and as its model can use it; absent or empty when nothing is. */
  memory?: string;
}

export interface PromptWish {
  small: boolean;
  canEdit: boolean;
  mode: Mode;
  /** The quest's own word in the marks around data (`newMarker`). */
  marker: string;
  plan: readonly PlanStep[];
  tools: readonly ToolSchema[];
  messages: readonly ContextMessage[];
  /** Tokens of the model's window, and of the room to leave for its answer. */
  window: number;
  answer: number;
  /** Tokens of the whole prompt where that is less than the window. */
  budget?: number;
  /** Stands before the conversation and changes seldom: pinned items, the summary of what was before. */
  head?: readonly ContextMessage[];
  /** Stands behind the conversation, for this prompt alone: what changes from one to the next. */
  tail?: string;
}

/** What a prompt came to. Tokens, estimated. */
export interface Assembled {
  system: string;
  fitted: Fitted;
  /** Of the whole prompt, without the answer. */
  tokens: number;
  window: number;
}

/** How much room a conversation has. Tokens, estimated. */
export interface Room {
  /** What budget and window leave for the conversation. */
  limit: number;
  /** What head, conversation and tail would take as they are. */
  used: number;
  /** What system prompt and tools take. */
  fixed: number;
}

/** What the model is told: instruction files, workspace facts, attachments, within the model's window. */
export interface Context {
  /** Reads instruction files and workspace facts; each file read is a receipt, but for a look (`null`). `near`: paths the task is about. */
  surroundings(near: readonly string[], trace: Trace | null): Promise<Surroundings>;
  /** A file or folder the owner attached, as fenced text; recorded. */
  attached(path: string, trace: Trace): Promise<AttachedFile>;
  /** System prompt and conversation that fit the window. Shortening is recorded, never silent. (Requirement C3.) */
  assemble(surroundings: Surroundings, wish: PromptWish, trace: Trace): Assembled;
  /** What the same prompt would take before anything is cut. */
  measure(surroundings: Surroundings, wish: PromptWish): Room;
}

export interface ContextDeps {
  governance: Pick<Governance, "resolvePath" | "posture">;
  ledger: Pick<Ledger, "record">;
  redactor: Redactor;
  /** For what becomes part of a quest: secrets taken out in a way that can be taken back; `redactor` unless said. */
  redactorOf?: ((questId: string) => Redactor) | undefined;
  workspace: string | null;
  dataDir: string;
  /** Looks for orders in repository text, which are told to the model and on the receipt; without one nothing is looked for. */
  sanitizer?: Sanitizer | undefined;
  /** The soul in force, whole and in one line; null while it is switched off. Without it the prompt has none. */
  soul?: (() => { readonly text: string; readonly line: string; readonly version: string } | null) | undefined;
  /** The live state the model is told about; without it nothing is said. */
  self?: (() => SelfFacts) | undefined;
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
}: ContextDeps): Context {
  const inspect = (text: string): string[] => sanitizer?.inspect(text).findings.map(({ rule }) => rule) ?? [];
  const recordRead = (actionName: string, inputs: Record<string, unknown>, trace: Trace | null, error?: string): void => {
    if (trace === null) return;
    ledger.record(
      { actionType: "env_query", actionName, inputs, riskTier: "T0", ...trace },
      error === undefined ? { status: "success" } : { status: "failure", errorMessage: error },
    );
  };

  return {
    async surroundings(near, trace) {
      const read = await readInstructions({ governance, redactor, dataDir, workspace }, near);
      const instructions = read.map(({ bytes, ...instruction }) => {
        const findings = instruction.origin === "repository" ? inspect(`${instruction.name}\n${instruction.text}`) : [];
        recordRead("instructions", { path: instruction.name, bytes, ...(findings.length === 0 ? {} : { injection: findings }) }, trace);
        return { ...instruction, findings };
      });
      const facts = workspace === null ? null : await readWorkspaceFacts(workspace, governance);
      if (facts !== null) recordRead("workspace", { entries: facts.entries.length + facts.more, branch: facts.branch }, trace);
      return { instructions, workspace: facts };
    },

    async attached(path, trace) {
      const reversible = trace.questId === null ? undefined : redactorOf?.(trace.questId);
      const file = await readAttached({ governance, redactor: reversible ?? redactor, inspect }, path);
      if (file.ok)
        recordRead(
          "attach",
          { path: file.path, bytes: file.bytes, ...(file.findings.length === 0 ? {} : { injection: file.findings }) },
          trace,
        );
      else recordRead("attach", { path: file.path }, trace, file.problem);
      return file;
    },

    measure(surroundings, wish) {
      const fixed = estimateTokens(compose(surroundings, wish, [])) + estimateTools(wish.tools);
      const used = conversationOf(wish).reduce((sum, message) => sum + costOf(message), 0);
      return { limit: Math.max(allowed(wish) - wish.answer - fixed, 0), used, fixed };
    },

    assemble(surroundings, wish, trace) {
      const data = createDataFence(wish.marker);
      let system = compose(surroundings, wish, []);
      const toolTokens = estimateTools(wish.tools);
      const room = (): number => Math.max(allowed(wish) - wish.answer - toolTokens - estimateTokens(system), 0);
      const messages = conversationOf(wish);
      let fitted = fitConversation(messages, room(), data);
      if (fitted.cut > 0) {
        system = compose(surroundings, wish, wish.plan);
        fitted = fitConversation(messages, room(), data);
        ledger.record(
          {
            actionType: "system",
            actionName: "context.shorten",
            inputs: { window: allowed(wish), tokens: fitted.before },
            riskTier: "T0",
            ...trace,
          },
          { status: "success", outputs: { tokens: fitted.after, cut: fitted.cut } },
        );
      }
      return { system, fitted, tokens: estimateTokens(system) + toolTokens + fitted.after, window: wish.window };
    },
  };

  function compose({ workspace: facts, instructions, memory }: Surroundings, wish: PromptWish, plan: readonly PlanStep[]): string {
    const active = soul?.() ?? null;
    if (wish.small) return composeSmallPrompt(facts, wish.canEdit, wish.marker, active?.line ?? null, memory);
    const limits = { soulVersion: active?.version ?? null, window: wish.window, answer: wish.answer };
    return composeSystemPrompt({
      workspace: facts,
      instructions,
      posture: governance.posture(),
      mode: wish.mode,
      plan,
      data: createDataFence(wish.marker),
      soul: active?.text ?? null,
      memory,
      canRemember: offersMemory(wish.tools),
      self: self === undefined ? null : describeSelf(self(), limits),
    });
  }
}

/** Whether a model is offered to look into memory and to write to it. */
export function offersMemory(tools: readonly Pick<ToolSchema, "name">[]): boolean {
  return tools.some(({ name }) => name === "memory_insert");
}

/** Tokens a prompt and its answer may take together. */
function allowed({ window, budget }: PromptWish): number {
  return budget === undefined ? window : Math.min(window, budget);
}

function conversationOf({ head = [], messages, tail }: PromptWish): ContextMessage[] {
  return [...head, ...messages, ...(tail === undefined || tail === "" ? [] : [said(tail)])];
}

/** Words of the product itself, as a turn. */
function said(text: string): ContextMessage {
  return { role: "user", content: [{ type: "text", text }] };
}
