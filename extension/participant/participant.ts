import * as vscode from "vscode";
import type { Attachment } from "../../agent-server/contract/chat.ts";
import { pathOf } from "../editor/workspace-path.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { createTaskReply, type ReplyEnd } from "./task-reply.ts";

const id = "lancelot.agent";

/** What a reply keeps for the next message of the conversation. */
interface Kept {
  questId: string;
  callId?: string;
}

/**
 * `@lancelot` in the chat of the editor: each conversation is one task, on the same path as the tasks of Lancelot's own view. Nothing is
 * registered in an editor without chat.
 */
export function registerParticipant(host: AgentHost): vscode.Disposable {
  const nothing = vscode.Disposable.from();
  if (!("chat" in vscode)) return nothing;
  const participant = vscode.chat.createChatParticipant(id, async (request, context, stream, token) => {
    const kept = keptOf(context);
    try {
      return { metadata: await reply(host, request, kept, stream, token) };
    } catch (error) {
      return {
        errorDetails: { message: error instanceof Error ? error.message : String(error) },
        ...(kept === undefined ? {} : { metadata: kept }),
      };
    }
  });
  participant.iconPath = new vscode.ThemeIcon("shield");
  return participant;
}

function keptOf({ history }: vscode.ChatContext): Kept | undefined {
  const last = history.findLast(
    (turn): turn is vscode.ChatResponseTurn => turn instanceof vscode.ChatResponseTurn && turn.participant === id,
  );
  const metadata = last?.result.metadata as Partial<Kept> | undefined;
  return typeof metadata?.questId === "string"
    ? { questId: metadata.questId, ...(metadata.callId === undefined ? {} : { callId: metadata.callId }) }
    : undefined;
}

async function reply(
  host: AgentHost,
  request: vscode.ChatRequest,
  kept: Kept | undefined,
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<Kept> {
  const ended = Promise.withResolvers<ReplyEnd>();
  let questId = kept?.questId;
  const view = createTaskReply(
    {
      markdown: (text) => stream.markdown(text),
      progress: (text) => stream.progress(text),
      open: (label) => stream.button({ command: "lancelot.openChat", title: titles[label](), arguments: [{ questId }] }),
    },
    ended.resolve,
  );
  const listening = [
    host.onEvent((event) => view.event(event)),
    host.onState(({ state }) => {
      if (state !== "ready")
        ended.resolve({ status: "interrupted", problem: vscode.l10n.t("The agent host stopped. The task can be resumed.") });
    }),
    token.onCancellationRequested(() => {
      if (questId !== undefined) void host.call("chat.cancel", { questId }).catch(() => undefined);
      ended.resolve({ status: "cancelled", problem: null });
    }),
  ];
  try {
    const sent = await send(host, request, kept);
    questId = sent.questId;
    const { messages } = await host.call("quests.get", { id: questId });
    const asked = messages.findLast(({ role, id: messageId }) =>
      sent.messageId === null ? role === "user" : messageId === sent.messageId,
    );
    view.begin(questId, asked?.seq ?? -1);
    const end = await ended.promise;
    if (end.problem !== null) {
      stream.markdown(`\n\n${end.problem}`);
      stream.button({ command: "lancelot.openChat", title: titles.open(), arguments: [{ questId }] });
    }
    return { questId, ...(end.question === undefined ? {} : { callId: end.question.callId }) };
  } finally {
    vscode.Disposable.from(...listening).dispose();
  }
}

const titles = {
  review: () => vscode.l10n.t("Review Changes"),
  approve: () => vscode.l10n.t("Review Request"),
  open: () => vscode.l10n.t("Open Task"),
};

/** Starts or continues the task, or answers its question. */
async function send(
  host: AgentHost,
  request: vscode.ChatRequest,
  kept: Kept | undefined,
): Promise<{ questId: string; messageId: string | null }> {
  const text = request.command === undefined ? request.prompt : `/${request.command} ${request.prompt}`.trim();
  if (kept?.callId !== undefined) {
    await host.call("chat.answer", { questId: kept.questId, callId: kept.callId, answer: text });
    return { questId: kept.questId, messageId: null };
  }
  const attachments = request.references.flatMap(attachmentOf).slice(0, 20);
  return host.call("chat.send", {
    text,
    ...(kept === undefined ? {} : { questId: kept.questId }),
    ...(attachments.length === 0 ? {} : { attachments }),
  });
}

function attachmentOf({ value }: vscode.ChatPromptReference): Attachment[] {
  if (value instanceof vscode.Uri) {
    const path = pathOf(value);
    return path === null ? [] : [{ type: "file", path }];
  }
  if (!(value instanceof vscode.Location)) return [];
  const path = pathOf(value.uri);
  return path === null ? [] : [{ type: "file", path: `${path}:${String(value.range.start.line + 1)}-${String(value.range.end.line + 1)}` }];
}
