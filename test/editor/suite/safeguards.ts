import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { lancelot, owner } from "./lancelot.ts";

const run = (command: string, argument?: Record<string, string>) => vscode.commands.executeCommand(`lancelot.${command}`, argument);

suite("decisions about the safeguards", () => {
  test("safe mode and flags do not change when the dialog is canceled", async () => {
    // Dialogs are cancelled here: that is a no.
    const { call } = await lancelot();
    const state = async () => {
      const { items } = await call("flags.list", {});
      return [(await call("governance.stats", { days: 1 })).safeMode, items.find(({ name }) => name === "TOOLS_NETWORK")?.enabled];
    };
    assert.deepEqual(await state(), [false, false]);
    await run("toggleSafeMode");
    await run("toggleSafeMode", { enabled: "true" });
    await run("setFlag", { name: "TOOLS_NETWORK", enabled: "true" });
    assert.deepEqual(await state(), [false, false]);
  });

  test("receipts are exported to a file of the data folder", async () => {
    const { call } = await lancelot();
    owner("pick", "Whole ledger");
    await run("exportReceipts");
    const { items } = await call("receipts.search", { query: "export", limit: 5 });
    assert.ok(items.length > 0, "the export left a receipt");
  });
});
