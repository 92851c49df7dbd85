import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { protocolVersion } from "./contract/common.ts";
import type { AskEditor } from "./contract/editor.ts";
import { LancelotError } from "./contract/errors.ts";
import type { Emit } from "./contract/events.ts";
import type { Posture } from "./contract/governance.ts";
import type { HostInfo } from "./contract/host.ts";
import type { Handlers } from "./contract/table.ts";
import { createFlags, createSafeMode, flagHandlers, flagsMigrations, safeModeHandlers } from "./flags/flags.ts";
import { estimateTokens } from "./context/context.ts";
import { createGovernance, governanceHandlers, governanceMigrations } from "./governance/governance.ts";
import { createMemory, memoryMigrations, startMaintenance } from "./memory/memory.ts";
import {
  createModels,
  createUsage,
  keysHandlers,
  localDoctorLine,
  modelsHandlers,
  oauthHandlers,
  localHandlers,
  routerHandlers,
  routerMigrations,
  tasksHandlers,
  usageHandlers,
  usageMigrations,
} from "./models/models.ts";
import { chatHandlers, contextHandlers, createEvidence, createQuests, createTimeline, questsMigrations } from "./quests/quests.ts";
import type { ProductPaths } from "./paths.ts";
import {
  type Audit,
  createAudit,
  createLedger,
  createTelemetry,
  receiptsHandlers,
  receiptsMigrations,
  withReceipt,
} from "./receipts/receipts.ts";
import {
  createGatedFetch,
  createPiiDetector,
  createPlaceholders,
  createOAuth,
  createPageFetch,
  createRedactor,
  createSanitizer,
  createSecrets,
  isReservedSecret,
  piiKinds,
  type Redactor,
  securityHandlers,
} from "./security/security.ts";
import { openStorage } from "./storage/storage.ts";
import { runLoop } from "./turn/turn.ts";
import { createSandbox } from "./sandbox/sandbox.ts";
import { createTools, memoryHandlers, routingHandlers, toolHandlers } from "./tools/tools.ts";
import { createExecution } from "./execution/execution.ts";
import { createWorkspace, workspaceMigrations } from "./workspace/workspace.ts";

export interface HostOptions {
  paths: ProductPaths;
  /** Absolute path of the workspace; null without one. */
  workspace: string | null;
  dataDir: string;
  /** False: nothing in the workspace is written. */
  trusted: boolean;
  posture: Posture;
  approvalTimeoutSeconds: number;
  /** Flags as the editor's settings have them. */
  features?: Readonly<Record<string, boolean>>;
  /** False where nobody can answer a question. */
  canAsk: boolean;
  askEditor: AskEditor | null;
  env: NodeJS.ProcessEnv;
  emit: Emit;
  lastEventSeq(): number;
  log(message: string, error?: unknown): void;
}

export interface Host {
  readonly handlers: Handlers;
  readonly redactor: Redactor;
  /** For what the ways in turn away. */
  readonly audit: Pick<Audit, "note">;
  info(): HostInfo;
  /** Whether some model can answer now; `health.ready` says what is missing. */
  hasModel(): Promise<boolean>;
  /** Stops quests, closes streams and processes, writes what is open. */
  close(): Promise<void>;
}

/**
 * The composition root: the only place that knows every room. Starting it puts right what hosts that died left behind.
 * @throws LancelotError worded for the owner when the data folder or the workspace cannot be used.
 */
export async function createHost(options: HostOptions): Promise<Host> {
  const { workspace, dataDir, paths, emit } = options;
  if (workspace !== null && !(existsSync(workspace) && statSync(workspace).isDirectory()))
    throw new LancelotError("not_found", `The workspace ${workspace} is not a folder.`);
  const startedAt = new Date().toISOString();
  const version = readVersion(paths.root);

  const redactor = createRedactor();
  const placeholders = createPlaceholders({ dataDir });
  const detector = createPiiDetector({ configDir: paths.configDir, dataDir });
  const sanitizer = createSanitizer(paths.configDir, options.log);
  const storage = openStorage({
    dataDir,
    migrations: [
      ...flagsMigrations,
      ...receiptsMigrations,
      ...governanceMigrations,
      ...workspaceMigrations,
      ...usageMigrations,
      ...routerMigrations,
      ...questsMigrations,
      ...memoryMigrations,
    ],
  });
  let audit: Audit | null = null;
  const secrets = createSecrets({
    dataDir,
    env: options.env,
    ...(options.askEditor ? { editor: editorSecrets(options.askEditor) } : {}),
    onAccess: ({ operation, name }) => {
      // The ledger's own keys are used for every head it signs; noting that would make another head.
      const own = name !== undefined && isReservedSecret(name);
      if (!own) audit?.note("vault", { title: name === undefined ? operation : `${operation} ${name}` });
    },
  });
  const ledger = createLedger({ storage, redactor, secrets, log: options.log, configDir: paths.configDir });
  const gatedFetch = createGatedFetch();
  const telemetry = createTelemetry({
    ledger,
    configDir: paths.configDir,
    dataDir,
    env: options.env,
    gatedFetch,
    log: options.log,
    version,
  });
  const noted = createAudit({ ledger, log: options.log });
  audit = noted;
  const flags = createFlags({
    dataDir,
    env: options.env,
    log: options.log,
    onChange: ({ name, enabled, by }) => {
      noted.note("flag", { title: `${name} ${enabled ? "on" : "off"}`, name, enabled, by });
      emit("flags", {});
    },
  });
  flags.useSettings(options.features ?? {});
  const safeMode = createSafeMode({
    storage,
    onChange: (enabled, here) => {
      noted.note("safe-mode", { title: `Safe mode ${enabled ? "on" : "off"}`, enabled, ...(here ? {} : { by: "another window" }) });
      emit("flags", {});
    },
  });
  // What another window switched shows here without a decision in between.
  const watching = setInterval(() => {
    // Its table is read with the first look: better now than with the first message.
    sanitizer.inspect("");
    flags.enabled("SOUL");
    safeMode.enabled();
    governance.soul.notice();
    usage.notice();
    memory.notice();
  }, 2_000).unref();
  const governance = createGovernance({
    storage,
    ledger,
    redactor,
    workspace,
    dataDir,
    configDir: paths.configDir,
    trusted: options.trusted,
    posture: options.posture,
    approvalTimeoutSeconds: options.approvalTimeoutSeconds,
    emit,
    networkEnabled: () => flags.enabled("TOOLS_NETWORK"),
    soulEnabled: () => flags.enabled("SOUL"),
    safeMode: () => safeMode.enabled(),
    log: options.log,
  });
  governance.setCanAsk(options.canAsk);
  const oauth = createOAuth({
    configDir: paths.configDir,
    dataDir,
    secrets,
    gatedFetch,
    enabled: (provider) => flags.enabled(provider === "anthropic" ? "ANTHROPIC_OAUTH" : "GOOGLE_OAUTH"),
    onNotice: ({ provider, event, problem }) => {
      noted.note("sign-in", { title: `${provider}: ${event}`, provider, ...(problem === undefined ? {} : { problem }) });
      emit("oauth", {});
      emit("models", {});
    },
  });
  const usage = createUsage({
    storage,
    configDir: paths.configDir,
    dataDir,
    env: options.env,
    emit,
    questName: (questId) => quests.titleOf(questId),
  });
  const models = createModels({
    storage,
    sdkEnabled: () => flags.enabled("PROVIDER_SDK"),
    usage,
    oauth,
    askEditor: options.askEditor,
    configDir: paths.configDir,
    dataDir,
    distDir: paths.distDir,
    secrets,
    gatedFetch,
    ledger,
    redactor,
    placeholders,
    personal: { detector, kinds: new Set(piiKinds), ready: () => detector.ready() },
    env: options.env,
  });
  const folder = workspace === null ? null : realpathSync(workspace);
  const sandbox =
    folder === null
      ? null
      : createSandbox({
          workspace: folder,
          dataDir,
          configDir: paths.configDir,
          hostId: storage.hostId,
          hostAlive: storage.hostAlive,
          governance,
          ledger,
          flag: (name) => flags.enabled(name),
          env: options.env,
          home: homedir(),
          log: options.log,
        });
  const timeline = createTimeline({ storage, workspace: folder });
  const memory = createMemory({
    storage,
    ledger,
    redactor,
    sanitizer,
    enabled: () => flags.enabled("MEMORY_VNEXT"),
    workspace: folder,
    dataDir,
    configDir: paths.configDir,
    emit,
    log: options.log,
    estimateTokens,
    soul: governance.soul.prompt,
    forbids: (content) => governance.soul.active()?.forbidsMemory(content) ?? null,
    evidence: createEvidence({ timeline, ledger }),
    timeline,
    summarize: async (text, maxTokens, signal) =>
      (await models.tasks.summarize(text, maxTokens, { questId: null, parentId: null, signal })).text,
  });
  const maintenance = startMaintenance(memory);
  const now = (): Date => new Date();
  const log = options.log;
  const workspaceServices = createWorkspace({
    ...{ storage, ledger, governance, placeholders, workspace, now, log },
    askEditor: options.askEditor,
    configDir: paths.configDir,
    isQuestOpen: (questId) => quests.isOpen(questId),
  });
  const execution = createExecution({ workspace: workspaceServices, storage, governance, ledger, redactor, placeholders, emit, now, log });
  const tools = createTools({
    workspace: workspaceServices,
    ...{ execution, ledger, governance, redactor, placeholders, sanitizer, memory, emit, now, log, dataDir },
    sandbox: sandbox ?? { shells: [], control: null },
    pageFetch: createPageFetch(),
    flag: (name) => flags.enabled(name),
    safeMode: () => safeMode.enabled(),
    configDir: paths.configDir,
    distDir: paths.distDir,
    ripgrepPath: paths.ripgrepPath,
    askEditor: options.askEditor,
  });
  const quests = createQuests({
    runLoop,
    storage,
    models,
    tools,
    changes: execution.changes.review,
    verifications: execution.verifications,
    governance,
    ledger,
    redactor,
    placeholders,
    sanitizer,
    emit,
    workspace,
    dataDir,
    configDir: paths.configDir,
    canAsk: options.canAsk,
    questCost: usage.questCost,
    memory,
    summarize: models.tasks.summarize,
    classify: (request, context) =>
      flags.enabled("UNIFIED_CLASSIFICATION") ? models.tasks.classifyIntent(request, context) : Promise.resolve(null),
    switches: () => ({ flags: flags.list(), safeMode: safeMode.enabled() }),
    log: options.log,
  });

  const stopReceipts = ledger.onReceipt((receipt) => emit("receipt", receipt));
  const stopModels = models.onChange((change) => {
    if ("localModel" in change) emit("localModel", change.localModel);
    else if ("routed" in change) emit("routed", change.routed);
    else emit("models", {});
  });
  const closedReceipts = ledger.reconcile();
  const interrupted = quests.reconcile();
  memory.reconcile();
  if (closedReceipts + interrupted > 0)
    options.log(`put right after a host that died: ${closedReceipts} receipts closed, ${interrupted} quests interrupted`);

  tools.routing.start();

  const info = (): HostInfo => ({
    name: "lancelot",
    version,
    protocolVersion,
    pid: process.pid,
    workspace: workspace === null ? null : basename(workspace),
    trusted: options.trusted,
    posture: governance.posture(),
    safeMode: safeMode.enabled(),
    startedAt,
    lastEventSeq: options.lastEventSeq(),
  });

  const handlers: Handlers = {
    "host.info": info,
    "host.configure": (settings) =>
      withReceipt(ledger, { actionType: "user_interaction", actionName: "host.configure", inputs: settings, riskTier: "T1" }, () => {
        const { posture, approvalTimeoutSeconds, features } = settings;
        if (features !== undefined) flags.useSettings(features);
        if (posture !== undefined) governance.setPosture(posture);
        if (approvalTimeoutSeconds !== undefined) governance.setApprovalTimeout(approvalTimeoutSeconds);
        return info();
      }),
    "health.live": () => ({ status: "alive" }),
    "health.ready": async () => {
      const degradedReasons = workspace === null ? ["No folder is open: files cannot be read or changed."] : [];
      const answers = await models.active().catch((error: unknown) => {
        degradedReasons.push(error instanceof LancelotError ? error.message : "The state of the models could not be read.");
        return null;
      });
      degradedReasons.push(...tools.routing.degraded(), ...models.router.degraded());
      for (const reason of [ledger.degraded(), telemetry.state().problem, models.localOperations.localProblem(), detector.problem()])
        if (reason !== null && !degradedReasons.includes(reason)) degradedReasons.push(reason);
      const local = models.local().status;
      return {
        ready: answers !== null,
        onboardingState: answers === null ? "MODEL_NEEDED" : "READY",
        localLlmReady: local === "ready" || local === "loaded",
        schedulerRunning: false,
        lastHealthTickAt: null,
        lastSchedulerTickAt: null,
        degradedReasons,
        timestamp: new Date().toISOString(),
      };
    },
    ...chatHandlers(quests),
    ...contextHandlers(quests),
    ...oauthHandlers(oauth, { ledger, onChange: () => (emit("oauth", {}), emit("models", {})) }),
    ...modelsHandlers(models, ledger),
    ...localHandlers(models.localOperations),
    ...keysHandlers(secrets, { ledger, onChange: () => emit("models", {}) }),
    ...governanceHandlers(governance, execution.verifications.stats),
    ...receiptsHandlers({ ledger, emit }),
    ...usageHandlers(usage, ledger),
    ...tasksHandlers(models.tasks),
    ...routerHandlers(models, (questId) => quests.get(questId).quest.override),
    ...flagHandlers(flags),
    ...safeModeHandlers(safeMode),
    ...routingHandlers(tools.routing, ledger, () => [localDoctorLine(models.local())]),
    ...toolHandlers(tools, execution, () => flags.require("TOOLS_FABRIC")),
    ...memoryHandlers({ memory, tools, require: () => flags.require("MEMORY_VNEXT") }),
    ...securityHandlers({ sanitizer, redactor, detector }),
  };

  return {
    handlers,
    redactor,
    audit: noted,
    info,
    hasModel: async () => (await models.active().catch(() => null)) !== null,
    async close() {
      clearInterval(watching);
      await quests.close();
      await maintenance.close();
      await tools.close();
      await execution.close(2_000);
      await sandbox?.close();
      await models.close();
      usage.close();
      oauth.close();
      noted.close();
      stopReceipts();
      stopModels();
      await telemetry.end();
      await ledger.end();
      storage.close();
    },
  };
}

function readVersion(root: string): string {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  return manifest.version;
}

/** Secrets kept by the editor, as the security room asks for them. */
function editorSecrets(ask: AskEditor) {
  return {
    get: async (name: string) => (await ask("secretGet", { name })).value,
    set: async (name: string, value: string | null) => void (await ask("secretSet", { name, value })),
    list: async () => (await ask("secretList", {})).names,
  };
}
