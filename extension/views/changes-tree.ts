import * as vscode from "vscode";
import type { Change, GeneratedGroup, Hunk } from "../../agent-server/contract/changes.ts";
import { uriOf } from "../editor/workspace-path.ts";
import { countUndecided, isUndecided } from "../review/hunks.ts";
import type { Review } from "../review/review.ts";

/** Nodes carry the fields that commands read: a quest, or a change and one of its hunks. */
type ChangeNode =
  | { kind: "quest"; questId: string }
  | { kind: "generated"; questId: string }
  | { kind: "copy"; questId: string }
  | { kind: "commits"; questId: string }
  | { kind: "file"; changeId: string }
  | { kind: "hunk"; changeId: string; hunk: number };

const hunkIcons: Record<Hunk["state"], string> = { pending: "circle-outline", accepted: "check", rejected: "close", conflict: "warning" };
const fileIcons: Record<Change["kind"], string> = { create: "diff-added", modify: "diff-modified", delete: "diff-removed" };

/** The *Proposed Changes* tree: quest → file → hunk, with the count of undecided hunks as the badge. */
export function registerChangesTree(review: Review): vscode.Disposable {
  const { proposals } = review;
  const refreshed = new vscode.EventEmitter<undefined>();
  const states: Record<Hunk["state"], string> = {
    pending: vscode.l10n.t("undecided"),
    accepted: vscode.l10n.t("accepted"),
    rejected: vscode.l10n.t("rejected"),
    conflict: vscode.l10n.t("conflict"),
  };
  const kinds: Record<Change["kind"], string> = {
    create: vscode.l10n.t("new"),
    modify: vscode.l10n.t("edit"),
    delete: vscode.l10n.t("delete"),
  };

  const questItem = (questId: string): vscode.TreeItem => {
    const open = proposals.open().filter((change) => change.questId === questId);
    const item = new vscode.TreeItem(proposals.questTitle(questId) ?? vscode.l10n.t("Task"), vscode.TreeItemCollapsibleState.Expanded);
    item.id = `quest:${questId}`;
    item.contextValue = "quest";
    item.iconPath = new vscode.ThemeIcon("comment-discussion");
    item.description = open.length === 1 ? vscode.l10n.t("1 file") : vscode.l10n.t("{0} files", open.length);
    return item;
  };
  const generatedItem = (questId: string): vscode.TreeItem => {
    const groups = proposals.leftOf(questId)?.generated?.groups ?? [];
    const item = new vscode.TreeItem(vscode.l10n.t("Generated"));
    item.id = `generated:${questId}`;
    item.contextValue = "generated";
    item.iconPath = new vscode.ThemeIcon("package");
    item.description = groups.map(groupText).join(", ");
    const why = vscode.l10n.t("Files that git ignores. They reach your workspace together with the task's other changes.");
    item.tooltip = [...groups.map(groupText), why].join("\n");
    return item;
  };
  const copyItem = (questId: string): vscode.TreeItem => {
    const groups = proposals.leftOf(questId)?.inCopy ?? [];
    const item = new vscode.TreeItem(vscode.l10n.t("Stays in the container's copy"));
    item.id = `copy:${questId}`;
    item.iconPath = new vscode.ThemeIcon("package");
    item.description = groups.map(groupText).join(", ");
    const why = vscode.l10n.t(
      "Files that git ignores or that are too large. Later commands of the task use them; they never reach your workspace.",
    );
    item.tooltip = [...groups.map(groupText), why].join("\n");
    return item;
  };
  const commitsItem = (questId: string): vscode.TreeItem => {
    const subjects = (proposals.leftOf(questId)?.commits ?? []).map(({ subject }) => subject);
    const item = new vscode.TreeItem(vscode.l10n.t("Commits"));
    item.id = `commits:${questId}`;
    item.iconPath = new vscode.ThemeIcon("git-commit");
    item.description = subjects.join("; ");
    item.tooltip = [...subjects, vscode.l10n.t("Taken over when you have accepted everything in them.")].join("\n");
    return item;
  };
  const fileItem = (change: Change): vscode.TreeItem => {
    const item = new vscode.TreeItem(uriOf(change.path), vscode.TreeItemCollapsibleState.Collapsed);
    const left = countUndecided(change);
    item.id = `change:${change.id}`;
    item.contextValue = "file";
    item.iconPath = new vscode.ThemeIcon(change.caution === undefined ? fileIcons[change.kind] : "warning");
    item.description = `${change.path.split("/").slice(0, -1).join("/")} ${kinds[change.kind]} · ${left}/${change.hunks.length}`.trim();
    const origin = change.origin === undefined ? [] : [vscode.l10n.t("Changed by {0}", change.origin)];
    const facts = [
      ...(change.caution === undefined ? [] : [vscode.l10n.t("Decided on its own: {0}", change.caution)]),
      ...(change.mode === undefined ? [] : [vscode.l10n.t("Permissions: {0}", change.mode.toString(8))]),
      ...(change.evidence ?? []).map(({ command, passed }) =>
        passed
          ? vscode.l10n.t("Tests passed with this change: {0}", command)
          : vscode.l10n.t("Tests failed with this change: {0}", command),
      ),
    ];
    item.tooltip = [change.path, ...origin, ...facts, ...(change.problem === null ? [] : [change.problem])].join("\n");
    item.command = { command: "lancelot.openChange", title: vscode.l10n.t("Open"), arguments: [{ changeId: change.id }] };
    item.accessibilityInformation = {
      label: [
        vscode.l10n.t("{0}, {1}, {2} of {3} hunks undecided", change.path, kinds[change.kind], left, change.hunks.length),
        ...facts,
      ].join(". "),
    };
    return item;
  };
  const hunkItem = (change: Change, hunk: Hunk): vscode.TreeItem => {
    const added = hunk.lines.filter((line) => line.startsWith("+")).length;
    const removed = hunk.lines.filter((line) => line.startsWith("-")).length;
    const first =
      hunk.lines.find((line) => line.startsWith("+") && line.trim() !== "+") ?? hunk.lines.find((line) => line.startsWith("-")) ?? "";
    const line = Math.max(hunk.oldStart, 1);
    const item = new vscode.TreeItem(vscode.l10n.t("Line {0}", line));
    item.id = `hunk:${change.id}:${hunk.index}`;
    item.contextValue = isUndecided(hunk) ? "hunk.open" : "hunk.decided";
    item.iconPath = new vscode.ThemeIcon(hunkIcons[hunk.state]);
    item.description = `+${added} −${removed} ${isUndecided(hunk) ? first.slice(1).trim() : states[hunk.state]}`;
    item.tooltip = new vscode.MarkdownString().appendCodeblock(hunk.lines.join("\n"), "diff");
    item.command = { command: "lancelot.openChange", title: vscode.l10n.t("Open"), arguments: [{ changeId: change.id, hunk: hunk.index }] };
    item.accessibilityInformation = {
      label: vscode.l10n.t("Hunk at line {0}, lines added: {1}, lines removed: {2}, {3}", line, added, removed, states[hunk.state]),
    };
    return item;
  };

  const provider: vscode.TreeDataProvider<ChangeNode> = {
    onDidChangeTreeData: refreshed.event,
    getChildren(node) {
      if (node === undefined)
        return [...new Set([...proposals.open(), ...proposals.left()].map((one) => one.questId))].map(
          (questId): ChangeNode => ({ kind: "quest", questId }),
        );
      if (node.kind === "quest") {
        const left = proposals.leftOf(node.questId);
        return [
          ...proposals
            .open()
            .filter((change) => change.questId === node.questId)
            .map((change): ChangeNode => ({ kind: "file", changeId: change.id })),
          ...(left === undefined || left.generated === null ? [] : [{ kind: "generated", questId: node.questId } as const]),
          ...(left === undefined || left.inCopy.length === 0 ? [] : [{ kind: "copy", questId: node.questId } as const]),
          ...(left === undefined || left.commits.length === 0 ? [] : [{ kind: "commits", questId: node.questId } as const]),
        ];
      }
      if (node.kind === "file")
        return (proposals.get(node.changeId)?.hunks ?? []).map(
          (hunk): ChangeNode => ({ kind: "hunk", changeId: node.changeId, hunk: hunk.index }),
        );
      return [];
    },
    getTreeItem(node) {
      if (node.kind === "quest") return questItem(node.questId);
      if (node.kind === "generated") return generatedItem(node.questId);
      if (node.kind === "copy") return copyItem(node.questId);
      if (node.kind === "commits") return commitsItem(node.questId);
      const change = proposals.get(node.changeId);
      const hunk = node.kind === "hunk" ? change?.hunks.find(({ index }) => index === node.hunk) : undefined;
      if (change === undefined) return new vscode.TreeItem("");
      return hunk === undefined ? fileItem(change) : hunkItem(change, hunk);
    },
  };
  const view = vscode.window.createTreeView("lancelot.changes", { treeDataProvider: provider, showCollapseAll: true });
  const refresh = () => {
    refreshed.fire(undefined);
    const left = proposals.open().reduce((sum, change) => sum + countUndecided(change), 0);
    view.badge =
      left === 0
        ? undefined
        : { value: left, tooltip: left === 1 ? vscode.l10n.t("1 hunk to review") : vscode.l10n.t("{0} hunks to review", left) };
  };
  return vscode.Disposable.from(refreshed, view, review.onChanged(refresh));
}

/** The files of one folder: "node_modules (+3,412)". */
function groupText({ name, created, modified, deleted }: GeneratedGroup): string {
  const counts = [
    ["+", created],
    ["~", modified],
    ["−", deleted],
  ] as const;
  const words = counts.filter(([, files]) => files > 0).map(([mark, files]) => `${mark}${files.toLocaleString(vscode.env.language)}`);
  return `${name} (${words.join(" ")})`;
}
