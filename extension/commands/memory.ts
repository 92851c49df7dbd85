import * as vscode from "vscode";
import type { MemoryItem } from "../../agent-server/contract/memory.ts";
import type { MemoryPlace } from "../../agent-server/contract/webview.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { codeOf, withoutEmphasis } from "../host/show-error.ts";
import type { WarRoom } from "../views/war-room.ts";
import { showWithAction } from "./confirmation.ts";
import { type Commands, field } from "./commands.ts";
import { placeLabel } from "./memory-labels.ts";

const longestText = 4000;
/** How long (ms) typing must pause before a search starts. */
const typingRest = 150;
const found = 30;

interface ItemRow extends vscode.QuickPickItem {
  readonly item: MemoryItem;
}

/** The selected text; empty when it is too long to remember. */
function selectedText(): string {
  const editor = vscode.window.activeTextEditor;
  const text = editor === undefined ? "" : editor.document.getText(editor.selection).trim();
  return text.length <= longestText ? text : "";
}

/** Commands that remember, search and show memories. */
export function memoryCommands(host: AgentHost, warRoom: WarRoom): Commands {
  const open = (place: MemoryPlace = {}): void => warRoom.open({ tab: "memory", memory: place });

  const search = async (): Promise<void> => {
    const pick = vscode.window.createQuickPick<ItemRow>();
    pick.title = vscode.l10n.t("Search Memory");
    pick.placeholder = vscode.l10n.t("Type to search. Without a query, the newest memories come first.");
    const { promise, resolve, reject: failed } = Promise.withResolvers<void>();
    let asking: AbortController | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      asking?.abort();
      const mine = new AbortController();
      asking = mine;
      pick.busy = true;
      try {
        const { items } = await host.call("memory.search", { query: pick.value, limit: found }, mine.signal);
        if (asking !== mine) return;
        pick.items = items.map(({ item, snippet }) => ({
          // VS Code re-sorts rows by their labels, so the searched text goes into `detail`, which keeps the host's order.
          label: placeLabel(item),
          detail: (snippet === "" ? item.content : snippet).replaceAll(/\s+/g, " ").trim(),
          // The host already filtered these rows.
          alwaysShow: true,
          item,
        }));
        if (items.length === 0) pick.placeholder = vscode.l10n.t("No memories match.");
      } catch (error) {
        if (asking !== mine || codeOf(error) === "cancelled") return;
        failed(error);
        pick.hide();
      } finally {
        if (asking === mine) pick.busy = false;
      }
    };
    pick.onDidChangeValue(() => {
      clearTimeout(timer);
      timer = setTimeout(() => void ask(), typingRest);
    });
    pick.onDidAccept(() => {
      const [row] = pick.selectedItems;
      if (row === undefined) return;
      open({ itemId: row.item.id });
      pick.hide();
    });
    pick.onDidHide(() => {
      clearTimeout(timer);
      asking?.abort();
      pick.dispose();
      resolve();
    });
    pick.show();
    void ask();
    await promise;
  };

  return {
    "lancelot.openMemory"(argument) {
      const given = typeof argument === "object" ? argument : undefined;
      open(
        Object.fromEntries(
          ["itemId", "commitId", "quarantineId", "contextId"].flatMap((name) => {
            const id = field(given, name);
            return id === undefined ? [] : [[name, id]];
          }),
        ),
      );
    },

    async "lancelot.remember"(argument) {
      const given = typeof argument === "object" ? field(argument, "text") : undefined;
      const text = await vscode.window.showInputBox({
        title: vscode.l10n.t("Remember"),
        prompt: vscode.l10n.t("Describe what to remember. Lancelot picks the block or tier; you can change it in the War Room."),
        placeHolder: vscode.l10n.t("For example: the tests need a database on port 5433"),
        value: given ?? selectedText(),
        ignoreFocusOut: true,
        validateInput: (text) => {
          if (text.trim() === "") return vscode.l10n.t("Enter what to remember.");
          return text.length > longestText ? vscode.l10n.t("Enter at most {0} characters.", longestText) : undefined;
        },
      });
      if (text === undefined || text.trim() === "") return;
      const { item, notes } = await host.call("memory.remember", { text: text.trim() });
      showWithAction(
        withoutEmphasis([vscode.l10n.t("Saved to memory ({0}).", placeLabel(item)), ...notes].join(" ")),
        vscode.l10n.t("Show"),
        // oxlint-disable-next-line require-await -- the panel opens at once
        async () => open({ itemId: item.id }),
      );
    },

    "lancelot.searchMemory": search,
  };
}
