import * as vscode from "vscode";
import type { Quest } from "../../agent-server/contract/chat.ts";
import { pathOf } from "../editor/workspace-path.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import type { ChatView } from "../views/chat-view.ts";
import { type Commands, field } from "./commands.ts";

export interface Quests extends vscode.Disposable {
  /** Quests that are running or waiting, newest first. */
  active(): readonly Quest[];
}

/** Tracks running quests for *Stop Task* and its when clause. */
export function watchQuests(host: AgentHost, log: vscode.LogOutputChannel): Quests {
  const active = new Map<string, Quest>();
  const show = () => void vscode.commands.executeCommand("setContext", "lancelot.questActive", active.size > 0);
  const update = (quest: Quest) => {
    active.delete(quest.id);
    // A sub-task is stopped with its task.
    if (quest.parentId !== undefined) return;
    if (quest.status === "active" || quest.status === "waiting") active.set(quest.id, quest);
  };
  const reload = async () => {
    const { items } = await host.call("quests.list", { limit: 50 });
    for (const quest of items.toReversed()) update(quest);
    show();
  };
  const registrations = [
    host.onEvent((event) => {
      if (event.topic === "quest") update(event.payload);
      else if (event.topic === "questDeleted") active.delete(event.payload.id);
      else return;
      show();
    }),
    host.onState(({ state }) => {
      active.clear();
      show();
      if (state !== "ready") return;
      void reload().catch((error: unknown) => log.warn(`could not read quests: ${String(error)}`));
    }),
  ];
  return { active: () => [...active.values()].toReversed(), dispose: () => vscode.Disposable.from(...registrations).dispose() };
}

/** A range of a document. */
interface Place {
  readonly document: vscode.TextDocument;
  readonly range: vscode.Range;
}

/** The selection of the active editor; null without one. */
function activePlace(): Place | null {
  const editor = vscode.window.activeTextEditor;
  return editor === undefined ? null : { document: editor.document, range: editor.selection };
}

/** Characters. The model reads longer texts in parts with a tool. */
const maxSelection = 20_000;

/** Commands that open the chat, start and stop tasks, and add code from the editor to the chat. */
export function chatCommands(host: AgentHost, chat: ChatView, quests: Quests): Commands {
  const compose = async (prompt: string, place: Place | null = activePlace()) => {
    const path = place === null ? null : pathOf(place.document.uri);
    if (place === null || path === null) {
      void vscode.window.showInformationMessage(vscode.l10n.t("Open a file in the workspace first."));
      return;
    }
    const { document } = place;
    const range = place.range.isEmpty ? document.lineAt(place.range.start.line).range : place.range;
    const selected = document.getText(range);
    if (selected.length > maxSelection) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t("That selection is too large for the chat. Mention the file with @ instead."),
      );
      return;
    }
    const fence = "`".repeat(Math.max(3, ...[...selected.matchAll(/`+/g)].map(([run]) => run.length + 1)));
    const where = vscode.l10n.t("{0}, lines {1}–{2}:", path, range.start.line + 1, range.end.line + 1);
    await chat.show({ compose: `${prompt}${where}\n${fence}${document.languageId}\n${selected}\n${fence}\n`, focus: true });
  };

  return {
    "lancelot.openChat": (argument) => {
      const questId = field(argument, "questId");
      return chat.show({ focus: true, ...(questId === undefined ? {} : { questId }) });
    },
    "lancelot.newTask": (argument) => {
      const prompt = field(argument, "text");
      return chat.show({ newQuest: true, focus: true, ...(prompt === undefined ? {} : { compose: prompt }) });
    },
    "lancelot.crusader": () => chat.show({ crusader: true, focus: true }),
    async "lancelot.stopTask"() {
      const [only, ...others] = quests.active();
      if (only === undefined) {
        void vscode.window.showInformationMessage(vscode.l10n.t("No task is running."));
        return;
      }
      const picked =
        others.length === 0
          ? only
          : (
              await vscode.window.showQuickPick(
                [only, ...others].map((quest) => ({ label: quest.title, quest })),
                { title: vscode.l10n.t("Stop which task?") },
              )
            )?.quest;
      if (picked !== undefined) await host.call("chat.cancel", { questId: picked.id });
    },
    "lancelot.explainSelection": () => compose(`${vscode.l10n.t("Explain this code.")} `),
    "lancelot.addSelection": () => compose(""),
    async "lancelot.fixProblem"(uri, range) {
      const place =
        uri instanceof vscode.Uri && range instanceof vscode.Range
          ? { document: await vscode.workspace.openTextDocument(uri), range }
          : activePlace();
      if (place === null) return;
      const problems = vscode.languages
        .getDiagnostics(place.document.uri)
        .filter((problem) => problem.range.intersection(place.range) !== undefined || problem.range.start.line === place.range.end.line);
      if (problems.length === 0) {
        void vscode.window.showInformationMessage(vscode.l10n.t("VS Code shows no problem on this line."));
        return;
      }
      const named = problems
        .map((problem) => `- ${vscode.l10n.t("line {0}: {1}", problem.range.start.line + 1, problem.message)}`)
        .join("\n");
      await compose(`${vscode.l10n.t("Fix this:")}\n${named}\n\n`, place);
    },
  };
}
