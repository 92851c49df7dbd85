import * as vscode from "vscode";
import type { Result } from "../../agent-server/contract/table.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { dataFolder } from "../host/settings.ts";
import { confirm, showWithAction } from "./confirmation.ts";
import type { Commands } from "./commands.ts";

type Format = "markdown" | "jsonl" | "backup";
const names: Readonly<Record<Format, (day: string) => string>> = {
  markdown: (day) => `lancelot-memory-${day}.md`,
  jsonl: (day) => `lancelot-memory-${day}.jsonl`,
  backup: (day) => `lancelot-memory-backup-${day}.jsonl`,
};
/** How many refused lines a dialog lists. */
const refusedShown = 6;

function withProgress<T>(title: string, run: (signal: AbortSignal) => Promise<T>): Thenable<T> {
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title, cancellable: true }, (_, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => abort.abort());
    return run(abort.signal);
  });
}

function importText({ added, updated, unchanged, removed, refused }: Result<"memory.import">): string {
  const lines = [
    vscode.l10n.t(
      "Added: {0}. Updated: {1}. Unchanged: {2}. Removed: {3}. Refused: {4}.",
      added,
      updated,
      unchanged,
      removed,
      refused.length,
    ),
    ...refused.slice(0, refusedShown).map(({ line, reason }) => vscode.l10n.t("Line {0}: {1}", line, reason)),
  ];
  if (refused.length > refusedShown) lines.push(vscode.l10n.t("and {0} more lines", refused.length - refusedShown));
  return lines.join("\n");
}

/** Commands that export, back up and import memory. */
export function memoryFileCommands(context: vscode.ExtensionContext, host: AgentHost): Commands {
  const write = async (format: Format, title: string) => {
    const name = names[format](new Date().toISOString().slice(0, 10));
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const target = await vscode.window.showSaveDialog({
      title,
      ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, "..", name) }),
    });
    if (target === undefined) return;
    const result = await withProgress(title, (signal) => host.call("memory.export", { format }, signal));
    const written = vscode.Uri.joinPath(vscode.Uri.file(dataFolder(context)), "exports", result.file);
    await vscode.workspace.fs.copy(written, target, { overwrite: true });
    showWithAction(
      vscode.l10n.t("Exported to {1}. Items: {0}, SHA-256: {2}…", result.items, target.fsPath, result.sha256.slice(0, 12)),
      vscode.l10n.t("Open"),
      async () => {
        await vscode.commands.executeCommand("vscode.open", target);
      },
    );
  };

  return {
    async "lancelot.exportMemory"() {
      const picked = await vscode.window.showQuickPick(
        [
          { label: "Markdown", detail: vscode.l10n.t("For reading: memories grouped under headings."), format: "markdown" as const },
          { label: "JSONL", detail: vscode.l10n.t("For importing elsewhere: one item per line."), format: "jsonl" as const },
        ],
        { title: vscode.l10n.t("Export Memory") },
      );
      if (picked !== undefined) await write(picked.format, vscode.l10n.t("Export Memory"));
    },

    "lancelot.backUpMemory": () => write("backup", vscode.l10n.t("Back Up Memory")),

    async "lancelot.importMemory"() {
      const title = vscode.l10n.t("Import Memory");
      const [file] =
        (await vscode.window.showOpenDialog({
          ...{ title, canSelectMany: false, openLabel: vscode.l10n.t("Import") },
          filters: { [vscode.l10n.t("Memory")]: ["jsonl", "json", "md"] },
        })) ?? [];
      if (file === undefined) return;
      const picked = await vscode.window.showQuickPick(
        [
          {
            label: vscode.l10n.t("Add"),
            detail: vscode.l10n.t("Keeps the existing memories and adds the new ones."),
            mode: "merge" as const,
          },
          {
            label: vscode.l10n.t("Replace"),
            detail: vscode.l10n.t("Removes the existing memories first. The whole import is one commit, which you can roll back."),
            mode: "replace" as const,
          },
        ],
        { title },
      );
      if (picked === undefined) return;
      const request = { path: file.fsPath, mode: picked.mode };
      const planned = await withProgress(title, (signal) => host.call("memory.import", { ...request, dryRun: true }, signal));
      if (planned.added + planned.updated + planned.removed === 0) {
        void vscode.window.showInformationMessage(vscode.l10n.t("Nothing to import. {0}", importText(planned)));
        return;
      }
      const answer = await confirm({
        question:
          picked.mode === "replace" ? vscode.l10n.t("Replace memory with this file?") : vscode.l10n.t("Import this file into memory?"),
        detail: `${importText(planned)}\n\n${vscode.l10n.t("Lancelot checks every line before it stores it. The import is one commit, which you can roll back.")}`,
        yes: picked.mode === "replace" ? vscode.l10n.t("Replace") : vscode.l10n.t("Import"),
      });
      if (answer !== "yes") return;
      const done = await withProgress(title, (signal) => host.call("memory.import", request, signal));
      const { commitId } = done;
      if (commitId === null) void vscode.window.showInformationMessage(importText(done));
      else
        showWithAction(importText(done), vscode.l10n.t("Show Commit"), async () => {
          await vscode.commands.executeCommand("lancelot.openMemory", { commitId });
        });
    },
  };
}
