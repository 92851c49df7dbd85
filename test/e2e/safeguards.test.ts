import { readFileSync } from "node:fs";
import type { Frame, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/host/built-host.ts";
import { byWords } from "../support/model-server/script.ts";
import { faults, openChat, said, send } from "../support/workbench/chat.ts";
import { type EditorFixture, openEditorFixture } from "../support/workbench/editor-fixture.ts";
import type { Workbench } from "../support/workbench/workbench.ts";

const shipped = readFileSync(new URL("../../soul/soul_versions/soul_v1.yaml", import.meta.url), "utf8");

/** The owner's word is given in the editor's own dialogs, which no page of ours draws. */
describe("the owner's decisions on the safeguards", () => {
  let editor: EditorFixture;
  let workbench: Workbench;
  let warRoom: Frame;

  const dialog = (): Locator => workbench.page.locator(".monaco-dialog-box");
  const press = async (name: string): Promise<void> => {
    await dialog().getByRole("button", { name, exact: true }).click();
    await dialog().waitFor({ state: "hidden" });
  };
  const tab = (id: string): Promise<void> => warRoom.locator(`#tab-${id}`).click();

  const activeVersion = (version: string): Locator =>
    warRoom.locator(".version", { hasText: version, has: warRoom.locator(".verdict-allow") });

  beforeAll(async () => {
    editor = await openEditorFixture({
      script: byWords({
        "Amend the soul": [
          {
            text: "I propose it.",
            toolCalls: [
              {
                name: "soul_propose_amendment",
                args: { yaml: shipped.replace("max_concurrent_jobs: 5", "max_concurrent_jobs: 4"), reason: "Four jobs are enough." },
              },
            ],
          },
          { text: "It waits for your word." },
        ],
      }),
    });
    ({ workbench } = editor);
    await workbench.command("Lancelot: Open War Room");
    warRoom = await workbench.view("war-room");
  });
  afterAll(() => editor?.close());

  it("safe mode is switched in the War Room by the editor's dialog, and shown when it is so", async () => {
    await tab("governance");
    const toggle = warRoom.getByRole("switch");
    await toggle.click();
    await dialog().waitFor();
    await press("Cancel");
    expect(await toggle.getAttribute("aria-checked")).toBe("false");
    await toggle.click();
    await press("Turn On");
    await warRoom.locator('[role="switch"][aria-checked="true"]').waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("30-governance");
    await toggle.click();
    await press("Turn Off");
    await warRoom.locator('[role="switch"][aria-checked="false"]').waitFor();
  });

  it("trust and learning say what will appear", async () => {
    await tab("trust");
    await warRoom.getByTestId("empty:graph").waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await tab("learning");
    await warRoom.getByTestId("empty:mortar-board").waitFor();
    expect(await faults(warRoom)).toEqual([]);
  });

  it("the soul's flag is turned off from the palette and on from the panel", async () => {
    const { page } = workbench;
    await tab("soul");
    await activeVersion("v1").waitFor();
    const option = page.locator(".quick-input-list").getByRole("option", { name: /\bSOUL\b/ });
    // The list closes again when the panel, which was just opened, takes the focus.
    await until("the flag is chosen", async () => {
      await workbench.command("Lancelot: Set Feature Flag");
      return option.click({ timeout: 10_000 }).then(
        () => true,
        () => false,
      );
    });
    await press("Turn Off");
    await warRoom.getByTestId("placeholder:circle-slash").waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("31-soul-off");
    await warRoom.getByTestId("turn-on-flag").click();
    await press("Turn On");
    await activeVersion("v1").waitFor();
  });

  it("the agent's amendment is announced, compared, approved, activated and rolled back", async () => {
    const { page } = workbench;
    await tab("soul");
    await warRoom.getByTestId("empty:git-pull-request").waitFor();
    await activeVersion("v1").waitFor();
    const chat = await openChat(workbench);
    await send(chat, "Amend the soul");
    await said(chat, "It waits for your word.").waitFor();
    await workbench.shot("31-soul-announced");
    await workbench.command("Notifications: Show Notifications");
    await page.locator(".notifications-center").getByText("(v1 → v2): Four jobs are enough.").waitFor();
    await page.locator(".notifications-center").getByRole("button", { name: "Review", exact: true }).click();
    await page.locator(".tab.active", { hasText: "Soul v1 → v2 (proposed)" }).waitFor();
    await page.locator(".modified-in-monaco-diff-editor .view-line", { hasText: "max_concurrent_jobs: 4" }).waitFor();
    await workbench.shot("31-soul-diff");

    await workbench.command("Lancelot: Open War Room");
    await warRoom.getByTestId("approve-soul:v2").waitFor();
    await warRoom.getByText("+  max_concurrent_jobs: 4").waitFor();
    expect(await faults(warRoom)).toEqual([]);
    await workbench.shot("32-soul-proposal");

    await warRoom.getByTestId("approve-soul:v2").click();
    await dialog().getByText("max_concurrent_jobs: 4").first().waitFor();
    await workbench.shot("33-soul-approve");
    await press("Approve");
    await warRoom.getByTestId("activate-soul:v2").click();
    await dialog().getByText("max_concurrent_jobs: 4").first().waitFor();
    await press("Activate");
    await activeVersion("v2").waitFor();
    await workbench.shot("34-soul-activated");

    await warRoom.getByTestId("roll-back-soul:v1").click();
    await press("Roll Back");
    await activeVersion("v1").waitFor();
  });

  it("a change of the owner's is written with help, proposed with a reason, and rejected", async () => {
    const { page } = workbench;
    await warRoom.getByTestId("edit-soul").click();
    await page.locator(".tab.active", { hasText: "run “Propose Soul” when done" }).waitFor();
    await page.locator(".editor-instance .view-line", { hasText: "The constitution of Lancelot" }).first().click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("extra: 1");
    await page.keyboard.press("Escape");
    await page.locator(".squiggly-warning").first().waitFor();
    await workbench.shot("35-soul-draft");
    await workbench.command("Lancelot: Propose Soul");
    const input = page.locator(".quick-input-widget input.input");
    await page.locator(".quick-input-title", { hasText: "Propose Soul" }).waitFor();
    await input.fill("To see what happens");
    await page.keyboard.press("Enter");
    await page
      .getByText(/v3 proposed\./)
      .first()
      .waitFor();

    await workbench.command("Lancelot: Reject Soul Proposal");
    await page.locator(".quick-input-title", { hasText: "Reject soul" }).waitFor();
    await page.keyboard.press("Enter");
    await press("Reject");
    await workbench.command("Lancelot: Open War Room");
    await warRoom.getByTestId("empty:git-pull-request").waitFor();
  });

  it("the ledger is exported and verified", async () => {
    const { page } = workbench;
    await tab("receipts");
    await warRoom.getByTestId("verify-ledger").click();
    await warRoom.locator(".verify-result.good").waitFor();
    await warRoom.getByTestId("export-receipts").click();
    await page
      .locator(".quick-input-list")
      .getByRole("option", { name: /Whole ledger/ })
      .click();
    await page
      .getByText(/Exported to /)
      .first()
      .waitFor();
    await workbench.command("Notifications: Show Notifications");
    await page.locator(".notifications-center").getByRole("button", { name: "Open", exact: true }).click();
    await page
      .locator(".editor-instance .view-line", { hasText: "prevHash" })
      .or(page.locator(".editor-instance .view-line", { hasText: "sha256" }))
      .first()
      .waitFor();
    await workbench.shot("36-export");
  });
});
