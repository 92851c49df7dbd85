import * as vscode from "vscode";
import type { Approval } from "../../agent-server/contract/governance.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { showError } from "../host/show-error.ts";

/** The pending approvals. */
export interface Approvals extends vscode.Disposable {
  pending(): readonly Approval[];
  get(id: string): Approval | undefined;
  readonly onChanged: vscode.Event<void>;
  /** Fires once for each new approval. */
  readonly onAsked: vscode.Event<Approval>;
}

export function createApprovals(host: AgentHost): Approvals {
  const waiting = new Map<string, Approval>();
  const changed = new vscode.EventEmitter<void>();
  const asked = new vscode.EventEmitter<Approval>();
  const announce = () => {
    void vscode.commands.executeCommand("setContext", "lancelot.hasPendingApprovals", waiting.size > 0);
    changed.fire();
  };
  const update = (approval: Approval) => {
    if (approval.status !== "pending") {
      waiting.delete(approval.id);
      return;
    }
    const fresh = !waiting.has(approval.id);
    waiting.set(approval.id, approval);
    if (fresh) asked.fire(approval);
  };
  const reload = async () => {
    const { items } = await host.call("approvals.list", { limit: 200 });
    const ids = new Set(items.map(({ id }) => id));
    for (const id of waiting.keys()) if (!ids.has(id)) waiting.delete(id);
    for (const approval of items) update(approval);
    announce();
  };
  const registrations = [
    changed,
    asked,
    host.onEvent((event) => {
      if (event.topic !== "approval") return;
      update(event.payload);
      announce();
    }),
    host.onState(({ state }) => {
      if (state === "ready") void reload().catch(showError);
    }),
  ];
  return {
    pending: () => [...waiting.values()].sort((a, b) => a.createdAt.localeCompare(b.createdAt)),
    get: (id) => waiting.get(id),
    onChanged: changed.event,
    onAsked: asked.event,
    dispose: () => vscode.Disposable.from(...registrations).dispose(),
  };
}

/** The tree of pending approvals, with their count as the badge and, while any waits, in the status bar. */
export function registerApprovalsTree(approvals: Approvals): vscode.Disposable {
  const provider: vscode.TreeDataProvider<Approval> = {
    onDidChangeTreeData: (listener) => approvals.onChanged(() => listener(undefined)),
    getChildren: (parent) => (parent === undefined ? [...approvals.pending()] : []),
    getTreeItem(approval) {
      const item = new vscode.TreeItem(approval.title);
      item.id = approval.id;
      item.contextValue = "approval";
      item.iconPath = new vscode.ThemeIcon(approval.tier === "T3" ? "warning" : "shield");
      item.description = `${approval.tier} · ${vscode.l10n.t("expires {0}", new Date(approval.expiresAt).toLocaleTimeString(vscode.env.language))}`;
      item.tooltip = new vscode.MarkdownString()
        .appendText(approval.rules.map(({ message }) => message).join("\n"))
        .appendCodeblock(approval.detail);
      item.command = { command: "lancelot.reviewApproval", title: vscode.l10n.t("Review"), arguments: [{ approvalId: approval.id }] };
      item.accessibilityInformation = { label: vscode.l10n.t("Approval required, tier {0}: {1}", approval.tier, approval.title) };
      return item;
    },
  };
  const view = vscode.window.createTreeView("lancelot.approvals", { treeDataProvider: provider });
  const item = vscode.window.createStatusBarItem("lancelot.approvals", vscode.StatusBarAlignment.Right, 101);
  item.name = vscode.l10n.t("Lancelot Approvals");
  item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
  const show = approvals.onChanged(() => {
    const [first, ...more] = approvals.pending();
    if (first === undefined) {
      view.badge = undefined;
      item.hide();
      return;
    }
    const count = more.length + 1;
    const tooltip = count === 1 ? vscode.l10n.t("1 approval pending") : vscode.l10n.t("{0} approvals pending", count);
    view.badge = { value: count, tooltip };
    item.text = `$(shield) ${count === 1 ? vscode.l10n.t("1 approval") : vscode.l10n.t("{0} approvals", count)}`;
    item.tooltip = `${tooltip}\n${first.title}`;
    item.accessibilityInformation = { label: `${tooltip}. ${first.title}`, role: "button" };
    item.command = { command: "lancelot.reviewApproval", title: vscode.l10n.t("Review"), arguments: [{ approvalId: first.id }] };
    item.show();
  });
  return vscode.Disposable.from(view, item, show);
}
