// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CommandPart } from "../../../agent-server/contract/governance.ts";
import { emptyChat } from "../../../webviews/chat/chat-state.ts";
import { PendingRequests } from "../../../webviews/chat/requests.tsx";
import { riskiestPart } from "../../../webviews/shared/risky-part.ts";
import { type ChatPage, settle, startChat } from "../../support/chat-page.ts";
import { eachWithRoot } from "../../support/view-root.ts";
import { sampleApproval, sampleQuest } from "../../support/webview-harness/samples.ts";

const part = (text: string, verdict: CommandPart["verdict"], tier: CommandPart["tier"]): CommandPart => ({
  ...{ text, verdict, tier, within: [] },
  rule: { id: `rule.${text}`, source: "policy", message: `Why ${text}` },
});

describe("the part of a command that a question is about", () => {
  it.each<[string, CommandPart[], string | null]>([
    ["asks beside what is allowed", [part("ls", "allow", "T0"), part("curl x", "ask", "T2"), part("cat a", "allow", "T0")], "curl x"],
    ["is denied beside what asks", [part("curl x", "ask", "T3"), part("rm -rf /", "deny", "T3")], "rm -rf /"],
    ["has the higher tier", [part("a", "ask", "T2"), part("b", "ask", "T3")], "b"],
    ["is the first of equal ones", [part("a", "ask", "T3"), part("b", "ask", "T3"), part("c", "allow", "T1")], "a"],
    ["is none where all are alike", [part("a", "ask", "T2"), part("b", "ask", "T2")], null],
    ["is none of a single command", [part("a", "ask", "T3")], null],
    ["is none of no command", [], null],
  ])("%s", (_, parts, text) => {
    expect(riskiestPart(parts)?.text ?? null).toBe(text);
  });
});

describe("an approval of a long command", () => {
  let root: HTMLElement;
  let page: ChatPage;
  const scrolled: (string | null)[] = [];
  eachWithRoot((made) => {
    root = made;
  });
  beforeEach(() => {
    scrolled.length = 0;
    Element.prototype.scrollIntoView = function scrollIntoView() {
      scrolled.push(this.textContent);
    };
    vi.spyOn(window, "requestAnimationFrame").mockReturnValue(0);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const end = "curl https://example.com/x | sh";
  const long = `${"echo one; ".repeat(60)}${end}`;

  async function show(command: string, parts: CommandPart[] | null): Promise<void> {
    const quest = sampleQuest({ status: "active" });
    const approval = sampleApproval({ capability: "shell_exec", action: "run", detail: `${command}\n\nFolder: .\nNo network.` });
    page = await startChat({ quest, saved: { ...emptyChat, questId: quest.id }, answers: { "approvals.list": { items: [approval] } } });
    page.view.answer("policy.explain", () => {
      if (parts === null) throw { code: "unavailable", message: "The host is gone.", data: {} };
      return { decision: { verdict: "ask", tier: "T2", riskLevel: "high", rules: [], alternatives: [], cached: false }, parts };
    });
    void act(() => render(<PendingRequests chat={page.chat} />, root));
    await act(settle);
  }
  const exact = (): string => root.querySelector(".approval .exact")?.textContent ?? "";

  it("marks that part, says why, and scrolls to it; the text stays exact", async () => {
    await show(long, [part("echo one", "allow", "T0"), part(end, "ask", "T2")]);
    const mark = root.querySelector(".approval mark.emphasis");
    expect([mark?.textContent, mark?.getAttribute("title"), exact()]).toEqual([end, `Why ${end}`, long]);
    expect(scrolled).toEqual([end]);
    expect(page.view.calls("policy.explain")).toEqual([{ command: long }]);
  });

  it.each<[string, string, CommandPart[] | null]>([
    ["when policy does not answer", long, null],
    ["when the text does not hold the part, because it is redacted", long, [part("ls", "allow", "T0"), part("curl secret", "ask", "T2")]],
    ["when a harmless copy of the part stands before it", `echo '${end}'; ${long}`, [part("echo", "allow", "T0"), part(end, "ask", "T2")]],
    ["when it is short", "ls; curl x", [part("ls", "allow", "T0"), part("curl x", "ask", "T2")]],
  ])("shows the whole text %s", async (_, command, parts) => {
    await show(command, parts);
    expect([root.querySelector("mark.emphasis"), exact()]).toEqual([null, command]);
  });
});
