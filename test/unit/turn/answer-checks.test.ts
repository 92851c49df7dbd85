import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import type { Message } from "../../../agent-server/contract/chat.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { type Effect, recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

const refused: Effect = () => ({ text: "Blocked.", isError: true, card: { status: "denied", tier: "T3", title: "Delete a.ts" } });
const broken: Effect = () => ({ text: "No.", isError: true, card: { status: "failure", tier: "T1", title: "Edit a.ts" } });
const missing: Effect = () => ({
  text: "There is no such file.",
  isError: true,
  card: { status: "failure", tier: "T0", title: "Read b.ts" },
});

function start(script: Answer[]) {
  let edits = 0;
  const recorded = recordingTools({
    delete_file: { tier: "T3", effect: refused },
    edit_file: {
      tier: "T1",
      effect: (call, note) => ((edits += 1) > 1 ? { text: "ok", card: { status: "success" } } : broken(call, note)),
    },
    read_file: { tier: "T0", effect: missing },
    fetch_url: { tier: "T2", effect: () => ({ text: "A page." }) },
  });
  const host = openHost(folders, scriptedModels(script).models, recorded.tools);
  open.push(host);
  return host;
}

const notices = (messages: Message[]): string[] =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "notice" ? [part.text] : [])));
const lastWords = (messages: Message[]): string =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).at(-1) ?? "";

async function run(host: ReturnType<typeof start>, text: string): Promise<Message[]> {
  const { questId } = host.orchestrator.send({ text });
  await host.reaches(questId, "done");
  return host.orchestrator.get(questId).messages;
}

/** Leaves one tone invariant: the one the linter insists on, or one that forbids nothing of the kind. */
function amend(host: ReturnType<typeof start>, tone: string[]): void {
  const { soul } = host.governance;
  const { document } = soul.get();
  const { id } = soul.propose({ yaml: stringify({ ...document, tone_invariants: tone }), reason: "A test.", by: "owner", questId: null });
  soul.approve(id);
  soul.activate(id);
}

describe("no silent failure", () => {
  it("adds a notice and a receipt for a denied step that the answer omits", async () => {
    const host = start([calls(["delete_file", { path: "a.ts" }]), says("All tidy now.")]);
    const messages = await run(host, "Tidy up.");
    expect(notices(messages)).toEqual([expect.stringContaining("Delete a.ts (not permitted)")]);
    expect(lastWords(messages)).toBe("All tidy now.");
    expect(host.ledger.search({ query: "tone", limit: 10 }).items).toMatchObject([
      { actionName: "tone.silent-failure", status: "failure" },
    ]);
  });

  it.each([
    "I could not delete a.ts.",
    "I couldn’t delete a.ts.",
    "You declined the deletion.",
    "The deletion was refused.",
    "Löschen war nicht möglich.",
    "削除できませんでした。失敗しました。",
  ])("accepts an answer that mentions the failure: %s", async (message) => {
    expect(notices(await run(start([calls(["delete_file", { path: "a.ts" }]), says(message)]), "Tidy up."))).toEqual([]);
  });

  it.each(["Done, without errors.", "I fixed the failing test and removed the blocked users.", "Alles erledigt, mehr ist nicht zu tun."])(
    "adds a notice where words of failure report another one: %s",
    async (message) => {
      expect(notices(await run(start([calls(["delete_file", { path: "a.ts" }]), says(message)]), "Tidy up."))).toHaveLength(1);
    },
  );

  it("ignores failures that a later call repaired, and failed reads", async () => {
    const script = [
      calls(["edit_file", { path: "a.ts" }]),
      calls(["edit_file", { path: "a.ts" }]),
      calls(["read_file", { path: "b.ts" }]),
      says("Done."),
    ];
    expect(notices(await run(start(script), "Edit a.ts."))).toEqual([]);
  });
});

describe("sources", () => {
  it("asks for missing sources once, then marks the answer as unverified", async () => {
    const host = start([says("Vendor A leads."), says("Vendor A leads, I am sure.")]);
    const messages = await run(host, "Research the market for build tools.");
    expect(notices(messages)).toHaveLength(2);
    expect(host.ledger.search({ query: "tone", limit: 10 }).items.map(({ actionName }) => actionName)).toEqual([
      "tone.unsourced",
      "tone.sources-asked",
    ]);
  });

  it("accepts the second answer when it cites sources", async () => {
    const messages = await run(
      start([says("Vendor A leads."), says("Vendor A leads (https://example.org/report).")]),
      "Research the market for build tools.",
    );
    expect(notices(messages)).toHaveLength(1);
  });

  it("requires sources for answers from the web, and not for others", async () => {
    expect(
      notices(
        await run(
          start([calls(["fetch_url", { url: "https://example.org" }]), says("It is 3.2."), says("It is 3.2, see https://example.org/x.")]),
          "Which is newest?",
        ),
      ),
    ).toHaveLength(1);
    expect(notices(await run(start([says("It adds two numbers.")]), "What does add() do?"))).toEqual([]);
  });

  it("requires no sources without the invariant", async () => {
    const host = start([says("Vendor A leads.")]);
    amend(host, ["Errors and failures are never suppressed silently."]);
    expect(notices(await run(host, "Research the market for build tools."))).toEqual([]);
  });
});
