import type { HostOptions } from "./host-options.ts";
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename } from "node:path";
import type { AskEditor } from "./contract/editor.ts";
import { createClockNotice } from "./host-clock.ts";
import { createConfigFiles } from "./host-config.ts";
import { defaultMaxRunningTasks } from "./contract/running-tasks.ts";
import { createFlags, createSafeMode, createSleep, flagDoctorLines, flagsMigrations } from "./flags/flags.ts";
import { createWorkState, estimateTokens } from "./context/context.ts";
import { createGovernance, governanceMigrations } from "./governance/governance.ts";
import { createMemory, memoryMigrations, startMaintenance } from "./memory/memory.ts";
import { createModels, createUsage, localDoctorLine, routerMigrations, usageMigrations } from "./models/models.ts";
import { createEvidence, createQuests, createTimeline, questsMigrations } from "./quests/quests.ts";
import { type Audit, createAudit, createLedger, createTelemetry, receiptsMigrations } from "./receipts/receipts.ts";
import {
  createGatedFetch,
  createKnownSecrets,
  createPiiDetector,
  createPlaceholders,
  createOAuth,
  createPageFetch,
  createRedactor,
  createSanitizer,
  createSecrets,
  isReservedSecret,
  piiKinds,
} from "./security/security.ts";
import { createClock, openStorage } from "./storage/storage.ts";
import { runLoop } from "./turn/turn.ts";
import { createSandbox } from "./sandbox/sandbox.ts";
import { createTools } from "./tools/tools.ts";
import { createExecution } from "./execution/execution.ts";
import {
  createAskIntent,
  createClaimCheck,
  createPlans,
  createReasoning,
  createRoutedLoop,
  plansMigrations,
  recallExperiences,
} from "./plans/plans.ts";
import { createWorkspace, readTestReport, workspaceMigrations } from "./workspace/workspace.ts";

export type HostServices = ReturnType<typeof createHostServices>;

/** Creates every service of the host and connects them. Repairs the state of hosts that crashed. */
export function createHostServices(options: HostOptions, version: string) {
  const { workspace, dataDir, paths, emit, log } = options;
  const now = (): Date => new Date();
  const known = options.known ?? createKnownSecrets();
  const redactor = createRedactor({ known });
  const placeholders = createPlaceholders({ dataDir, known });
  const detector = createPiiDetector({ configDir: paths.configDir, dataDir });
  const sanitizer = createSanitizer(paths.configDir, log);
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
      ...plansMigrations,
      ...memoryMigrations,
    ],
  });
  /** Set once the ledger exists, which itself reads secrets. */
  let secretAudit: Audit | null = null;
  const secrets = createSecrets({
    dataDir,
    env: options.env,
    ...(options.askEditor ? { editor: editorSecrets(options.askEditor) } : {}),
    onAccess: ({ operation, name }) => {
      // The ledger uses its own keys for each signed head; recording that would need another head.
      const isOwnKey = name !== undefined && isReservedSecret(name);
      if (!isOwnKey) secretAudit?.note("vault", { title: name === undefined ? operation : `${operation} ${name}` });
    },
  });
  const ledger = createLedger({ storage, redactor, secrets, log, configDir: paths.configDir });
  const gatedFetch = createGatedFetch();
  const telemetry = createTelemetry({
    ledger,
    configDir: paths.configDir,
    dataDir,
    env: options.env,
    gatedFetch,
    log,
    version,
  });
  const audit = createAudit({ ledger, log: log });
  secretAudit = audit;
  const flags = createFlags({
    dataDir,
    env: options.env,
    log,
    onChange: ({ name, enabled, by }) => {
      audit.note("flag", { title: `${name} ${enabled ? "on" : "off"}`, name, enabled, by });
      emit("flags", {});
    },
  });
  flags.useSettings(options.features ?? {});
  const safeMode = createSafeMode({
    storage,
    onChange: (enabled, here) => {
      audit.note("safe-mode", { title: `Safe mode ${enabled ? "on" : "off"}`, enabled, ...(here ? {} : { by: "another window" }) });
      emit("flags", {});
    },
  });
  const sleep = createSleep({
    storage,
    // The receipt of host.sleep or host.wake says who changed it.
    onChange: () => emit("flags", {}),
  });
  let maxRunningTasks = options.maxRunningTasks ?? defaultMaxRunningTasks;
  // Detects changes that another window made, even while no action reads them.
  const watching = setInterval(() => {
    // Loads the rules of the sanitizer before the first message needs them.
    sanitizer.inspect("");
    flags.enabled("SOUL");
    safeMode.enabled();
    sleep.current();
    governance.soul.notice();
    usage.notice();
    memory.notice();
    configFiles.notice();
    if (storage.isWritable()) clockJump.notice();
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
    editsOf: (questId) => quests.editsOf(questId),
    hasTaskCopy: (questId, absolute) => workspaceServices.hasTaskCopy(questId, absolute),
    log,
  });
  governance.setCanAsk(options.canAsk);
  const oauth = createOAuth({
    configDir: paths.configDir,
    dataDir,
    secrets,
    gatedFetch,
    enabled: (provider) => flags.enabled(provider === "anthropic" ? "ANTHROPIC_OAUTH" : "GOOGLE_OAUTH"),
    onNotice: ({ provider, event, problem }) => {
      audit.note("sign-in", { title: `${provider}: ${event}`, provider, ...(problem === undefined ? {} : { problem }) });
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
  const taskOf = (questId: string | null): string | null => (questId === null ? null : (quests.parentOf(questId) ?? questId));
  const isSubtask = (questId: string): boolean => quests.parentOf(questId) !== null;
  const models = createModels({
    storage,
    sdkEnabled: () => flags.enabled("PROVIDER_SDK"),
    usage: {
      ...usage,
      // What a sub-task costs counts for its task, also for the cap of a task.
      admit: (call) => usage.admit({ ...call, questId: taskOf(call.questId) }),
      count: (call, admission) => usage.count({ ...call, questId: taskOf(call.questId) }, admission),
    },
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
          learnSecrets: known.learnFile,
          env: options.env,
          home: homedir(),
          log,
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
    log,
    estimateTokens,
    soul: governance.soul.prompt,
    forbids: (content) => governance.soul.active()?.forbidsMemory(content) ?? null,
    evidence: createEvidence({ timeline, ledger }),
    timeline,
    summarize: async (text, maxTokens, signal) =>
      (await models.tasks.summarize(text, maxTokens, { questId: null, parentId: null, signal })).text,
  });
  const maintenance = startMaintenance(memory);
  const workspaceServices = createWorkspace({
    ...{ storage, ledger, governance, placeholders, workspace, now, log },
    askEditor: options.askEditor,
    configDir: paths.configDir,
    isQuestOpen: (questId) => quests.isOpen(questId),
  });
  const execution = createExecution({
    workspace: workspaceServices,
    ...{ storage, governance, ledger, redactor, placeholders, emit, now, log, isSubtask },
    isQuestOpen: (questId) => quests.isOpen(questId),
  });
  const tools = createTools({
    workspace: workspaceServices,
    ...{ execution, ledger, governance, redactor, placeholders, sanitizer, memory, emit, now, log, dataDir },
    sandbox: sandbox ?? { shells: [], control: null, learnSecrets: () => Promise.resolve() },
    pageFetch: createPageFetch(),
    flag: (name) => flags.enabled(name),
    safeMode: () => safeMode.enabled(),
    configDir: paths.configDir,
    distDir: paths.distDir,
    ripgrepPath: paths.ripgrepPath,
    askEditor: options.askEditor,
  });
  const plans = createPlans({ storage, emit, workspace, runLoop });
  const quests = createQuests({
    runLoop: createRoutedLoop({
      ...plans,
      isEnabled: () => flags.enabled("UNIFIED_CLASSIFICATION"),
      askIntent: createAskIntent(),
    }),
    storage,
    models,
    tools,
    changes: execution.changes.review,
    verifications: execution.verifications,
    settlement: execution.settlement,
    subtasks: execution.subtasks,
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
    trusted: options.trusted,
    environment: () => {
      const { place, containment, network } = tools.routing.sandbox.state();
      return {
        platform: `${process.platform} ${process.arch}`,
        shell: options.env["SHELL"] === undefined ? null : basename(options.env["SHELL"]),
        timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        now: now(),
        commands: place === null ? null : { place, containment, programs: sandbox?.programs(place) ?? [] },
        network,
      };
    },
    workState: createWorkState({ workspace: folder, askEditor: options.askEditor, governance, ledger, sanitizer, log }),
    questCost: usage.questCost,
    maxRunningTasks: () => maxRunningTasks,
    requireAwake: sleep.requireAwake,
    memory,
    reason: createReasoning({
      enabled: () => flags.enabled("DEEP_REASONING_LOOP"),
      experiences: (request) => recallExperiences(memory, request),
    }),
    summarize: models.tasks.summarize,
    classify: (request, context) =>
      flags.enabled("UNIFIED_CLASSIFICATION") ? models.tasks.classifyIntent(request, context) : Promise.resolve(null),
    checkClaims: createClaimCheck({
      enabled: () => flags.enabled("CLAIM_VERIFICATION"),
      ledger,
      runsTests: (command, cwd) => governance.commandNeeds(command, cwd).tests,
      readReport: readTestReport,
    }),
    switches: () => ({ flags: flags.list(), safeMode: safeMode.enabled() }),
    log,
    hostActions: {
      undo: (questId) => execution.checkpoints.restore({ questId }),
      doctor: async () => [...(await tools.routing.doctor(doctor.configProblems())), ...doctor.lines()],
    },
  });

  const clock = createClock({ storage, now: Date.now });
  const clockJump = createClockNotice(clock, log);
  const configFiles = createConfigFiles(
    { flags, ledger, telemetry, detector, oauth, governance, usage, models, sandbox, memory, quests, workspace: workspaceServices, tools },
    (problems) => {
      for (const { message } of problems) log(message);
      emit("configuration", { problems });
    },
  );

  const doctor = {
    lines: () => [localDoctorLine(models.local()), ...flagDoctorLines(flags), ...clockJump.lines()],
    configProblems: () => configFiles.problems(),
  };

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
    log(`recovered from a host that crashed: closed ${closedReceipts} receipts, interrupted ${interrupted} quests`);

  return {
    audit,
    clockJump,
    configFiles,
    detector,
    doctor,
    execution,
    flags,
    governance,
    ledger,
    memory,
    models,
    oauth,
    plans,
    quests,
    redactor,
    safeMode,
    sanitizer,
    secrets,
    sleep,
    storage,
    telemetry,
    tools,
    usage,
    maxRunningTasks: () => maxRunningTasks,
    setMaxRunningTasks(count: number): void {
      maxRunningTasks = count;
      quests.refreshQueue();
    },
    writeProblem: storage.writeProblem,
    /** Stops quests, closes streams and processes, and writes pending data. Later services depend on earlier ones. */
    async close(): Promise<void> {
      clearInterval(watching);
      await quests.close();
      await maintenance.close();
      await tools.close();
      await execution.close(2_000);
      await sandbox?.close();
      await models.close();
      usage.close();
      oauth.close();
      audit.close();
      stopReceipts();
      stopModels();
      await telemetry.end();
      await ledger.end();
      storage.close();
    },
  };
}

/** Adapts the secret storage of the editor to the one that `createSecrets` takes. */
function editorSecrets(ask: AskEditor) {
  return {
    get: async (name: string) => (await ask("secretGet", { name })).value,
    set: async (name: string, value: string | null) => void (await ask("secretSet", { name, value })),
    list: async () => (await ask("secretList", {})).names,
  };
}
