import * as z from "zod";
import type { AskEditor } from "../contract/editor.ts";
import type { ActionType } from "../contract/receipts.ts";
import type { Tier } from "../contract/common.ts";
import type { FlagName } from "../flags/flags.ts";
import type { Governance, Question } from "../governance/governance.ts";
import type { QuestPlaceholders } from "../security/security.ts";
import type { RunOnProvider } from "./routing/provider-failover.ts";
import type { ToolProvider } from "./routing/capabilities.ts";
import type {
  Changes,
  CurrentText,
  FilePath,
  Outliner,
  Overlay,
  PathLocks,
  RepositoryMoves,
  TargetFile,
  Touch,
  WorkspaceFiles,
} from "../workspace/workspace.ts";
import type { CommandServices } from "./command/command-services.ts";
import type { MemoryActionFactory } from "./memory/memory-actions.ts";
import type { InView, IntentSpec, Provider, Result, RunContext, VerifyOwn } from "../execution/execution.ts";
import type { ToolCall } from "./types.ts";

/** The services of a tool call. Services that have effects are used only inside `Effect.run`. */
export interface Scope {
  readonly call: ToolCall;
  readonly workspace: string;
  readonly governance: Governance;
  readonly files: WorkspaceFiles;
  readonly changes: Changes;
  readonly askEditor: AskEditor | null;
  readonly ripgrepPath: string;
  /** Lists the definitions in source files. */
  readonly outliner: Outliner;
  readonly commands: CommandServices;
  /** Locks on absolute file paths, held while a file or its proposed change is written. */
  readonly locks: PathLocks;
  /** Records each git action right before it runs, so that undo can find it after a crash. */
  readonly moves: RepositoryMoves;
  /** The text of a generated file that only this quest's task has; null when there is none. */
  readonly readGenerated: (file: FilePath) => Promise<string | null>;
  /** The files a quest changed on disk. */
  readonly questFiles: (questId: string) => FilePath[];
  /** The provider on the card and the receipt; null before it is chosen, and where there is no choice. */
  readonly chosen: ToolProvider | null;
  /** For `routed` tools: runs an action on the first available provider. */
  readonly runOnProvider: RunOnProvider;
  /** Changes to memory; null without a memory. */
  readonly memory: MemoryActionFactory | null;
  readonly flag: (name: FlagName) => boolean;
  /** The placeholders for secrets in this quest; null for calls without a quest. */
  readonly placeholders: QuestPlaceholders | null;
}

/** The result of a tool for the model. */
export interface Answer {
  readonly kind: "answer";
  readonly text: string;
  readonly isError?: boolean;
  /** How to read the rest of a truncated text. */
  readonly hint?: string;
  /** For the receipt. */
  readonly outputs?: Record<string, unknown>;
  readonly changeId?: string | null;
}

/** An effect that a tool planned. It is authorized, shown to the user and checkpointed before `run`. */
export interface Effect {
  readonly kind: "effect";
  readonly steps: readonly IntentSpec[];
  readonly question: Question;
  readonly touches: readonly Touch[];
  /** For effects whose changes are not known in advance, such as commands: the whole workspace is compared before and after. */
  readonly watch?: "workspace";
  /** In place of `watch`: the effect works in a view of the task, and its changes are proposed. */
  readonly inView?: InView;
  /** Protected files (relative to the workspace) named in the question: the effect may change them. */
  readonly approvedPaths?: readonly string[];
  /** True: the effect reads files from the disk, so the quest's proposed changes are reviewed first. */
  readonly needsReviewedFiles?: boolean;
  readonly run: (context: RunContext) => Promise<Result<Answer>>;
  /** The tool's own verification, in addition to that of the files. */
  readonly verify?: VerifyOwn;
}

/** One tool of the catalog. */
export interface Tool<A extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** For the model: the purpose of the tool, and when to use another one. */
  readonly description: string;
  readonly args: A;
  readonly capability: string;
  readonly action: string;
  readonly baseTier: Tier;
  readonly actionType: ActionType;
  /** The provider for tools without routing. */
  readonly provider: Provider;
  /** True: the tool uses `Scope.runOnProvider`, and `provider` is recorded only where no provider was chosen. */
  readonly routed?: boolean;
  /** The flag that offers the tool. */
  readonly flag?: FlagName;
  /** Why the tool cannot be used now; null when it can. */
  problem?(facts: { workspace: string | null; askEditor: AskEditor | null }): string | null;
  /** One line for the card, with the action and its object. */
  title(args: z.output<A>): string;
  /** The files it edits. Calls on the same file run one at a time. */
  edits?(args: z.output<A>): readonly string[];
  /** The reads to authorize before `plan`. @throws LancelotError. */
  reads(args: z.output<A>, scope: Scope): readonly IntentSpec[];
  /** Reads and computes. Changes are returned as an effect. @throws LancelotError. */
  plan(args: z.output<A>, scope: Scope): Promise<Answer | Effect>;
}

/** Declares a tool, and infers the argument type of its functions. */
export function defineTool<A extends z.ZodType>(tool: Tool<A>): Tool {
  return tool;
}

export const PathArgument = z.string().min(1).max(4096);

/** An integer that models may also write as a string. */
export function count(min: number, max: number) {
  return z.preprocess(
    (value) => (typeof value === "string" && /^\s*-?\d+\s*$/.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  );
}

/** A boolean that models may also write as a string. */
export function flag() {
  return z.preprocess((value) => (value === "true" ? true : value === "false" ? false : value), z.boolean());
}

/** The authorization step for an action on a file. */
export function fileStep(action: string, file: TargetFile, more: Record<string, unknown> = {}): IntentSpec {
  return { capability: "file_ops", action, args: { path: file.asked, absolute: file.absolute, ...more } };
}

/** A file's text with the quest's proposed changes applied. @throws LancelotError. */
export async function readOverlay(scope: Scope, file: TargetFile): Promise<{ current: CurrentText; overlay: Overlay }> {
  const current = await scope.files.current(file);
  return { current, overlay: scope.changes.overlay(scope.call.quest, file, current) };
}
