import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { lancelot, owner } from "./lancelot.ts";

const run = (command: string, argument?: Record<string, string>) => vscode.commands.executeCommand(`lancelot.${command}`, argument);

suite("the owner's word on the safeguards", () => {
  test("safe mode is switched by the owner's word, and not without it", async () => {
    const { call } = await lancelot();
    const safe = async () => (await call("governance.stats", { days: 1 })).safeMode;
    assert.equal(await safe(), false);
    owner("press", "Cancel");
    await run("toggleSafeMode");
    assert.equal(await safe(), false);
    owner("press", "Switch on");
    await run("toggleSafeMode");
    assert.equal(await safe(), true);
    owner("press", "Switch off");
    await run("toggleSafeMode", { enabled: "false" });
    assert.equal(await safe(), false);
  });

  test("a flag is switched by the owner's word", async () => {
    const { call } = await lancelot();
    const enabled = async () => (await call("flags.list", {})).items.find(({ name }) => name === "TOOLS_NETWORK")?.enabled;
    assert.equal(await enabled(), false);
    owner("press", "Switch on");
    await run("setFlag", { name: "TOOLS_NETWORK", enabled: "true" });
    assert.equal(await enabled(), true);
    owner("press", "Switch off");
    await run("setFlag", { name: "TOOLS_NETWORK", enabled: "false" });
    assert.equal(await enabled(), false);
  });

  test("receipts are exported to a file of the data folder", async () => {
    const { call } = await lancelot();
    owner("pick", "Whole ledger");
    await run("exportReceipts");
    const { items } = await call("receipts.search", { query: "export", limit: 5 });
    assert.ok(items.length > 0, "the export left a receipt");
  });
});
