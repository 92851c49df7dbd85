import * as vscode from "vscode";
import type { MemoryCommit, MemoryDiff, QuarantineEntry } from "../../agent-server/contract/memory.ts";
import type { ParamsIn } from "../../agent-server/contract/table.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { confirm, runDecision, showWithAction } from "./confirmation.ts";
import { type Commands, field } from "./commands.ts";
import { targetLabel } from "./memory-labels.ts";

/** How several changes, and characters of each, a dialog shows. The panel shows all of them. */
const changesShown = 6;
const longestText = 300;
/** How long (ms) after the user's own change *Undo* needs no dialog. */
const undoMs = 600_000;
const listed = 50;

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > longestText ? `${line.slice(0, longestText)}…` : line;
}

function changeText({ before, after }: Pick<MemoryDiff, "before" | "after">): string {
  return [...(before === null ? [] : [`− ${shortened(before)}`]), ...(after === null ? [] : [`+ ${shortened(after)}`])].join("\n");
}

function changesText(diff: readonly MemoryDiff[]): string {
  const shown = diff.slice(0, changesShown).map(changeText);
  if (diff.length > changesShown) shown.push(vscode.l10n.t("and {0} more changes", diff.length - changesShown));
  return shown.join("\n");
}

function commitTitle(commit: MemoryCommit): string {
  const [first, ...others] = commit.diff;
  const text = first?.after ?? first?.before ?? null;
  const isOneChange = text !== null && others.length === 0 && commit.rollbackOf.length === 0;
  return shortened(isOneChange || commit.reason === "" ? (text ?? commit.id) : commit.reason);
}

function authorText(author: MemoryCommit["author"]): string {
  switch (author) {
    case "owner":
      return vscode.l10n.t("by you");
    case "agent":
      return vscode.l10n.t("by Lancelot");
    case "system":
      return vscode.l10n.t("by the host");
  }
}

/** Memory decisions that only the user may make. Each asks in VS Code's own dialog. */
export function memoryDecisionCommands(host: AgentHost): Commands {
  const missing = () => new Error(vscode.l10n.t("This item no longer exists. It may have been decided in another window."));
  const commits = async (): Promise<MemoryCommit[]> => (await host.call("memory.commits", { limit: listed })).items;
  const findEntry = async (id: string): Promise<QuarantineEntry> => {
    for (const status of ["pending", "denied"] as const) {
      const { items } = await host.call("memory.quarantine", { status, limit: 200 });
      const entry = items.find((candidate) => candidate.id === id);
      if (entry !== undefined) return entry;
    }
    throw missing();
  };
  const show = (commitId: string) => async () => {
    await vscode.commands.executeCommand("lancelot.openMemory", { commitId });
  };
  const showRolledBack = (commitId: string | null) => {
    const message = vscode.l10n.t("Rolled back. You can undo this rollback.");
    if (commitId === null) void vscode.window.showInformationMessage(message);
    else showWithAction(message, vscode.l10n.t("Show Commit"), show(commitId));
  };

  const promote = async (entry: QuarantineEntry) => {
    const problems = entry.verifier.problems.map(({ message }) => `• ${message}`).join("\n");
    if (entry.status === "pending" && !entry.verifier.ok)
      throw new Error(vscode.l10n.t("This entry cannot be approved, because it failed these checks: {0}", problems));
    const answer = await confirm({
      question: vscode.l10n.t("Save to memory?"),
      detail: [
        changeText({ before: entry.current, after: entry.op === "delete" ? null : entry.content }),
        vscode.l10n.t("Reason: {0}", entry.reason),
        vscode.l10n.t("Lancelot saves it to “{0}” and includes it in prompts. You can roll it back.", targetLabel(entry.target)),
      ].join("\n\n"),
      yes: vscode.l10n.t("Approve"),
    });
    if (answer !== "yes") return;
    if (entry.status === "pending") {
      const done = await runDecision(() => host.call("memory.promote", { id: entry.id }));
      if (done !== null) showWithAction(vscode.l10n.t("Saved to memory."), vscode.l10n.t("Show Commit"), show(done.commitId));
      return;
    }
    if (entry.content === null) throw missing();
    // The denied entry stays denied, so this is an edit by the user.
    const isThere = entry.itemId !== null && entry.current !== null;
    const { commitId, notes } = await host.call("memory.edit", {
      ...{ op: isThere ? "replace" : "insert", target: entry.target, namespace: entry.namespace, kind: entry.kind },
      ...{ content: entry.content, confidence: 1, reason: entry.reason, provenance: { source: "user" }, tags: entry.tags },
      ...(isThere && entry.itemId !== null ? { selector: entry.itemId } : {}),
    });
    showWithAction([vscode.l10n.t("Saved to memory."), ...notes].join(" "), vscode.l10n.t("Show Commit"), show(commitId));
  };

  const askReason = (title: string) =>
    vscode.window.showInputBox({
      title,
      prompt: vscode.l10n.t("Why? The reason is stored with the commit."),
      value: vscode.l10n.t("Rolled back manually."),
      ignoreFocusOut: true,
      validateInput: (text) => (text.trim() === "" ? vscode.l10n.t("Enter a reason for the rollback.") : undefined),
    });

  const rollBack = async (request: { commit: MemoryCommit; itemId?: string } | { last: readonly MemoryCommit[] }) => {
    const several = "last" in request;
    const diff = several
      ? request.last.flatMap((commit) => commit.diff)
      : request.commit.diff.filter(({ itemId }) => request.itemId === undefined || itemId === request.itemId);
    if (!several && request.itemId === undefined && request.commit.problem !== null)
      throw new Error(vscode.l10n.t("This commit cannot be rolled back: {0}", request.commit.problem));
    const [single, ...others] = several ? request.last : [request.commit];
    if (single === undefined) return;
    const question =
      others.length > 0
        ? vscode.l10n.t("Roll back the last {0} memory commits?", others.length + 1)
        : several || request.itemId === undefined
          ? vscode.l10n.t("Roll back “{0}”?", commitTitle(single))
          : vscode.l10n.t("Roll back this change of “{0}”?", commitTitle(single));
    const reason = await askReason(question);
    if (reason === undefined) return;
    const answer = await confirm({
      question,
      detail: `${vscode.l10n.t("This restores the exact previous state of these entries. Later changes to other entries are kept.")}\n\n${changesText(
        diff.map((one) => ({ ...one, before: one.after, after: one.before })),
      )}`,
      yes: vscode.l10n.t("Roll Back"),
    });
    if (answer !== "yes") return;
    const params: ParamsIn<"memory.rollback"> = several
      ? { last: request.last.length, reason: reason.trim() }
      : { commitId: request.commit.id, reason: reason.trim(), ...(request.itemId === undefined ? {} : { itemIds: [request.itemId] }) };
    const done = await runDecision(() => host.call("memory.rollback", params));
    if (done !== null) showRolledBack(done.commitId);
  };

  const pickLast = async () => {
    // Counts as the host does: without its own notes on tasks, rollbacks and empty commits.
    const open = (await commits()).filter(
      ({ status, author, changes, rollbackOf }) => status === "committed" && author !== "system" && changes > 0 && rollbackOf.length === 0,
    );
    if (open.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("There is no memory commit to roll back."));
      return;
    }
    const picked = await vscode.window.showQuickPick(
      open.map((commit, index) => ({
        label: index === 0 ? vscode.l10n.t("Last commit") : vscode.l10n.t("Last {0} commits", index + 1),
        description: vscode.l10n.t("restores the state before: {0}", commitTitle(commit)),
        detail: `${authorText(commit.author)}, ${new Date(commit.finishedAt ?? commit.createdAt).toLocaleString(vscode.env.language)}`,
        last: open.slice(0, index + 1),
      })),
      { title: vscode.l10n.t("Roll Back Memory Commits"), matchOnDescription: true },
    );
    if (picked !== undefined) await rollBack({ last: picked.last });
  };

  return {
    async "lancelot.promoteMemory"(argument) {
      const id = typeof argument === "object" ? field(argument, "id") : undefined;
      if (id !== undefined) await promote(await findEntry(id));
    },
    async "lancelot.rollBackMemory"(argument) {
      const given = typeof argument === "object" ? argument : undefined;
      const commitId = field(given, "commitId");
      if (commitId === undefined) return pickLast();
      const commit = (await commits()).find(({ id }) => id === commitId);
      if (commit === undefined) throw missing();
      const itemId = field(given, "itemId");
      await rollBack({ commit, ...(itemId === undefined ? {} : { itemId }) });
    },
    async "lancelot.rollBackLastMemory"() {
      const open = (await commits()).filter(({ status }) => status === "committed");
      // Skips the host's own notes after each task, unless there is nothing else.
      const last = open.find(({ author }) => author !== "system") ?? open[0];
      if (last === undefined) void vscode.window.showInformationMessage(vscode.l10n.t("There is no memory commit to roll back."));
      else await rollBack({ commit: last });
    },
    async "lancelot.undoMemory"(argument) {
      const commitId = typeof argument === "object" ? field(argument, "commitId") : undefined;
      const commit = (await commits()).find(({ id }) => id === commitId);
      if (commit === undefined) throw missing();
      const age = Date.now() - Date.parse(commit.finishedAt ?? commit.createdAt);
      // A webview can trigger this command, so only a recent change by the user skips the dialog.
      if (commit.author !== "owner" || commit.rollbackOf.length > 0 || age > undoMs) return rollBack({ commit });
      const done = await runDecision(() =>
        host.call("memory.rollback", { commitId: commit.id, reason: vscode.l10n.t("Undone manually.") }),
      );
      if (done !== null) showRolledBack(done.commitId);
    },
  };
}
