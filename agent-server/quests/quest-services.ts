import { realpathSync } from "node:fs";
import type { Message, Quest } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Flag } from "../contract/flags.ts";
import {
  createContext,
  createContextSettings,
  createCustomCommands,
  type EnvironmentFacts,
  type WorkStateReader,
} from "../context/context.ts";
import type { Execution } from "../execution/execution.ts";
import type { Governance } from "../governance/governance.ts";
import { createQuestRecall, type Memory } from "../memory/memory.ts";
import type { LocalTasks, Models } from "../models/models.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Placeholders, Redactor, Sanitizer } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { Tools } from "../tools/tools.ts";
import type { ChangeReview } from "../workspace/workspace.ts";
import type { ClaimCheck } from "./claim-check.ts";
import { createContextService } from "./context/context-service.ts";
import { createContextStore } from "./context/context-store.ts";
import { createQuestContext } from "./context/quest-context.ts";
import { createExternalMessages } from "./external-messages.ts";
import { createFinishedQuestMemory } from "./memory/finished-quest-memory.ts";
import { createOwnerMemoryCommands } from "./memory/owner-memory-commands.ts";
import { recallQuests } from "./memory/recall-quests.ts";
import type { HostActions } from "./host-commands.ts";
import { createQuestRunner } from "./quest-runner.ts";
import { createQuestStore } from "./quest-store.ts";
import { reservedCommands } from "./slash-commands.ts";
import { createSubtaskProgress } from "./subtask-progress.ts";
import { createSubtasks } from "./subtasks.ts";
import type { Classify, Reason, RunLoop, Spawn } from "./turn-deps.ts";
import { createUserMessages } from "./user-messages.ts";

export interface QuestsDeps {
  /** The agentic loop of one run. */
  runLoop: RunLoop;
  storage: Storage;
  models: Models;
  tools: Tools;
  /** The review of proposed changes. */
  changes: ChangeReview;
  verifications: Execution["verifications"];
  /** What becomes of the changes of a quest's commands; null without a folder. */
  settlement: Execution["settlement"];
  governance: Governance;
  ledger: Ledger;
  redactor: Redactor;
  /** Replaces the secrets of a quest by placeholders that its file tools can resolve. */
  placeholders: Placeholders;
  emit: Emit;
  /** Finds prompt injections in text that the user did not write. */
  sanitizer: Sanitizer;
  /** Absolute path of the workspace; null without one. */
  workspace: string | null;
  /** Contains USER.md, RULES.md and MEMORY_SUMMARY.md. Default: the data folder of the storage. */
  dataDir?: string;
  /** The shipped `config/` folder. Default: the built-in context settings apply. */
  configDir?: string;
  /** Summarizes with a model on this machine. Default: rules summarize. */
  summarize?: LocalTasks["summarize"];
  /** Recall and proposals; absent when memory is off. Writes to memory go through `tools.memory`. */
  memory?: Memory;
  /** Classifies a request; resolves to null when the classifier is off. Default: rules classify. */
  classify?: Classify;
  /** The deep reasoning before complex requests. Default: none. */
  reason?: Reason;
  /** Compares answers with what is recorded. Default: answers are not checked. */
  checkClaims?: ClaimCheck;
  /** The proposals of sub-tasks. Default: there are no sub-tasks. */
  subtasks?: Execution["subtasks"];
  /** False when nobody can answer questions; `ask_owner` then fails at once. Default: true. */
  canAsk?: boolean;
  /** Flags and safe mode for the prompt. Default: none. */
  switches?: () => { readonly flags: readonly Flag[]; readonly safeMode: boolean };
  /** True when the owner trusts the open folder: its command files are used. Default: they are not. */
  trusted?: boolean;
  /** The machine and the containment of commands, for the prompt. Default: none. */
  environment?: () => EnvironmentFacts;
  /** What the editor and the repository show, for the prompt. Default: nothing. */
  workState?: WorkStateReader;
  /** What `/undo` and `/doctor` do. Default: they are unavailable. */
  hostActions?: HostActions;
  /** US dollars that a quest has cost; null before its first model call. */
  questCost?: (questId: string) => number | null;
  /** How many tasks may run at a time in this host. Default: any number. */
  maxRunningTasks?: () => number;
  /** @throws LancelotError `unavailable` while Lancelot sleeps and starts no tasks. Default: it never sleeps. */
  requireAwake?: () => void;
  /** Receives errors whose text is not shown in the chat. */
  log?: Log;
  now?: () => Date;
}

export type QuestServices = ReturnType<typeof createQuestServices>;

/** Creates the store, context, memory and runner that quests consist of, and connects them. */
export function createQuestServices(deps: QuestsDeps) {
  const { storage, models, tools, changes, verifications, governance, ledger, redactor, sanitizer, memory } = deps;
  const now = deps.now ?? (() => new Date());
  const log: Log = deps.log ?? (() => undefined);
  const canAsk = deps.canAsk ?? true;
  const dataDir = deps.dataDir ?? storage.dataDir;
  const redactorOf = (questId: string): Redactor => deps.placeholders.of(questId).secrets;
  const service = () => tools.memory;

  const progress = createSubtaskProgress(log);
  const emit: Emit = (topic, payload) => {
    deps.emit(topic, payload);
    if (topic === "message") progress.onMessage(payload as Message);
    else if (topic === "quest") progress.onQuest(payload as Quest);
  };
  const store = createQuestStore({ storage, emit, now, ...(deps.questCost === undefined ? {} : { costOf: deps.questCost }) });
  const context = createContext({
    governance,
    ledger,
    redactor,
    redactorOf,
    sanitizer,
    soul: governance.soul.prompt,
    self: () => ({ tools: tools.list(), canAsk, ...(deps.switches?.() ?? { flags: [], safeMode: false }) }),
    environment: deps.environment,
    workspace: deps.workspace,
    dataDir,
  });
  const kept = createContextStore(storage);
  const settingsFile = createContextSettings({ configDir: deps.configDir ?? null, dataDir, onProblem: log });
  const settings = () => settingsFile.read().value;
  const questContext = createQuestContext({
    ...{ store, kept, context, models, tools, changes, governance, ledger, redactor, settings, log, now },
    summarize: deps.summarize,
  });
  const recall = createQuestRecall({ memory, quests: recallQuests(store), ledger, log });
  const contextService = createContextService({
    ...{ store, recall, kept, context, questContext, models, governance, ledger, redactor, now },
    budget: () => settings().budget_tokens,
  });
  const others = createExternalMessages(storage);
  const finishedQuestMemory = createFinishedQuestMemory({ memory, service, store, storage, log });
  const customCommands = createCustomCommands({
    ...{ governance, redactor, sanitizer, dataDir },
    trusted: deps.workspace !== null && deps.trusted === true,
    reserved: reservedCommands,
  });
  /** As the tools store it, so that one folder has one name however its path was written. Empty without a workspace. */
  const workspace = deps.workspace === null ? "" : realpathSync(deps.workspace);
  const subtaskChanges = deps.subtasks ?? null;
  const spawn: Spawn | null = subtaskChanges === null ? null : (parent, of) => subtasks(parent, of);
  const runner: ReturnType<typeof createQuestRunner> = createQuestRunner(
    {
      settle: (context) => deps.settlement?.settle(context) ?? Promise.resolve(""),
      ...{ store, models, tools, changes, verifications, governance, context, questContext, recall, ledger, redactor, redactorOf },
      ...{ sanitizer, emit, canAsk, log },
      memoryCommands: createOwnerMemoryCommands({ memory, service, store, others, log }),
      ended: finishedQuestMemory.ended,
      runLoop: deps.runLoop,
      classify: deps.classify,
      reason: deps.reason ?? null,
      checkClaims: deps.checkClaims ?? null,
      workState: deps.workState ?? null,
      spawn,
      maxRunningTasks: deps.maxRunningTasks ?? (() => Infinity),
    },
    storage,
  );
  const subtasks: Spawn =
    subtaskChanges === null
      ? () => Promise.reject(new LancelotError("unavailable", "No folder is open, so there are no sub-tasks."))
      : createSubtasks({
          ...{ store, runner, changes: subtaskChanges, governance, ledger, redactorOf, externalMessages: others, progress, workspace, log },
        });
  return {
    isWritable: () => storage.isWritable(),
    requireAwake: deps.requireAwake ?? (() => undefined),
    configProblem: () => settingsFile.read().problem,
    store,
    contextService,
    finishedQuestMemory,
    runner,
    customCommands,
    userMessages: createUserMessages({
      ...{ store, changes, governance, ledger, redactor, redactorOf, sanitizer, customCommands },
      externalMessages: others,
    }),
    redactorOf,
    workspace,
    log,
  };
}
