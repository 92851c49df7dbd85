import type { AskEditor } from "../contract/editor.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Execution } from "../execution/execution.ts";
import type { FlagName } from "../flags/flags.ts";
import type { Governance } from "../governance/governance.ts";
import type { Memory } from "../memory/memory.ts";
import type { Ledger } from "../receipts/receipts.ts";
import { createSandboxSettings, type SandboxControl, type ShellProvider } from "../sandbox/sandbox.ts";
import type { Log, PageFetch, Placeholders, Redactor, Sanitizer } from "../security/security.ts";
import { createOutliner, type FilePath, findFiles, noQuest, outlineFile, searchWorkspace, type Workspace } from "../workspace/workspace.ts";
import { catalog as shippedCatalog } from "./catalog/catalog.ts";
import { createBackgroundCommands } from "./command/background-commands.ts";
import type { CommandServices } from "./command/command-services.ts";
import { createMemoryActionFactory } from "./memory/memory-actions.ts";
import { createMemoryService } from "./memory/memory-service.ts";
import { createDeployConfig } from "./providers/deploy-config.ts";
import { createDeclaredCommands } from "./providers/deploy.ts";
import { createPageReader } from "./providers/page-reader.ts";
import { createWebGate } from "./providers/web.ts";
import { parseCommand, replCatalog } from "./repl/repl.ts";
import type { ToolProvider } from "./routing/capabilities.ts";
import { createPreferences } from "./routing/provider-preferences.ts";
import { createProviders } from "./routing/providers.ts";
import { createRouting, type RoutingDeps } from "./routing/routing.ts";
import { parametersOf } from "./tool-arguments.ts";
import { createToolRunner } from "./tool-runner.ts";
import type { Tool } from "./tool.ts";
import type { ToolCall, Tools } from "./types.ts";

export { toolHandlers } from "./tool-handlers.ts";
export { OutcomeReport, reportOutcomeTool } from "./catalog/report-outcome.ts";
export { memoryHandlers } from "./memory/memory-handlers.ts";
export type { MemoryService } from "./memory/memory-service.ts";
export { routingHandlers } from "./routing/routing-handlers.ts";
export { subtaskPaths, subtaskTool } from "./subtask-scope.ts";
export type { SubtaskReport, SubtaskRequest, ToolCall, ToolOutcome, Tools } from "./types.ts";

/** Where commands run, and what the user does with it. */
export interface CommandSandbox {
  /** In order of preference. */
  readonly shells: readonly ShellProvider[];
  /** The container engine; null where there is none. */
  readonly control: SandboxControl | null;
  /** Makes the values of the workspace's secret files known to redaction. */
  readonly learnSecrets: () => Promise<void>;
}

export interface ToolsDeps {
  readonly workspace: Workspace;
  readonly execution: Execution;
  readonly ledger: Ledger;
  readonly governance: Governance;
  readonly redactor: Redactor;
  readonly placeholders: Placeholders;
  readonly sanitizer: Sanitizer;
  readonly sandbox: CommandSandbox;
  /** Null without a memory: the memory tools are then not offered. */
  readonly memory: Memory | null;
  readonly pageFetch: PageFetch;
  /** Null without an editor. */
  readonly askEditor: AskEditor | null;
  readonly flag: (name: FlagName) => boolean;
  readonly safeMode: () => boolean;
  readonly dataDir: string;
  /** The folder of the shipped configuration; null uses the built-in defaults. */
  readonly configDir: string | null;
  /** `dist/`; null when run from source. */
  readonly distDir: string | null;
  /** Absolute path of the shipped ripgrep program. */
  readonly ripgrepPath: string;
  readonly emit: Emit;
  readonly now: () => Date;
  /** Receives errors whose text neither the model nor the user is shown. */
  readonly log: Log;
  /** Every tool; the shipped catalog if absent. */
  readonly catalog?: readonly Tool[];
  /** Providers in addition to those created here. */
  readonly providers?: readonly ToolProvider[];
  readonly healthTimes?: RoutingDeps["times"];
}

const toolsOff = "The tools are turned off (flag TOOLS_FABRIC), so nothing can be read or changed. Answer from what you know, and say so.";
const memoryOff =
  "Memory is turned off (flag MEMORY_VNEXT), so memories cannot be saved or searched. Continue without it, and say so where it matters.";
const noFolder = "No folder is open, so there are no files to work on. Open a folder first.";
/** Capabilities that need no folder. */
const withoutFolder: ReadonlySet<string> = new Set(["quest", "soul", "memory"]);

export function createTools(deps: ToolsDeps): Tools {
  const { workspace, execution, ledger, governance, redactor, sandbox, askEditor, ripgrepPath, flag, dataDir, log } = deps;
  const { root, files } = workspace;
  const catalog = deps.catalog ?? shippedCatalog;
  const searchable = () => {
    if (root === null) throw new LancelotError("unavailable", noFolder);
    return { governance, ripgrepPath, workspace: root };
  };
  const deployConfig = createDeployConfig({ dataDir, workspace: root });
  const { routing, router, health, runOnProvider } = createRouting({
    deployProblem: deployConfig.problem,
    providers: createProviders({
      ...{ workspace: root, files, search: searchable, shells: sandbox.shells },
      remoteEngine: () => sandbox.control?.state().engine?.remote === true,
      more: [
        createWebGate({
          fetch: deps.pageFetch,
          read: createPageReader({ distDir: deps.distDir }),
          redactor,
          networkEnabled: () => flag("TOOLS_NETWORK"),
          now: deps.now,
        }),
        createDeclaredCommands(deployConfig),
        ...(deps.providers ?? []),
      ],
    }),
    preferences: createPreferences({ configDir: deps.configDir, dataDir }),
    control: sandbox.control,
    ...{ flag, ledger, log, dataDir },
    safeMode: deps.safeMode,
    emit: deps.emit,
    ...(deps.healthTimes === undefined ? {} : { times: deps.healthTimes }),
  });

  const commandSettings = createSandboxSettings({ configDir: deps.configDir, dataDir });
  const background = createBackgroundCommands({ ledger, pipeline: execution.pipeline, emit: deps.emit, now: deps.now, log });
  const commands: CommandServices = {
    ...{ router, runOnProvider, redactor, background },
    viewSandbox: (questId) => execution.background?.sandboxOf(questId ?? noQuest) ?? null,
    learnSecrets: sandbox.learnSecrets,
    limits() {
      const { value: settings } = commandSettings.read();
      return { timeoutMs: settings.timeout_seconds * 1000, outputBytes: settings.output_bytes };
    },
    problem: () => commandSettings.read().problem,
    network: (command, cwd) => (flag("TOOLS_NETWORK") ? governance.commandNeeds(command, cwd).network : null),
    whyNoNetwork(command, cwd) {
      if (flag("TOOLS_NETWORK")) return null;
      const needs = governance.commandNeeds(command, cwd).network;
      if (needs === null) return null;
      const what = needs.services.length === 0 ? "the network" : needs.services.join(" and ");
      return `It needs ${what}, and network access is turned off (flag TOOLS_NETWORK).`;
    },
    runsTests: (command, cwd) => governance.commandNeeds(command, cwd).tests,
  };

  const problem = (tool: Tool): string | null => {
    if (!flag("TOOLS_FABRIC")) return toolsOff;
    if (tool.capability === "memory" && deps.memory?.enabled() !== true) return memoryOff;
    if (tool.flag !== undefined && !flag(tool.flag)) return `${tool.name} is turned off (flag ${tool.flag}). Continue without it.`;
    if (root === null && !withoutFolder.has(tool.capability)) return noFolder;
    const own = tool.problem?.({ workspace: root, askEditor }) ?? null;
    if (own !== null || tool.routed !== true) return own;
    return router.problem({ capability: tool.capability, action: tool.action });
  };
  const memory = deps.memory === null ? null : createMemoryActionFactory({ memory: deps.memory, redactor });
  const outliner = createOutliner({ distDir: deps.distDir, askEditor });
  const runner = {
    ...{ execution, ledger, redactor, problem, router, health, log },
    sanitizer: deps.sanitizer,
    placeholders: deps.placeholders,
    locks: workspace.locks,
    scope: (call: ToolCall) => ({
      ...{ call, workspace: workspace.key, governance, files, locks: workspace.locks, moves: workspace.moves },
      ...{ changes: execution.changes, questFiles: execution.questFiles },
      ...{ askEditor, ripgrepPath, chosen: null, runOnProvider, flag, commands, outliner, memory },
      placeholders: call.quest === null ? null : deps.placeholders.of(call.quest),
      readGenerated: async ({ absolute }: FilePath) => {
        const { settlement } = execution;
        if (settlement === null || root === null || !absolute.startsWith(`${root}/`)) return null;
        return settlement.readText(call.quest ?? noQuest, absolute.slice(root.length + 1));
      },
    }),
  };
  const invoke = createToolRunner({ ...runner, catalog });
  const runCommand = createToolRunner({ ...runner, catalog: replCatalog });

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
    repl: async (command, { quest, signal }) =>
      runCommand({ ...parseCommand(command), quest, parent: null, actor: "owner", mode: "normal", signal }),
    search: async (query, signal) => {
      const found = await searchWorkspace(searchable(), query, signal);
      return { ...found, items: found.items.map((item) => ({ ...item, text: redactor.text(item.text).text })) };
    },
    outline: (path) => outlineFile({ governance, files, outliner }, path),
    files: async (query, limit, signal) => findFiles(searchable(), query, limit, signal),
    memory:
      deps.memory === null || memory === null
        ? null
        : createMemoryService({ memory: deps.memory, actions: memory, pipeline: execution.pipeline }),
    background,
    routing,
    async close() {
      routing.close();
      await background.close();
      await Promise.all(sandbox.shells.map((shell) => shell.close().catch((error: unknown) => log(`${shell.id} did not close`, error))));
    },
  };
}
