import type { PlanStep } from "../contract/chat.ts";
import type { Mode } from "../contract/governance.ts";
import type { Governance } from "../governance/governance.ts";
import type { ToolSchema } from "../models/models.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Redactor, Sanitizer } from "../security/security.ts";
import type { AttachedFile } from "./attached-file.ts";
import { readAttached } from "./attached-file.ts";
import type { ContextMessage, Fitted } from "./budget.ts";
import { fitConversation } from "./budget.ts";
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
export { headByTokens } from "./budget.ts";
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
}

/** What the model is told: instruction files, workspace facts, attachments, within the model's window. */
export interface Context {
  /** Reads instruction files and workspace facts; each file read is a receipt. `near`: paths the task is about. */
  surroundings(near: readonly string[], trace: Trace): Promise<Surroundings>;
  /** A file or folder the owner attached, as fenced text; recorded. */
  attached(path: string, trace: Trace): Promise<AttachedFile>;
  /** System prompt and conversation that fit the window. Shortening is recorded, never silent. (Requirement C3.) */
  assemble(surroundings: Surroundings, wish: PromptWish, trace: Trace): { system: string; fitted: Fitted };
}

export interface ContextDeps {
  governance: Pick<Governance, "resolvePath" | "posture">;
  ledger: Pick<Ledger, "record">;
  redactor: Redactor;
  workspace: string | null;
  dataDir: string;
  /** Looks for orders in repository text, which are told to the model and on the receipt; without one nothing is looked for. */
  sanitizer?: Sanitizer | undefined;
  /** The soul in force, whole and in one line; null while it is switched off. Without it the prompt has none. */
  soul?: (() => { readonly text: string; readonly line: string; readonly version: string } | null) | undefined;
  /** The live state the model is told about; without it nothing is said. */
  self?: (() => SelfFacts) | undefined;
}

export function createContext({ governance, ledger, redactor, workspace, dataDir, sanitizer, soul, self }: ContextDeps): Context {
  const inspect = (text: string): string[] => sanitizer?.inspect(text).findings.map(({ rule }) => rule) ?? [];
  const recordRead = (actionName: string, inputs: Record<string, unknown>, trace: Trace, error?: string): void => {
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
      const file = await readAttached({ governance, redactor, inspect }, path);
      if (file.ok)
        recordRead(
          "attach",
          { path: file.path, bytes: file.bytes, ...(file.findings.length === 0 ? {} : { injection: file.findings }) },
          trace,
        );
      else recordRead("attach", { path: file.path }, trace, file.problem);
      return file;
    },

    assemble({ workspace: facts, instructions }, wish, trace) {
      const data = createDataFence(wish.marker);
      const active = soul?.() ?? null;
      const compose = (plan: readonly PlanStep[]): string => {
        if (wish.small) return composeSmallPrompt(facts, wish.canEdit, wish.marker, active?.line ?? null);
        const limits = { soulVersion: active?.version ?? null, window: wish.window, answer: wish.answer };
        return composeSystemPrompt({
          workspace: facts,
          instructions,
          posture: governance.posture(),
          mode: wish.mode,
          plan,
          data,
          soul: active?.text ?? null,
          self: self === undefined ? null : describeSelf(self(), limits),
        });
      };
      let system = compose([]);
      const toolTokens = estimateTools(wish.tools);
      const room = (): number => Math.max(wish.window - wish.answer - toolTokens - estimateTokens(system), 0);
      let fitted = fitConversation(wish.messages, room(), data);
      if (fitted.cut > 0) {
        system = compose(wish.plan);
        fitted = fitConversation(wish.messages, room(), data);
        ledger.record(
          {
            actionType: "system",
            actionName: "context.shorten",
            inputs: { window: wish.window, tokens: fitted.before },
            riskTier: "T0",
            ...trace,
          },
          { status: "success", outputs: { tokens: fitted.after, cut: fitted.cut } },
        );
      }
      return { system, fitted };
    },
  };
}
