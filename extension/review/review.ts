import * as vscode from "vscode";
import type { Change } from "../../agent-server/contract/changes.ts";
import { uriOf } from "../editor/workspace-path.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { showError } from "../host/show-error.ts";
import { changeIdOf, followed, proposedDocuments, proposedScheme, proposedUri } from "./documents.ts";
import { inOneDecision, isOpen, isUndecided, neighbour } from "./hunks.ts";
import { hunkLenses } from "./lenses.ts";
import { createMarks } from "./marks.ts";
import { createProposals, type Proposals } from "./proposals.ts";
import { activeTab, changeOfTab, closeChangeTabs, isOrdinary, isProposedEditor, sidesOf } from "./tabs.ts";
import { activeChange, hunkAtCursor, proposedEditor, type Target } from "./target.ts";

export interface Review extends vscode.Disposable {
  readonly proposals: Proposals;
  /** Fires after an update of any proposed change. */
  readonly onChanged: vscode.Event<void>;
  openChange(changeId: string, hunk?: number): Promise<void>;
  /** All open changes, of one quest or of all, in one multi-diff editor. */
  reviewAll(questId?: string): Promise<void>;
  decideHunk(target: Target, decision: "accept" | "reject"): Promise<void>;
  decideFile(target: Target, decision: "accept" | "reject"): Promise<void>;
  /** Every undecided hunk of a quest, or of all quests. */
  decideAll(decision: "accept" | "reject", questId?: string): Promise<void>;
  move(direction: "next" | "previous"): Promise<void>;
}

/** Inline diff review: proposed changes as diffs, accepted or rejected hunk by hunk. */
export function createReview(context: vscode.ExtensionContext, host: AgentHost): Review {
  const changed = new vscode.EventEmitter<void>();
  const multiTitle = vscode.l10n.t("Proposed Changes");
  const lensesChanged = new vscode.EventEmitter<void>();
  const documentChanged = new vscode.EventEmitter<vscode.Uri>();

  const proposals = createProposals(host.call, (id) => {
    void vscode.commands.executeCommand("setContext", "lancelot.hasOpenChanges", proposals.open().length > 0);
    for (const document of vscode.workspace.textDocuments)
      if (document.uri.scheme === proposedScheme && (id === null || document.uri.query === id)) documentChanged.fire(document.uri);
    lensesChanged.fire();
    changed.fire();
    void showMarks();
  });
  const marks = createMarks(context.extensionUri, proposals);

  /** Reads the texts of visible changes, which the gutter icons need. */
  const showMarks = async () => {
    const ids = vscode.window.visibleTextEditors.filter(isProposedEditor).map((editor) => editor.document.uri.query);
    await Promise.allSettled(ids.map((id) => proposals.texts(id)));
    marks.refresh();
  };
  const showContext = () => {
    const active = activeChange();
    void vscode.commands.executeCommand("setContext", "lancelot.reviewing", active !== null);
    void showMarks();
  };

  const openChange = async (changeId: string, hunk?: number) => {
    const { change, placed } = await proposals.texts(changeId);
    const { left, right } = sidesOf(change, uriOf(change.path));
    const wanted = placed.find((one) => (hunk === undefined ? isUndecided(one) : one.index === hunk));
    const selection = wanted === undefined ? undefined : new vscode.Range(wanted.start, 0, wanted.start, 0);
    const title = vscode.l10n.t("{0} (proposed)", change.path.split("/").at(-1) ?? change.path);
    await vscode.commands.executeCommand("vscode.diff", left, right, title, { preview: true, ...(selection ? { selection } : {}) });
  };

  /** After a decision: closes a fully decided file and opens the next undecided one. */
  const advance = async (change: Change, wasActive: boolean) => {
    if (isOpen(change)) {
      const conflict = change.hunks.some((hunk) => hunk.state === "conflict");
      if (conflict) void explainConflict(change);
      return;
    }
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const together = tabs.filter((tab) => tab.label.startsWith(multiTitle) && !isOrdinary(tab));
    if (proposals.open().length === 0 && together.length > 0) await vscode.window.tabGroups.close(together, true);
    const shown = tabs.some((tab) => changeOfTab(tab) === change.id);
    if (!shown) return;
    await closeChangeTabs(change.id);
    const next = proposals.open().find((other) => other.questId === change.questId) ?? proposals.open()[0];
    if (wasActive && next !== undefined) await openChange(next.id);
  };

  const explainConflict = async (change: Change) => {
    const open = vscode.l10n.t("Open File");
    const reject = vscode.l10n.t("Reject Remaining Hunks");
    const reason = change.problem ?? vscode.l10n.t("The same lines changed in the file.");
    const answer = await vscode.window.showWarningMessage(
      vscode.l10n.t(
        "{0}: a hunk could not be merged. {1} Edit the file so that the hunk applies and accept it again, or reject it.",
        change.path,
        reason,
      ),
      open,
      reject,
    );
    if (answer === open) await vscode.window.showTextDocument(uriOf(change.path));
    if (answer === reject) await decide({ changeId: change.id }, "reject");
  };

  /** A file that another program would run is accepted only after the user has read why. */
  const confirmCaution = async (caution: string, changeId: string): Promise<boolean> => {
    const accept = vscode.l10n.t("Accept");
    const question = vscode.l10n.t("Accept the change to {0}?", proposals.get(changeId)?.path ?? "");
    return (await vscode.window.showWarningMessage(question, { modal: true, detail: caution }, accept)) === accept;
  };

  const decide = async (target: Target, decision: "accept" | "reject", hunks?: readonly number[]) => {
    const caution = decision === "accept" ? proposals.get(target.changeId)?.caution : undefined;
    if (caution !== undefined && !(await confirmCaution(caution, target.changeId))) return;
    const wasActive = changeOfTab(activeTab()) === target.changeId;
    const change = await proposals.decide(target.changeId, decision, hunks);
    await advance(change, wasActive);
    if (wasActive && isOpen(change)) await reveal(change.id, hunks?.at(-1) ?? -1);
  };

  /** Moves the cursor to the next undecided hunk, or to the previous one. */
  const reveal = async (changeId: string, decided: number) => {
    const { placed, proposed } = await proposals.texts(changeId);
    const open = placed.filter(isUndecided).toSorted((a, b) => a.index - b.index);
    const hunk = open.find(({ index }) => index > decided) ?? open.at(-1);
    const editor = proposedEditor(changeId);
    if (hunk === undefined || editor === undefined) return;
    await followed(editor.document, proposed);
    revealLine(changeId, hunk.start);
  };
  const revealLine = (changeId: string, line: number) => {
    const editor = proposedEditor(changeId);
    if (editor === undefined) return;
    const range = new vscode.Range(line, 0, line, 0);
    editor.selection = new vscode.Selection(range.start, range.start);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  };

  const registrations = [
    changed,
    lensesChanged,
    documentChanged,
    marks,
    vscode.workspace.registerTextDocumentContentProvider(proposedScheme, proposedDocuments(proposals, documentChanged.event)),
    vscode.languages.registerCodeLensProvider({ scheme: proposedScheme }, hunkLenses(proposals, lensesChanged.event)),
    vscode.window.tabGroups.onDidChangeTabs(showContext),
    vscode.window.onDidChangeActiveTextEditor(showContext),
    vscode.window.onDidChangeVisibleTextEditors(() => void showMarks()),
    vscode.workspace.onDidChangeTextDocument(({ document }) => (changeIdOf(document.uri) === null ? undefined : marks.refresh())),
    host.onEvent((event) => proposals.handle(event)),
    host.onState(({ state }) => {
      if (state === "ready") void proposals.reload().catch(showError);
    }),
  ];
  showContext();

  return {
    proposals,
    onChanged: changed.event,
    openChange,
    async reviewAll(questId) {
      const open = proposals.open().filter((change) => questId === undefined || change.questId === questId);
      const [first] = open;
      if (first === undefined) {
        void vscode.window.showInformationMessage(vscode.l10n.t("There are no proposed changes to review."));
        return;
      }
      if (open.length === 1) return openChange(first.id);
      const resources = open.map((change) => {
        const file = uriOf(change.path);
        return [file, change.kind === "create" ? undefined : file, proposedUri(change.id, file)];
      });
      await vscode.commands.executeCommand("vscode.changes", multiTitle, resources);
    },
    async decideHunk(target, decision) {
      const hunk = target.hunk ?? (await hunkAtCursor(proposals, target.changeId));
      if (hunk !== null) await decide(target, decision, [hunk]);
    },
    decideFile: (target, decision) => decide({ changeId: target.changeId }, decision),
    async decideAll(decision, questId) {
      for (const { id } of inOneDecision(proposals.open(), decision, questId)) await decide({ changeId: id }, decision);
    },
    async move(direction) {
      const active = activeChange();
      if (active === null) {
        const [first] = proposals.open();
        if (first !== undefined) await openChange(first.id);
        return;
      }
      const { placed } = await proposals.texts(active);
      const hunk = neighbour(placed, proposedEditor(active)?.selection.active.line ?? 0, direction);
      if (hunk !== null) {
        revealLine(active, hunk.start);
        return;
      }
      const open = proposals.open();
      const at = open.findIndex((change) => change.id === active);
      const next = open.at((at + (direction === "next" ? 1 : -1) + open.length) % Math.max(open.length, 1));
      if (next === undefined) return;
      if (next.id !== active) await openChange(next.id, direction === "next" ? undefined : next.hunks.at(-1)?.index);
      else {
        const last = neighbour(placed, direction === "next" ? -1 : Number.MAX_SAFE_INTEGER, direction);
        if (last !== null) revealLine(active, last.start);
      }
    },
    dispose: () => vscode.Disposable.from(...registrations).dispose(),
  };
}
