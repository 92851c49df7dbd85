import { realpathSync } from "node:fs";
import type { Checkpoint, RestoreOf, RestoreResult } from "../contract/changes.ts";
import type { PlanStep, ToolPart } from "../contract/chat.ts";
import type { AskEditor } from "../contract/editor.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Mode } from "../contract/governance.ts";
import type { Result } from "../contract/table.ts";
import type { SearchMatch, ToolInfo } from "../contract/tools.ts";
import type { FlagName } from "../flags/flags.ts";
import type { Memory } from "../memory/memory.ts";
import type { Governance } from "../governance/governance.ts";
import type { ToolSchema } from "../models/models.ts";
import type { Ledger } from "../receipts/receipts.ts";
import { createPageFetch, type Log, type PageFetch, type Placeholders, type Redactor, type Sanitizer } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import { parametersOf } from "./tool-arguments.ts";
import type { ToolProvider } from "./routing/capabilities.ts";
import type { CommandRoom } from "./command/run-command-line.ts";
import { createBoundary, toldWords } from "../execution/tier-boundary.ts";
import { catalog as shippedCatalog } from "./catalog/catalog.ts";
import { createApplyAccepted } from "../execution/apply-accepted.ts";
import { type ChangeReview, createChanges } from "../workspace/changes/changes.ts";
import { createChangesStore } from "../workspace/changes/change-store.ts";
import { createKeeping } from "../workspace/checkpoints/checkpoint-services.ts";
import { createRestore } from "../execution/restore.ts";
import { createFabric } from "./tool-runner.ts";
import { createLocks } from "../workspace/path-locks.ts";
import { createMemoryActionFactory } from "./memory/memory-actions.ts";
import { createMemoryService, type MemoryService } from "./memory/memory-service.ts";
import { createOutliner } from "../workspace/outline/outline.ts";
import { outlineFile } from "../workspace/outline/workspace-outline.ts";
import { createPreferences } from "./routing/provider-preferences.ts";
import { createProviders } from "./routing/providers.ts";
import { createDeclaredCommands } from "./providers/deploy.ts";
import { createDeployConfig } from "./providers/deploy-config.ts";
import { createPageReader } from "./providers/page-reader.ts";
import { createWebGate } from "./providers/web.ts";
import { parseCommand, replCatalog } from "./repl/repl.ts";
import { sweepStaging } from "../workspace/git/clone-staging.ts";
import { createRepositoryMoves } from "../workspace/git/repository-moves.ts";
import { createRepositoryUndo } from "../execution/repository-undo.ts";
import { createRoad } from "../execution/pipeline.ts";
import type { SandboxControl } from "../sandbox/sandbox-control.ts";
import { createRouting, type Routing, type RoutingDeps } from "./routing/routing.ts";
import type { ShellProvider } from "../sandbox/shell-provider.ts";
import type { Tool } from "./tool.ts";
import { createSandboxSettings } from "../sandbox/sandbox-settings.ts";
import { createUndo } from "../execution/undo.ts";
import { createVerifications } from "../execution/verifications.ts";
import { createVerificationsStore } from "../execution/verification-store.ts";
import { createWorkspaceFiles } from "../workspace/workspace-files.ts";
import { findFiles, searchWorkspace } from "../workspace/workspace-search.ts";

export { effectHandlers } from "./tool-handlers.ts";
export { toolsHandlers } from "./routing/routing-handlers.ts";
export type { MemoryCaller } from "./memory/memory-action.ts";
export type { MemoryService } from "./memory/memory-service.ts";
export { memoryHandlers } from "./memory/memory-handlers.ts";
export { createSandbox } from "../sandbox/sandbox.ts";
export { toolsMigrations } from "../workspace/migrations.ts";

/** Who asks for a tool, and how what happens is told meanwhile. */
export interface ToolCall {
  tool: string;
  /** As the model gave them; parsed here. */
  args: unknown;
  questId: string | null;
  /** Receipt under which this one hangs. */
  parentId: string | null;
  mode: Mode;
  signal: AbortSignal;
  /** Shows a question to the owner and waits for the answer; absent where nobody can answer. */
  askOwner?: (question: string, options: readonly string[] | undefined, signal: AbortSignal) => Promise<string>;
  /** Keeps the quest's plan. */
  updatePlan?: (steps: readonly PlanStep[]) => void;
  /** Called as the card changes: title, tier, verdict, rules, approval, status, receipt. */
  onUpdate?: (card: Partial<ToolPart>) => void;
  /** What it prints while it runs, redacted; `offset` counts UTF-16 units since it began, those that were skipped included. */
  onOutput?: (piece: { offset: number; text: string }) => void;
  /** Waits until the owner has decided every open change of the quest; absent where nobody can. @throws LancelotError `cancelled`. */
  settleReview?: (signal: AbortSignal) => Promise<void>;
}

export interface ToolOutcome {
  /** For the model: bounded, redacted, with how to read on or what to do instead. */
  text: string;
  isError: boolean;
  receiptId: string | null;
  changeId: string | null;
  card: Partial<ToolPart>;
  /** Why it failed, for callers that throw; absent when it did not. */
  error?: LancelotError;
}

export interface Tools {
  list(): ToolInfo[];
  /** What the model is told of them; `names` narrows the list. */
  schemas(names?: readonly string[]): ToolSchema[];
  /** The full road. Never throws for a failed tool: that is an outcome the model can read. @throws LancelotError `cancelled`. */
  invoke(call: ToolCall): Promise<ToolOutcome>;
  /** The owner's `ls`, `cat`, `grep`, `find`, `cp` or `mv` by the full road. @throws LancelotError `invalid_params` for any other command. */
  repl(command: string, call: { questId: string | null; signal: AbortSignal }): Promise<ToolOutcome>;
  search(
    query: { query: string; regex: boolean; glob?: string; limit: number },
    signal: AbortSignal,
  ): Promise<{ items: SearchMatch[]; truncated: boolean }>;
  files(query: string, limit: number, signal: AbortSignal): Promise<string[]>;
  /** What a file of the workspace defines. @throws LancelotError. */
  outline(path: string): Promise<Result<"workspace.outline">>;
  changes: ChangeReview;
  checkpoints: {
    list(filter: { questId?: string; limit: number }): Checkpoint[];
    diff(of: RestoreOf): Promise<{ path: string; diff: string }[]>;
    restore(of: RestoreOf): Promise<RestoreResult>;
  };
  verifications: {
    /** Verifications of reversible actions that have not ended, and those that failed in this workspace. */
    stats(): { waiting: number; failed: number };
    /** Waits until those of a quest have ended; false when the time (ms) is over first. @throws LancelotError `cancelled`. */
    settle(questId: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<boolean>;
    /** Words for the model on what was not as it was to be since it was last told; empty when nothing. */
    takeFailures(questId: string): string;
    onFailure(listener: (failure: { questId: string | null; receiptId: string; words: string }) => void): () => void;
  };
  /** What is done to memory beside the tools, by the same road; null without a memory. */
  memory: MemoryService | null;
  /** Who carries out what tools do, and how that is. */
  routing: Routing;
  /** Verifies what waits for it, for a moment; the rest is recorded as unverified. */
  close(timeoutMs?: number): Promise<void>;
}

export interface ToolsDeps {
  storage: Storage;
  ledger: Ledger;
  governance: Governance;
  redactor: Redactor;
  /** What stands for secrets in results, so that edits of files that hold them work; without them secrets are taken out for good. */
  placeholders?: Placeholders;
  /** Looks for orders in what tools give back; found ones are on the card and the receipt. Without one nothing is looked for. */
  sanitizer?: Sanitizer;
  /** False while the flag TOOLS_FABRIC is off: then no tool is offered or run. True unless said. */
  enabled?: () => boolean;
  /** Absolute; null while no folder is open: then file tools say so. */
  workspace: string | null;
  dataDir: string;
  /** Absolute path of the ripgrep program that ships. */
  ripgrepPath: string;
  /** Null without an editor. */
  askEditor: AskEditor | null;
  emit: Emit;
  /** Told of errors whose text neither model nor owner is shown. */
  log?: Log;
  now?: () => Date;
  /** Every tool; those of the catalog unless said. */
  catalog?: readonly Tool[];
  /** Folder of the shipped configuration; without it nothing shipped is laid under what the owner prefers. */
  configDir?: string;
  /** `dist/`; null, or left out, when run from source. */
  distDir?: string | null;
  /** Whether a switch of the owner's is on; every one is off unless said. */
  flag?: (name: FlagName) => boolean;
  safeMode?: () => boolean;
  /** What is remembered; without one the tools for it are not offered. */
  memory?: Memory;
  /** Where commands can run, first to last. */
  shells?: readonly ShellProvider[];
  /** The container engine's side of them. */
  sandbox?: SandboxControl;
  /** The way to the network; the one that checks every address unless said. */
  pageFetch?: PageFetch;
  /** Those that are not made here. */
  providers?: readonly ToolProvider[];
  healthTimes?: RoutingDeps["times"];
  /** True while a task may go on: what undoes it is kept. Every task may unless said. */
  isQuestOpen?: (questId: string) => boolean;
  /** How long (ms) an action of T2 or T3 waits for earlier verifications, and how many may wait. */
  boundaryTimeoutMs?: number;
  verificationQueue?: number;
}

/** How long (ms) a host that closes waits for verifications. */
const closeTimeout = 2_000;

const switchedOff =
  "The tools are switched off (flag TOOLS_FABRIC), so nothing can be read or changed. Answer from what you know, and say so.";
const noMemory =
  "Memory is switched off (flag MEMORY_VNEXT), so nothing is remembered or looked up there. Go on without it, and say so where it matters.";
/** What works without a folder. */
const withoutFolder: ReadonlySet<string> = new Set(["quest", "soul", "memory"]);
const noWorkspace = "No folder is open, so there are no files to work on. Open a folder first.";

/** The tools of one workspace, their proposed changes and their checkpoints. Removes what writes of dead hosts left beside files. */
export function createTools(deps: ToolsDeps): Tools {
  const { storage, ledger, governance, redactor, askEditor, emit, ripgrepPath } = deps;
  const now = deps.now ?? (() => new Date());
  const workspace = deps.workspace === null ? null : realpathSync(deps.workspace);
  // Rows carry the workspace they belong to; those of no workspace are never written.
  const owner = workspace ?? "";
  const locks = createLocks();
  const log: Log = deps.log ?? (() => undefined);
  const { objects, checkpoints, effects, collector } = createKeeping({
    ...{ storage, ledger, governance, workspace, now, log },
    configDir: deps.configDir ?? null,
    isQuestOpen: deps.isQuestOpen ?? (() => true),
  });
  const catalog = deps.catalog ?? shippedCatalog;
  const verifications = createVerifications({
    storage,
    store: createVerificationsStore(storage, owner, now),
    ledger,
    redactor,
    governance,
    checkpoints,
    takeBack: (checkpointId, of) => restore.takeBack(checkpointId, of),
    outcome: (report) => governance.outcome(report),
    log,
    ...(deps.verificationQueue === undefined ? {} : { queueSize: deps.verificationQueue }),
  });
  const boundary = createBoundary({
    ledger,
    verifications,
    ...(deps.boundaryTimeoutMs === undefined ? {} : { timeoutMs: deps.boundaryTimeoutMs }),
  });
  const road = createRoad({ governance, ledger, checkpoints, verifications, boundary, log, ...(effects === null ? {} : { effects }) });
  const files = createWorkspaceFiles(askEditor);
  const changes = createChanges({
    ...{ store: createChangesStore(storage, owner, deps.placeholders), files, governance, ledger, locks, emit, now },
    applyAccepted: createApplyAccepted({ files, road }),
    hide: (questId, text) => (deps.placeholders?.of(questId).secrets ?? redactor).text(text).text,
  });
  const restore = createRestore({ checkpoints, objects, files, governance, road, locks, ledger, verifications, ready: () => ready });
  const moves = createRepositoryMoves({ storage, workspace: owner, now });
  const repository = createRepositoryUndo({ moves, road, locks, governance, workspace: owner });
  const undo = createUndo({ checkpoints, files: restore, repository, log });
  const swept = checkpoints.sweep();
  verifications.resume();
  if (workspace !== null)
    void sweepStaging(workspace).catch((error: unknown) => log("what a killed clone left could not be removed", error));
  /** What hosts that died left under way, commands and restores, is finished first. */
  const ready = (async () => {
    await effects?.recover();
    await restore.resume();
    collector.soon();
  })().catch((error: unknown) => log("what a host that died left could not be put right", error));
  const tidied = ready.then(() => undo.takeBackHalfDone(swept));

  const flag = deps.flag ?? (() => false);
  const safeMode = deps.safeMode ?? (() => false);
  const providers = createProviders({
    workspace,
    files,
    search: () => searchable(),
    shells: deps.shells ?? [],
    remoteEngine: () => deps.sandbox?.state().engine?.remote === true,
    more: [
      createWebGate({
        fetch: deps.pageFetch ?? createPageFetch(),
        read: createPageReader({ distDir: deps.distDir ?? null }),
        redactor,
        networkEnabled: () => flag("TOOLS_NETWORK"),
        now,
      }),
      createDeclaredCommands(createDeployConfig({ dataDir: deps.dataDir, workspace })),
      ...(deps.providers ?? []),
    ],
  });
  const { routing, router, health, attempt } = createRouting({
    providers,
    preferences: createPreferences({ configDir: deps.configDir ?? null, dataDir: deps.dataDir }),
    control: deps.sandbox ?? null,
    flag,
    safeMode,
    ledger,
    emit,
    log,
    dataDir: deps.dataDir,
    ...(deps.healthTimes === undefined ? {} : { times: deps.healthTimes }),
  });

  const commandSettings = createSandboxSettings({ configDir: deps.configDir ?? null, dataDir: deps.dataDir });
  const commands: CommandRoom = {
    router,
    attempt,
    redactor,
    limits() {
      const { settings } = commandSettings();
      return { timeoutMs: settings.timeout_seconds * 1000, outputBytes: settings.output_bytes };
    },
    problem: () => commandSettings().problem,
    network: (command, cwd) => flag("TOOLS_NETWORK") && governance.commandNeeds(command, cwd).network,
  };

  const problem = (tool: Tool): string | null => {
    if (deps.enabled?.() === false) return switchedOff;
    if (tool.capability === "memory" && deps.memory?.enabled() !== true) return noMemory;
    if (workspace === null && !withoutFolder.has(tool.capability)) return noWorkspace;
    const own = tool.problem?.({ workspace, askEditor }) ?? null;
    if (own !== null || tool.routed !== true) return own;
    return router.problem({ capability: tool.capability, action: tool.action });
  };
  const memory = deps.memory === undefined ? null : createMemoryActionFactory({ memory: deps.memory, redactor });
  const outliner = createOutliner({ distDir: deps.distDir ?? null, askEditor });
  const fabric = {
    road,
    ledger,
    redactor,
    sanitizer: deps.sanitizer,
    placeholders: deps.placeholders,
    locks,
    problem,
    router,
    health,
    log,
    takeFailures: (questId: string) => toldWords(verifications.take(questId)),
    scope: (call: ToolCall) => ({
      ...{ call, workspace: owner, governance, files, changes, askEditor, ripgrepPath, locks, moves, questFiles: undo.questFiles },
      ...{ chosen: null, attempt, flag, commands, outliner, memory },
      placeholders: call.questId === null ? null : (deps.placeholders?.of(call.questId) ?? null),
    }),
  };
  const invoke = createFabric({ ...fabric, catalog });
  const runCommand = createFabric({ ...fabric, catalog: replCatalog });
  const searchable = () => {
    if (workspace === null) throw new LancelotError("unavailable", noWorkspace);
    return { governance, ripgrepPath, workspace };
  };

  return {
    list: () =>
      catalog.map((tool) => ({
        name: tool.name,
        description: tool.description,
        capability: tool.capability,
        action: tool.action,
        baseTier: tool.baseTier,
        parameters: parametersOf(tool),
        problem: problem(tool),
      })),
    schemas: (names) =>
      catalog
        .filter((tool) => problem(tool) === null && (names === undefined || names.includes(tool.name)))
        .map((tool) => ({ name: tool.name, description: tool.description, parameters: parametersOf(tool) })),
    invoke,
    repl: async (command, { questId, signal }) => runCommand({ ...parseCommand(command), questId, parentId: null, mode: "normal", signal }),
    search: async (query, signal) => {
      const found = await searchWorkspace(searchable(), query, signal);
      return { ...found, items: found.items.map((item) => ({ ...item, text: redactor.text(item.text).text })) };
    },
    outline: (path) => outlineFile({ governance, files, outliner }, path),
    files: async (query, limit, signal) => findFiles(searchable(), query, limit, signal),
    changes: changes.review,
    checkpoints: {
      list: (filter) => checkpoints.list(filter),
      diff: async (of) => restore.diff(of),
      restore: undo.restore,
    },
    verifications: {
      stats: verifications.stats,
      settle: (questId, options) => verifications.drain({ ...options, questId }),
      takeFailures: (questId) => toldWords(verifications.take(questId)),
      onFailure: verifications.onFailure,
    },
    memory: deps.memory === undefined || memory === null ? null : createMemoryService({ memory: deps.memory, actions: memory, road }),
    routing,
    async close(timeoutMs = closeTimeout) {
      routing.close();
      await tidied;
      await Promise.all(
        (deps.shells ?? []).map((shell) => shell.close().catch((error: unknown) => log(`${shell.id} did not close`, error))),
      );
      await verifications.close(timeoutMs);
    },
  };
}
