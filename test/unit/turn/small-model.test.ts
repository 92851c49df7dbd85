import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { estimateTokens } from "../../../agent-server/context/context.ts";
import { estimateMessage, estimateTools } from "../../../agent-server/context/tokens.ts";
import { asksForChange, smallModelTools } from "../../../agent-server/quests/context/small-model-policy.ts";
import { rareWords, retrievalTokens } from "../../../agent-server/turn/small-model.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { says, scriptedModels } from "../../support/quests/scripted-models.ts";

describe("tools for a small model", () => {
  it.each([
    ["Fix the typo in README.md", true],
    ["please add a test for parse", true],
    ["Can you rename foo to bar?", true],
    ["Look at a.ts and fix the bug", true],
    ["How do I fix this error?", false],
    ["What does the update function change?", false],
    ["Explain how to write a parser", false],
    ["Why is the address wrong?", false],
  ])("%s → edits: %s", (request, edits) => {
    expect(asksForChange(request)).toBe(edits);
    expect(smallModelTools(request).includes("edit_file")).toBe(edits);
  });

  it("searches for identifiers and long words, not for common words", () => {
    expect(rareWords("Where is the discountFrom value used in this project, please?")).toEqual(["discountFrom", "value"]);
    expect(rareWords("What does this project do?")).toEqual([]);
  });
});

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

function file(path: string, text: string): void {
  mkdirSync(dirname(join(folders.workspace, path)), { recursive: true });
  writeFileSync(join(folders.workspace, path), text);
}

function start(answers: string[], search = "") {
  const scripted = scriptedModels(
    answers.map((answer) => says(answer)),
    { small: true, contextWindow: 2048, displayName: "Tiny" },
  );
  const recorded = recordingTools({
    read_file: { tier: "T0", effect: ({ args }) => ({ text: `text of ${(args as { path: string }).path}\n`.repeat(500) }) },
    list_files: { tier: "T0", effect: () => ({ text: "README.md\nsrc/" }) },
    search_workspace: { tier: "T0", effect: () => ({ text: search || "Nothing in the workspace matches." }) },
    edit_file: { tier: "T1", effect: () => ({}) },
    git_log: { tier: "T0", effect: () => ({}) },
  });
  const host = openHost(folders, scripted.models, recorded.tools);
  open.push(host);
  return { ...host, scripted, recorded };
}

describe("retrieval for a small model", () => {
  it("reads the file that the question names, shows the call, and reserves tokens for the answer", async () => {
    file("src/cart.js", "");
    const { orchestrator, reaches, scripted, recorded } = start(["It sums the cart."]);
    const { questId } = orchestrator.send({ text: "What does src/cart.js do?" });
    await reaches(questId, "done");
    expect(recorded.invoked.map(({ tool, args }) => [tool, args])).toEqual([["read_file", { path: "src/cart.js", limit: 60 }]]);
    const { messages } = orchestrator.get(questId);
    expect(messages[1]?.parts.map(({ type }) => type)).toEqual(["notice", "tool"]);
    expect(messages[1]?.parts[0]).toMatchObject({ action: "choose_model" });
    expect(messages[1]?.parts[1]).toMatchObject({ status: "success", tool: "read_file" });

    const [request] = scripted.requests;
    if (request === undefined) throw new Error("the model was not asked");
    expect(request.tools.map(({ name }) => name)).toEqual(["read_file", "list_files", "search_workspace"]);
    expect(request.messages).toHaveLength(1);
    const asked = JSON.stringify(request.messages);
    expect(asked.indexOf("text of src/cart.js")).toBeLessThan(asked.indexOf("What does src/cart.js do?"));
    const size =
      estimateTokens(request.system) + estimateTools(request.tools) + request.messages.reduce((sum, one) => sum + estimateMessage(one), 0);
    expect(size + (request.maxTokens ?? 0)).toBeLessThan(2048);
    expect(estimateTokens(asked)).toBeLessThan(retrievalTokens * 1.3);
  });

  it("else reads the files that contain the rare words", async () => {
    file("src/a.js", "");
    file("src/b.js", "");
    const { orchestrator, reaches, recorded } = start(
      ["At ten."],
      "src/a.js:3: // discount\nsrc/b.js:40: const discountFrom = 100; // threshold\nsrc/gone.js:1: discountFrom",
    );
    await reaches(orchestrator.send({ text: "What is the discountFrom threshold?" }).questId, "done");
    expect(recorded.invoked.map(({ tool, args }) => [tool, args])).toEqual([
      ["search_workspace", { query: "discountFrom|threshold", regex: true, limit: 60 }],
      ["read_file", { path: "src/b.js", offset: 32, limit: 17 }],
    ]);
  });

  it("else lists the files", async () => {
    const { orchestrator, reaches, recorded } = start(["A shop."]);
    await reaches(orchestrator.send({ text: "What does this project do?" }).questId, "done");
    expect(recorded.invoked.map(({ tool }) => tool)).toEqual(["list_files"]);
  });

  it("explains its limits once, retrieves for each question, and drops older exchanges", async () => {
    file("a.js", "");
    const { orchestrator, reaches, scripted, recorded } = start(["One.", "Two.", "Three."]);
    const { questId } = orchestrator.send({ text: "First: what is a.js?" });
    await reaches(questId, "done");
    for (const text of ["Second: what is a.js?", "Third: what is a.js?"]) {
      orchestrator.send({ questId, text });
      await reaches(questId, "done");
    }
    const notices = orchestrator.get(questId).messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "notice"));
    expect(notices).toHaveLength(1);
    expect(recorded.invoked).toHaveLength(3);
    const asked = JSON.stringify(scripted.requests[2]?.messages);
    expect(asked).not.toContain("First:");
    expect(asked).toContain("Second:");
    expect(asked).toContain("Third:");
  });

  it("uses attachments instead of searching", async () => {
    file("a.js", "const answer = 42;");
    const { orchestrator, reaches, scripted, recorded } = start(["42."]);
    await reaches(orchestrator.send({ text: "What is the answer?", attachments: [{ type: "file", path: "a.js" }] }).questId, "done");
    expect(recorded.invoked).toHaveLength(0);
    expect(JSON.stringify(scripted.requests[0]?.messages)).toContain("const answer = 42;");
  });
});
