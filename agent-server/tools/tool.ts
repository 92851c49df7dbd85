import * as z from "zod";
import type { AskEditor } from "../contract/editor.ts";
import type { ActionType } from "../contract/receipts.ts";
import type { Tier } from "../contract/common.ts";
import type { FlagName } from "../flags/flags.ts";
import type { Governance, Question } from "../governance/governance.ts";
import type { QuestPlaceholders } from "../security/security.ts";
import type { Attempt } from "./routing/provider-failover.ts";
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
import type { CommandRoom } from "./command/command-services.ts";
import type { MemoryActionFactory } from "./memory/memory-actions.ts";
import type { IntentSpec, Provider, Result, VerifyOwn } from "../execution/execution.ts";
import type { ToolCall } from "./types.ts";

/** What a tool works with. Everything in it that has an effect is used only inside `Effect.run`. */
export interface Scope {
  readonly call: ToolCall;
  readonly workspace: string;
  readonly governance: Governance;
  readonly files: WorkspaceFiles;
  readonly changes: Changes;
  readonly askEditor: AskEditor | null;
  readonly ripgrepPath: string;
  /** What source files define. */
  readonly outliner: Outliner;
  /** How command lines are run. */
  readonly commands: CommandRoom;
  /** Held on a file's absolute path while it, or its change, is written. */
  readonly locks: PathLocks;
  /** What is done to the repository is written down here, right before it is done, so that undo knows it. */
  readonly moves: RepositoryMoves;
  /** The files a quest changed on disk. */
  readonly questFiles: (questId: string) => FilePath[];
  /** Who carries the call out, told to the owner and named on the receipt; null until it was chosen, and where there is nothing to choose. */
  readonly chosen: ToolProvider | null;
  /** For tools that are `routed`: does it by whoever can. */
  readonly attempt: Attempt;
  /** What can be done to what is remembered; null without a memory. */
  readonly memory: MemoryActionFactory | null;
  /** Whether a switch of the owner's is on. */
  readonly flag: (name: FlagName) => boolean;
  /** What stands for secrets in this quest; null for calls without one. */
  readonly placeholders: QuestPlaceholders | null;
}

/** What a tool says when it is done. */
export interface Answer {
  readonly kind: "answer";
  readonly text: string;
  readonly isError?: boolean;
  /** How to read on when the text is cut. */
  readonly hint?: string;
  /** For the receipt. */
  readonly outputs?: Record<string, unknown>;
  readonly changeId?: string | null;
}

/** What a tool is about to do: judged, shown to the owner and checkpointed before `run`. */
export interface Effect {
  readonly kind: "effect";
  readonly steps: readonly IntentSpec[];
  readonly question: Question;
  readonly touches: readonly Touch[];
  /** What it may change is not known before, as of a command: the road looks at the whole workspace before and after. */
  readonly watch?: "workspace";
  /** Protected files (relative to the workspace) named in the question: changed by it, they are not put back. */
  readonly approvedPaths?: readonly string[];
  /** It works on what is on the disk: what the task proposed is reviewed before it. */
  readonly onDisk?: boolean;
  readonly run: (context: { receiptId: string; checkpointId: string | null }) => Promise<Result<Answer>>;
  /** A look of its own at what `run` did, beside that at the files: null, or a sentence that says what is not as it was to be. */
  readonly verify?: VerifyOwn;
}

/** One tool of the catalog. */
export interface Tool<A extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** For the model: what it is for, and when to take another. */
  readonly description: string;
  readonly args: A;
  readonly capability: string;
  readonly action: string;
  readonly baseTier: Tier;
  readonly actionType: ActionType;
  /** What it is written for. */
  readonly provider: Provider;
  /** True: whoever the router chooses does it, by `Scope.attempt`; `provider` is named only where nothing was chosen. */
  readonly routed?: boolean;
  /** Why it cannot be used now; null when it can. */
  problem?(facts: { workspace: string | null; askEditor: AskEditor | null }): string | null;
  /** One line for the card: what, on what. */
  title(args: z.output<A>): string;
  /** Files it edits: calls on the same file go one after the other. */
  edits?(args: z.output<A>): readonly string[];
  /** What it looks at, judged before anything is read. @throws LancelotError. */
  looks(args: z.output<A>, scope: Scope): readonly IntentSpec[];
  /** Reads and computes. Whatever changes something is handed back as an effect. @throws LancelotError. */
  plan(args: z.output<A>, scope: Scope): Promise<Answer | Effect>;
}

/** Declares a tool; exists so that its functions know the type of its arguments. */
export function defineTool<A extends z.ZodType>(tool: Tool<A>): Tool {
  return tool;
}

export const PathArgument = z.string().min(1).max(4096);

/** A whole number that models may also write as a text. */
export function count(min: number, max: number) {
  return z.preprocess(
    (value) => (typeof value === "string" && /^\s*-?\d+\s*$/.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  );
}

/** A yes or no that models may also write as a text. */
export function flag() {
  return z.preprocess((value) => (value === "true" ? true : value === "false" ? false : value), z.boolean());
}

/** The intent to do something with a file. */
export function fileStep(action: string, file: TargetFile, more: Record<string, unknown> = {}): IntentSpec {
  return { capability: "file_ops", action, args: { path: file.asked, absolute: file.absolute, ...more } };
}

/** A file's text as the quest sees it. @throws LancelotError. */
export async function readOverlay(scope: Scope, file: TargetFile): Promise<{ current: CurrentText; overlay: Overlay }> {
  const current = await scope.files.current(file);
  return { current, overlay: scope.changes.overlay(scope.call.quest, file, current) };
}
