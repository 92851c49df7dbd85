import * as vscode from "vscode";
import type { AgentHost } from "../host/agent-host-types.ts";

/**
 * Lancelot as tools for other agents of the editor: receipts and memory to read, and a whole task, which is governed like any other. Nothing is
 * registered in an editor without language model tools.
 */
export function registerTools(host: AgentHost): vscode.Disposable {
  if (!("lm" in vscode) || typeof vscode.lm.registerTool !== "function") return vscode.Disposable.from();
  return vscode.Disposable.from(
    vscode.lm.registerTool<{ query: string }>("lancelot_search_receipts", {
      invoke: ({ input }, token) => answer(token, (signal) => host.call("receipts.search", { query: input.query, limit: 20 }, signal)),
    }),
    vscode.lm.registerTool<{ query: string }>("lancelot_search_memory", {
      invoke: ({ input }, token) => answer(token, (signal) => host.call("memory.search", { query: input.query, limit: 10 }, signal)),
    }),
    vscode.lm.registerTool<{ task: string }>("lancelot_run_task", {
      prepareInvocation: ({ input }) => ({
        invocationMessage: vscode.l10n.t("Lancelot is working"),
        confirmationMessages: { title: vscode.l10n.t("Start a task with Lancelot?"), message: input.task },
      }),
      invoke: ({ input }, token) => answer(token, (signal) => host.call("chat.run", { message: input.task }, signal)),
    }),
  );
}

/** The result as JSON; an error as its message, which the calling model can read. */
async function answer(
  token: vscode.CancellationToken,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<vscode.LanguageModelToolResult> {
  const abort = new AbortController();
  const stopping = token.onCancellationRequested(() => abort.abort());
  try {
    return textResult(JSON.stringify(await work(abort.signal)));
  } catch (error) {
    return textResult(error instanceof Error ? error.message : String(error));
  } finally {
    stopping.dispose();
  }
}

function textResult(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}
