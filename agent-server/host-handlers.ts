import type { HostInfo } from "./contract/host.ts";
import type { HostServices } from "./host-services.ts";
import { LancelotError } from "./contract/errors.ts";
import type { Emit } from "./contract/events.ts";
import type { Handlers } from "./contract/table.ts";
import { flagHandlers, safeModeHandlers, sleepingText } from "./flags/flags.ts";
import { governanceHandlers } from "./governance/governance.ts";
import {
  keysHandlers,
  modelsHandlers,
  oauthHandlers,
  localHandlers,
  routerHandlers,
  tasksHandlers,
  usageHandlers,
} from "./models/models.ts";
import { artifactHandlers, plansHandlers } from "./plans/plans.ts";
import { chatHandlers, contextHandlers } from "./quests/quests.ts";
import { receiptsHandlers, withReceipt } from "./receipts/receipts.ts";
import { securityHandlers } from "./security/security.ts";
import { memoryHandlers, routingHandlers, toolHandlers } from "./tools/tools.ts";

/** Implements every method of the contract on the services of the host. */
export function createHandlers(
  services: HostServices,
  { info, workspace, emit }: { info: () => HostInfo; workspace: string | null; emit: Emit },
): Handlers {
  const { detector, execution, flags, governance, ledger, memory, models, oauth, quests, redactor } = services;
  const { safeMode, sanitizer, secrets, telemetry, tools, usage } = services;
  return {
    "host.info": info,
    "host.configure": (settings) =>
      withReceipt(ledger, { actionType: "user_interaction", actionName: "host.configure", inputs: settings, riskTier: "T1" }, () => {
        const { posture, approvalTimeoutSeconds, features, maxRunningTasks } = settings;
        if (features !== undefined) flags.useSettings(features);
        if (posture !== undefined) governance.setPosture(posture);
        // The views show what the settings decide.
        emit("flags", {});
        if (approvalTimeoutSeconds !== undefined) governance.setApprovalTimeout(approvalTimeoutSeconds);
        if (maxRunningTasks !== undefined) services.setMaxRunningTasks(maxRunningTasks);
        return info();
      }),
    "host.sleep": ({ reason }) =>
      withReceipt(ledger, { actionType: "user_interaction", actionName: "host.sleep", inputs: { reason }, riskTier: "T1" }, () => {
        services.sleep.sleep(redactor.text(reason).text);
        return info();
      }),
    "host.wake": ({ reason }) =>
      withReceipt(ledger, { actionType: "user_interaction", actionName: "host.wake", inputs: { reason }, riskTier: "T1" }, () => {
        services.sleep.wake();
        return info();
      }),
    "health.live": () => ({ status: "alive" }),
    "health.ready": async () => {
      const degradedReasons = workspace === null ? ["No folder is open: files cannot be read or changed."] : [];
      const answers = await models.active().catch((error: unknown) => {
        degradedReasons.push(error instanceof LancelotError ? error.message : "The state of the models could not be determined.");
        return null;
      });
      degradedReasons.push(...tools.routing.degraded(), ...models.router.degraded());
      const configProblems = services.configFiles.broken();
      const reasons = [ledger.degraded(), telemetry.state().problem, models.localOperations.localProblem(), services.clockJump.problem()];
      for (const reason of [...reasons, ...configProblems.map(({ message }) => message)])
        if (reason !== null && !degradedReasons.includes(reason)) degradedReasons.push(reason);
      const writeProblem = services.writeProblem();
      if (writeProblem !== null) degradedReasons.push(writeProblem);
      const sleeping = services.sleep.current();
      if (sleeping !== null) degradedReasons.push(sleepingText(sleeping));
      const local = models.local().status;
      return {
        ready: answers !== null && writeProblem === null,
        onboardingState: answers === null ? "MODEL_NEEDED" : "READY",
        localLlmReady: local === "ready" || local === "loaded",
        schedulerRunning: false,
        lastHealthTickAt: null,
        lastSchedulerTickAt: null,
        degradedReasons,
        configProblems,
        timestamp: new Date().toISOString(),
      };
    },
    ...chatHandlers(quests),
    ...contextHandlers(quests),
    ...artifactHandlers({ quests, store: services.plans.store }),
    ...plansHandlers({ store: services.plans.store, quests, governance, tools, ledger, redactor }),
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
    ...routingHandlers(tools.routing, ledger, services.doctor),
    ...toolHandlers(tools, execution, () => flags.require("TOOLS_FABRIC")),
    ...memoryHandlers({ memory, tools, require: () => flags.require("MEMORY_VNEXT") }),
    ...securityHandlers({ sanitizer, redactor, detector }),
  };
}
