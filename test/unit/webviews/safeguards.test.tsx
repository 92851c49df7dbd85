// @vitest-environment jsdom
import { type JSX, render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { notForViews } from "../../../agent-server/contract/webview.ts";
import { createStore } from "../../../webviews/shared/store.ts";
import { createViewState } from "../../../webviews/shared/view-state.ts";
import { GovernancePanel } from "../../../webviews/war-room/governance/governance-panel.tsx";
import { LearningPanel } from "../../../webviews/war-room/learning/learning-panel.tsx";
import { exportRange } from "../../../webviews/war-room/receipts/receipts-state.ts";
import { useVerify } from "../../../webviews/war-room/receipts/verify-ledger.tsx";
import { SoulPanel } from "../../../webviews/war-room/soul/soul-panel.tsx";
import { createWarRoom, type WarRoom } from "../../../webviews/war-room/war-room-state.ts";
import { emptyWarRoom, noFilters, SavedWarRoom } from "../../../webviews/war-room/war-room-types.ts";
import { TrustPanel } from "../../../webviews/war-room/trust/trust-panel.tsx";
import { buttonIn } from "../../support/chat-page.ts";
import { createFakeView, type FakeView, settled } from "../../support/fake-view.ts";
import {
  sampleApproval,
  sampleApprovalRule,
  sampleFlag,
  sampleLearningProposal,
  sampleRule,
  sampleSoul,
  sampleSoulProposal,
  sampleSoulStatus,
  sampleSoulYaml,
  sampleStats,
  sampleTrust,
  sampleTrustProposal,
} from "../../support/webview-harness/samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
let view: FakeView;
let warRoom: WarRoom;

// The list of receipts itself needs a browser: test/integration/webviews.test.ts.
const shown: Record<string, (props: { warRoom: WarRoom }) => JSX.Element> = {
  governance: GovernancePanel,
  soul: SoulPanel,
  trust: TrustPanel,
  learning: LearningPanel,
  receipts({ warRoom: of }) {
    const { button: verify, result } = useVerify(of);
    return (
      <div>
        {verify}
        {result}
      </div>
    );
  },
};

async function settle(): Promise<void> {
  await act(async () => {
    await settled();
    await settled();
  });
}

async function open(tab: string, answers: Record<string, unknown> = {}): Promise<void> {
  view = createFakeView();
  const all: Record<string, unknown> = {
    "quests.list": { items: [] },
    "approvals.list": { items: [] },
    "approvals.rules": { items: [] },
    "changes.list": { items: [] },
    "receipts.search": { items: [] },
    "governance.stats": sampleStats(),
    "soul.status": sampleSoulStatus(),
    "soul.get": { version: "v2", yaml: sampleSoulYaml, document: sampleSoul, active: true },
    "soul.lint": { valid: true, issues: [] },
    "soul.proposals": { items: [sampleSoulProposal()] },
    "flags.list": { items: [sampleFlag()] },
    "trust.list": { items: [sampleTrust()] },
    "trust.proposals": { items: [sampleTrustProposal(), sampleTrustProposal({ id: "trust-2", status: "accepted" })] },
    "learning.rules": { items: [sampleRule({ status: "needs_confirmation" })] },
    "learning.proposals": { items: [sampleLearningProposal()] },
    ...answers,
  };
  for (const [name, answer] of Object.entries(all)) view.answer(name, () => answer);
  const api = { postMessage: () => undefined, getState: () => ({ ...emptyWarRoom, tab }), setState: () => undefined };
  warRoom = createWarRoom(view.bridge, createStore(view.bridge), createViewState(api, SavedWarRoom, emptyWarRoom));
  const Panel = shown[tab] ?? GovernancePanel;
  void act(() => render(<Panel warRoom={warRoom} />, root));
  await view.hostReady();
  await settle();
}

beforeEach(() => {
  vi.spyOn(window, "requestAnimationFrame").mockImplementation((work) => {
    work(0);
    return 0;
  });
});

eachWithRoot((made) => {
  root = made;
});
afterEach(() => {
  vi.restoreAllMocks();
});

const button = (testId: string): HTMLButtonElement => buttonIn(root, testId);

async function press(testId: string): Promise<unknown> {
  const before = view.posted.length;
  void act(() => button(testId).click());
  await settle();
  return view.posted.slice(before).find(({ type }) => type === "ui")?.["ui"];
}

const command = (id: string, args?: Record<string, string>) => ({
  action: "command",
  command: `lancelot.${id}`,
  ...(args === undefined ? {} : { args: [args] }),
});

describe("what changes the safeguards is left to the editor's own dialog", () => {
  it.each([
    ["soul", "approve-soul:v3", command("approveSoul", { id: "proposal-1" })],
    ["soul", "reject-soul:v3", command("rejectSoul", { id: "proposal-1" })],
    ["soul", "compare-proposal:v3", command("reviewSoulProposals", { id: "proposal-1" })],
    ["soul", "roll-back-soul:v1", command("rollBackSoul", { version: "v1" })],
    ["soul", "compare-version:v1", command("compareSoul", { version: "v1" })],
    ["soul", "edit-soul", command("editSoul")],
    ["trust", "accept:trust-1", command("decideTrust", { id: "trust-1", decision: "accept" })],
    ["trust", "decline:trust-1", command("decideTrust", { id: "trust-1", decision: "decline" })],
    ["trust", "withdraw:trust-2", command("decideTrust", { id: "trust-2", decision: "revoke" })],
    ["learning", "accept:learning-1", command("decideLearning", { id: "learning-1", decision: "accept" })],
    ["learning", "decline:learning-1", command("decideLearning", { id: "learning-1", decision: "decline" })],
    ["learning", "confirm-rule:rule-1", command("decideLearning", { id: "rule-1", decision: "confirm" })],
    ["learning", "withdraw:rule-1", command("decideLearning", { id: "rule-1", decision: "revoke" })],
  ])("%s: %s", async (tab, name, wanted) => {
    await open(tab);
    expect(await press(name)).toEqual(wanted);
    for (const method of notForViews) expect(view.calls(method)).toEqual([]);
  });

  it("an approval for the workspace is revoked, and a denial forgotten, here: that only makes Lancelot ask", async () => {
    const denied = sampleApproval({ id: "approval-3", status: "denied", isRemembered: true, decidedAt: sampleApproval().createdAt });
    const forgotten = sampleApproval({ ...denied, id: "approval-4", isRemembered: false });
    await open("governance", {
      "approvals.rules": { items: [sampleApprovalRule(), sampleApprovalRule({ id: "rule-2" })] },
      "approvals.list": { items: [denied, forgotten] },
      "approvals.revokeRule": {},
      "approvals.askAgain": { ...denied, isRemembered: false },
    });
    expect(root.textContent).toContain(sampleApprovalRule().scope.pattern);
    expect(root.querySelector('[data-testid="ask-again:approval-4"]')).toBeNull();
    const reads = view.calls("approvals.rules").length;
    await press("revoke-rule:rule-2");
    expect(view.calls("approvals.revokeRule")).toEqual([{ id: "rule-2" }]);
    await press("ask-again:approval-3");
    expect(view.calls("approvals.askAgain")).toEqual([{ id: "approval-3" }]);
    await vi.waitFor(() => expect(view.calls("approvals.rules").length).toBeGreaterThan(reads), { timeout: 10_000 });
  });

  it("safe mode is a switch that says its state and asks for the other", async () => {
    await open("governance", { "governance.stats": sampleStats({ safeMode: true }) });
    const box = root.querySelector<HTMLElement>('[role="switch"]');
    expect(box?.getAttribute("aria-checked")).toBe("true");
    void act(() => box?.click());
    expect(view.posted.at(-1)?.["ui"]).toEqual(command("toggleSafeMode", { enabled: "false" }));
    // Nothing is shown before the host says so.
    expect(box?.getAttribute("aria-checked")).toBe("true");
  });

  it("an approved proposal is activated, one with a critical issue is not approved", async () => {
    await open("soul", {
      "soul.status": sampleSoulStatus({
        pendingProposals: [
          sampleSoulProposal({ id: "p-1", status: "approved", issues: [] }),
          sampleSoulProposal({ id: "p-2", toVersion: "v4", issues: [{ rule: "schema", severity: "critical", message: "No." }] }),
        ],
      }),
    });
    expect(await press("activate-soul:v3")).toEqual(command("activateSoul", { id: "p-1" }));
    expect(button("approve-soul:v4").hasAttribute("disabled")).toBe(true);
  });
});

describe("panels follow the host", () => {
  it("a new proposal of the soul appears, and goes when it was decided elsewhere", async () => {
    await open("soul", { "soul.status": sampleSoulStatus({ pendingProposals: [] }), "soul.proposals": { items: [] } });
    expect(root.querySelector('[data-testid="empty:git-pull-request"]')).not.toBeNull();
    view.answer("soul.status", () => sampleSoulStatus());
    view.event("soul", sampleSoulStatus());
    await settle();
    expect(button("approve-soul:v3")).toBeDefined();
    view.answer("soul.status", () => sampleSoulStatus({ activeVersion: "v3", versions: ["v1", "v2", "v3"], pendingProposals: [] }));
    view.event("soul", sampleSoulStatus({ pendingProposals: [] }));
    await settle();
    expect(root.querySelector('[data-testid="approve-soul:v3"]')).toBeNull();
    expect(root.querySelector(".version .verdict-allow")?.closest("li")?.textContent).toContain("v3");
  });

  it("an earlier version is read when it is asked for", async () => {
    await open("soul");
    view.answer("soul.get", ({ version }) => ({
      version,
      yaml: "version: v1\n",
      document: { ...sampleSoul, version: "v1", mission: "The first mission." },
      active: false,
    }));
    await press("version:v1");
    expect(view.calls("soul.get").at(-1)).toEqual({ version: "v1" });
    expect(root.textContent).toContain("The first mission.");
    expect(button("version:v1").getAttribute("aria-pressed")).toBe("true");
  });

  it("an approval joins the queue of the governance panel and leaves it when it is answered", async () => {
    await open("governance");
    expect(root.querySelector('[data-testid="empty:law"]')).not.toBeNull();
    view.event("approval", sampleApproval());
    await settle();
    expect(root.querySelectorAll(".approval")).toHaveLength(1);
    view.event("approval", sampleApproval({ status: "denied" }));
    await settle();
    expect(root.querySelectorAll(".approval")).toHaveLength(0);
  });

  it("other days are read when they are chosen", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await open("governance");
    await press("days:30");
    vi.advanceTimersByTime(2000);
    await settle();
    expect(view.calls("governance.stats").map(({ days }) => days)).toEqual([7, 30]);
    expect(button("days:30").getAttribute("aria-pressed")).toBe("true");
    vi.useRealTimers();
  });
});

describe("links to receipts", () => {
  it.each([
    ["governance", "legend:T2", { tier: "T2" }],
    ["governance", "failed-verifications", { actionType: "verification", status: "failure" }],
    ["governance", "rule:soul.not-named", { query: "soul.not-named" }],
    ["trust", "action-receipts:run", { query: "run" }],
    ["learning", "rule-receipts:rule-1", { query: "rule-1" }],
  ])("%s: %s", async (tab, name, wanted) => {
    await open(tab);
    await press(name);
    expect(warRoom.tab.value).toBe("receipts");
    expect(warRoom.receipts.filters.value).toEqual({ ...noFilters, actionType: null, ...wanted });
  });
});

describe("when the soul is turned off", () => {
  it("says what is left, and offers to turn it on", async () => {
    await open("soul", {
      "flags.list": { items: [sampleFlag({ enabled: false })] },
      "soul.status": sampleSoulStatus({ activeVersion: null, pendingProposals: [] }),
    });
    expect(root.querySelector('[data-testid="placeholder:circle-slash"]')).not.toBeNull();
    expect(root.textContent).toContain(sampleFlag().effect);
    expect(await press("turn-on-flag")).toEqual(command("setFlag", { name: "SOUL", enabled: "true" }));
  });
});

describe("verifying the ledger", () => {
  const damaged = { seq: 812, receiptId: null, problem: "signature", message: "The signed head does not fit." };
  it.each([
    [
      {
        ok: true,
        entries: 2000,
        head: "ab".repeat(32),
        signed: { seq: 1990, at: "2026-03-04T10:00:00.000Z", keyId: "7d0c", heads: 4 },
        segments: { count: 2, entries: 900 },
      },
      "good",
      ["2,000", "1,990", "7d0c", "900"],
    ],
    [{ ok: true, entries: 2, head: null, signed: null, segments: { count: 0, entries: 0 } }, "good", ["2"]],
    [
      { ok: false, entries: 811, head: null, signed: null, segments: { count: 0, entries: 0 }, firstBad: damaged },
      "bad",
      ["812", "The signed head does not fit."],
    ],
  ])("%#: says what was checked", async (result, kind, texts) => {
    await open("receipts", { "receipts.verify": result });
    view.hold("receipts.verify");
    await press("verify-ledger");
    view.event("verifying", { done: 500, total: 2000 });
    await settle();
    expect(root.querySelector(".verify-result")?.textContent).toMatch(/500.*2,000/);
    await act(async () => view.release("receipts.verify"));
    await settle();
    for (const text of texts) expect(root.querySelector(`.verify-result.${kind}`)?.textContent).toContain(text);
  });

  it("exports the task and the days that are chosen, and no other filter", () => {
    expect(exportRange({ ...noFilters, query: "delete", tier: "T3" })).toEqual({});
    const range = exportRange({ ...noFilters, questId: "quest-1", from: "2026-03-01", to: "2026-03-02" });
    expect(range).toEqual({
      questId: "quest-1",
      from: new Date(2026, 2, 1).toISOString(),
      to: new Date(2026, 2, 2, 23, 59, 59, 999).toISOString(),
    });
  });
});
