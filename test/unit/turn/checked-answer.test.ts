import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../../../agent-server/contract/chat.ts";
import type { Mode } from "../../../agent-server/contract/governance.ts";
import type { ActiveModel } from "../../../agent-server/models/models.ts";
import { createClaimCheck } from "../../../agent-server/plans/plans.ts";
import { readTestReport } from "../../../agent-server/workspace/workspace.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, done, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

function start(script: Answer[], active: Partial<ActiveModel> = {}) {
  const recorded = recordingTools({
    edit_file: { tier: "T1", effect: () => ({ text: "ok", card: { status: "success", tier: "T1", title: "Edit a.ts" } }) },
    run_command: {
      tier: "T2",
      effect: () => ({
        text: "It runs in the background.",
        card: {
          ...{ status: "success", tier: "T2", title: "Run npm run dev" },
          command: { text: "npm run dev", cwd: ".", place: null, network: false, exitCode: null, ended: null, background: { id: "b" } },
        },
      }),
    },
    report_outcome: {
      tier: "T0",
      capability: "quest",
      effect: () => ({ text: "Reported.", card: { status: "success", tier: "T0", title: "Report" } }),
    },
  });
  const scripted = scriptedModels(script, active);
  const host = openHost(folders, scripted.models, recorded.tools, {
    checkClaims: createClaimCheck({
      enabled: () => true,
      ledger: { search: () => ({ items: [] }) },
      runsTests: () => false,
      readReport: readTestReport,
    }),
  });
  open.push(host);
  return { ...host, scripted };
}

async function run(host: ReturnType<typeof start>, text: string, mode: Mode = "normal"): Promise<Message[]> {
  const { questId } = host.orchestrator.send({ text, mode });
  await host.reaches(questId, "done");
  return host.orchestrator.get(questId).messages;
}

const kinds = (messages: readonly Message[]) =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "notice" ? (part.claims ?? []).map(({ kind }) => kind) : [])));
const texts = (messages: readonly Message[]) =>
  messages.flatMap(({ role, parts }) => (role === "assistant" ? parts.flatMap((part) => (part.type === "text" ? [part.text] : [])) : []));

describe("announcements", () => {
  const announced = says("I'll get started.");

  it("go back to a large model once, and never to a small one", async () => {
    const large = start([announced, announced]);
    expect(kinds(await run(large, "Fix a.ts."))).toEqual(["announcement"]);
    expect(large.scripted.requests).toHaveLength(2);
    const small = start([announced], { small: true, contextWindow: 4_096 });
    expect(kinds(await run(small, "Fix a.ts."))).toEqual(["announcement"]);
    expect(small.scripted.requests).toHaveLength(1);
  });

  it("are plans in plan mode, and true while a background command runs", async () => {
    expect(kinds(await run(start([announced]), "Fix a.ts.", "plan"))).toEqual([]);
    const running = start([
      calls(["run_command", { command: "npm run dev", background: true }]),
      says("I'm working on it and will report back."),
    ]);
    expect(kinds(await run(running, "Start the server."))).toEqual([]);
  });

  it("count for the request that they answer, not for the next", async () => {
    const host = start([announced, announced, says("It is 4.")]);
    const { questId } = host.orchestrator.send({ text: "Fix a.ts." });
    await host.reaches(questId, "done");
    const next = await host.orchestrator.run(
      { message: "What is 2 + 2?", crusader_mode: false, quest_id: questId },
      new AbortController().signal,
    );
    expect(next).toMatchObject({ response: "It is 4.", confidence: 1 });
  });
});

describe("earlier turns of the task", () => {
  it("back what an answer says of them", async () => {
    const host = start([calls(["edit_file", { path: "a.ts" }]), says("I edited a.ts."), says("Yes, I edited a.ts.")]);
    const { questId } = host.orchestrator.send({ text: "Edit a.ts." });
    await host.reaches(questId, "done");
    await host.orchestrator.run({ message: "Did you?", crusader_mode: false, quest_id: questId }, new AbortController().signal);
    expect(kinds(host.orchestrator.get(questId).messages)).toEqual([]);
  });
});

describe("long answers", () => {
  const cell = fc.stringMatching(/^[a-zA-Z0-9 `*_<>&$\\ßéñ✅-]{0,12}$/);
  const table = fc
    .tuple(cell, cell, cell)
    .map((row) =>
      ["| A | B | C |", "|---|---|---|", ...Array.from({ length: 150 }, (_, index) => `| ${String(index)} ${row.join(" | ")} |`)].join(
        "\n",
      ),
    );
  const code = fc.string({ maxLength: 200 }).map((text) => `\`\`\`ts\n${text.replaceAll("`", "'").replaceAll("\r", "")}\n\`\`\``);
  const answer = fc
    .tuple(table, code, fc.constantFrom("I updated README.md and all 42 tests pass.", "That is all."))
    .map((blocks) => blocks.join("\n\n"));

  it("stay as they are, byte by byte, in text and in a report", async () => {
    const host = start([]);
    await fc.assert(
      fc.asyncProperty(answer, fc.boolean(), async (text, inReport) => {
        const report: Answer = () => [
          done(
            [
              {
                type: "tool_call",
                id: "r",
                name: "report_outcome",
                args: { responseToUser: text, actionsTaken: [{ action: "updated README.md" }] },
              },
            ],
            "tool_calls",
          ),
        ];
        const whole: Answer = () => [{ type: "text", text }, done([{ type: "text", text }], "end")];
        host.scripted.script.push(inReport ? report : whole);
        const messages = await run(host, "Show me the table.");
        expect(texts(messages)).toEqual([text]);
        expect(kinds(messages)).toEqual(text.endsWith("That is all.") ? [] : ["edit", "tests"]);
      }),
      { numRuns: 12 },
    );
  });
});
