import * as vscode from "vscode";
import type { Call } from "../agent-server/contract/table.ts";
import type { HostState } from "../agent-server/contract/webview.ts";
import { announceApprovals, approvalCommands } from "./commands/approvals.ts";
import { exportCommands } from "./commands/export-receipts.ts";
import { chatCommands, watchQuests } from "./commands/chat.ts";
import { addContextCommands } from "./commands/add-context.ts";
import { registerCommands } from "./commands/commands.ts";
import { registerFirstRun } from "./commands/first-run.ts";
import { hostCommands } from "./commands/host.ts";
import { localModelCommands } from "./commands/local-model.ts";
import { memoryCommands } from "./commands/memory.ts";
import { memoryDecisionCommands } from "./commands/memory-decisions.ts";
import { memoryFileCommands } from "./commands/memory-files.ts";
import { modelCommands } from "./commands/models.ts";
import { commandOutputCommands } from "./commands/command-output.ts";
import { reviewCommands } from "./commands/review.ts";
import { safeguardCommands } from "./commands/safeguards.ts";
import { sandboxCommands } from "./commands/sandbox.ts";
import { registerSignInAnswer, signInCommands } from "./commands/sign-in.ts";
import { soulCommands } from "./commands/soul.ts";
import { taskModelCommands } from "./commands/task-model.ts";
import { usageCommands } from "./commands/usage.ts";
import { warRoomCommands } from "./commands/war-room.ts";
import { registerFixAction } from "./editor/fix-action.ts";
import { createAgentHost } from "./host/agent-host.ts";
import { type AgentHost } from "./host/agent-host-types.ts";
import { registerConfiguration } from "./host/configuration.ts";
import { registerStatus } from "./host/status.ts";
import { registerParticipant } from "./participant/participant.ts";
import { registerTools } from "./participant/tools.ts";
import { registerKeepOrUndo } from "./review/keep-or-undo.ts";
import { createDetails } from "./review/documents.ts";
import { createReview } from "./review/review.ts";
import { registerSoulDocuments } from "./review/soul-documents.ts";
import { createApprovals, registerApprovalsTree } from "./views/approvals.ts";
import { registerChangesTree } from "./views/changes-tree.ts";
import { registerChatView } from "./views/chat-view.ts";
import { watchConfigProblems } from "./views/config-problems.ts";
import { watchSoulProposals } from "./views/soul-proposals.ts";
import { runUiAction } from "./views/ui-actions.ts";
import { registerWarRoom } from "./views/war-room.ts";

/** The API for tests inside the editor. A production build exports nothing to other extensions. */
export interface TestApi {
  readonly call: Call;
  readonly hostState: () => HostState;
  readonly hostPid: () => number | undefined;
  readonly restart: () => Promise<void>;
  /** Resolves when `pid` is no longer the host's process. */
  readonly ended: (pid: number) => Promise<void>;
}

let running: AgentHost | null = null;

export function activate(context: vscode.ExtensionContext): TestApi | undefined {
  const log = vscode.window.createOutputChannel("Lancelot", { log: true });
  const host = createAgentHost(context, log);
  running = host;

  const view = { context, host, log, ui: runUiAction };
  const chat = registerChatView(view);
  const warRoom = registerWarRoom(view);
  const details = createDetails();
  const review = createReview(context, host);
  const approvals = createApprovals(host);
  const quests = watchQuests(host, log);

  context.subscriptions.push(
    log,
    host,
    registerStatus(host, log),
    registerConfiguration(host),
    chat,
    warRoom,
    details,
    review,
    approvals,
    quests,
    registerChangesTree(review),
    registerApprovalsTree(approvals),
    announceApprovals(host, approvals, chat),
    registerKeepOrUndo(host),
    registerSoulDocuments(host),
    watchSoulProposals(context, host, log),
    watchConfigProblems(host),
    registerFirstRun(context, host, log),
    registerSignInAnswer(host),
    registerParticipant(host),
    registerTools(host),
    registerFixAction(),
    registerCommands(
      chatCommands(host, chat, quests),
      addContextCommands(chat),
      modelCommands(host),
      localModelCommands(host),
      taskModelCommands(host),
      usageCommands(host),
      reviewCommands(host, review, details),
      approvalCommands(host, approvals, details),
      warRoomCommands(host, warRoom),
      signInCommands(context, host),
      soulCommands(host),
      safeguardCommands(host),
      exportCommands(context, host),
      memoryCommands(host, warRoom),
      memoryDecisionCommands(host),
      memoryFileCommands(context, host),
      sandboxCommands(host),
      commandOutputCommands(host),
      hostCommands(host, log),
    ),
  );
  host.start();

  if (context.extensionMode === vscode.ExtensionMode.Production) return undefined;
  return testApi(host);
}

function testApi(host: AgentHost): TestApi {
  return {
    call: host.call,
    hostState: () => host.state,
    hostPid: () => host.pid,
    restart: () => host.restart(),
    ended: (pid) =>
      new Promise((resolve) => {
        const done = () => host.pid !== pid && (listener.dispose(), resolve());
        const listener = host.onState(done);
        done();
      }),
  };
}

export async function deactivate(): Promise<void> {
  await running?.stop();
}
