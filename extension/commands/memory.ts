import * as vscode from "vscode";
import type { MemoryItem } from "../../agent-server/contract/memory.ts";
import type { MemoryPlace } from "../../agent-server/contract/webview.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { codeOf, plain } from "../host/report.ts";
import type { WarRoom } from "../views/war-room.ts";
import { sayAndOffer } from "./ask-owner.ts";
import { type Commands, field } from "./commands.ts";
import { placeText } from "./memory-words.ts";

const longestText = 4000;
/** Milliseconds of rest in typing before a search starts. */
const typingRest = 150;
const found = 30;

interface ItemRow extends vscode.QuickPickItem {
  readonly item: MemoryItem;
}

/** The text that is selected in the editor, when it is not too long to be remembered. */
function selectedText(): string {
  const editor = vscode.window.activeTextEditor;
  const text = editor === undefined ? "" : editor.document.getText(editor.selection).trim();
  return text.length <= longestText ? text : "";
}

/** What is remembered: adding to it, finding in it, and the panel that shows all of it. */
export function memoryCommands(host: AgentHost, warRoom: WarRoom): Commands {
  const open = (place: MemoryPlace = {}): void => warRoom.open({ tab: "memory", memory: place });

  const search = async (): Promise<void> => {
    const pick = vscode.window.createQuickPick<ItemRow>();
    pick.title = vscode.l10n.t("Search memory");
    pick.placeholder = vscode.l10n.t("Words of what is looked for; without words the newest first");
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
          // The editor sorts rows by how their labels match; what is not a label stays in the host's order.
          label: placeText(item),
          detail: (snippet === "" ? item.content : snippet).replaceAll(/\s+/g, " ").trim(),
          // What the host found fits, whatever the editor thinks of its words.
          alwaysShow: true,
          item,
        }));
        if (items.length === 0) pick.placeholder = vscode.l10n.t("Nothing remembered fits.");
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
        prompt: vscode.l10n.t("In your own words. It goes to the block or tier it belongs to; you can change that in the War Room."),
        placeHolder: vscode.l10n.t("For example: the tests need a database on port 5433"),
        value: given ?? selectedText(),
        ignoreFocusOut: true,
        validateInput: (words) => {
          if (words.trim() === "") return vscode.l10n.t("Say what should be remembered.");
          return words.length > longestText ? vscode.l10n.t("It is too long: at most {0} characters.", longestText) : undefined;
        },
      });
      if (text === undefined || text.trim() === "") return;
      const { item, notes } = await host.call("memory.remember", { text: text.trim() });
      sayAndOffer(
        plain([vscode.l10n.t("Remembered ({0}).", placeText(item)), ...notes].join(" ")),
        vscode.l10n.t("Show"),
        // oxlint-disable-next-line require-await -- the panel opens at once
        async () => open({ itemId: item.id }),
      );
    },

    "lancelot.searchMemory": search,
  };
}
