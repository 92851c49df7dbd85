import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findMentions } from "../../../agent-server/quests/attachments.ts";
import { createExternalMessages } from "../../../agent-server/quests/external-messages.ts";
import { titleOf } from "../../../agent-server/quests/quest-page.ts";
import { confidenceOf } from "../../../agent-server/quests/run-result.ts";
import { expandSlashCommand, slashCommands } from "../../../agent-server/quests/slash-commands.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, hangs, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

function start(script: Answer[]) {
  const scripted = scriptedModels(script);
  const recorded = recordingTools({
    read_file: { tier: "T0", effect: () => ({ text: "text" }) },
    git_log: { tier: "T0", effect: () => ({ text: "no repository", isError: true, card: { status: "failure", title: "Log" } }) },
    ask_owner: {
      tier: "T0",
      capability: "quest",
      effect: async (call) => ({ text: (await call.askOwner?.("Which?", undefined, call.signal)) ?? "" }),
    },
  });
  const host = openHost(folders, scripted.models, recorded.tools);
  open.push(host);
  return { ...host, scripted, recorded };
}

describe("quests", () => {
  it("are listed by last use in pages, and found by title and text", async () => {
    const { orchestrator, reaches } = start(Array.from({ length: 6 }, (_, n) => says(`answer ${String(n)} 100%_sure`)));
    const ids: string[] = [];
    for (const text of ["Alpha", "Beta", "Gamma", "Delta", "Epsilon"]) {
      const { questId } = orchestrator.send({ text });
      ids.push(questId);
      await reaches(questId, "done");
    }
    const paged: string[] = [];
    let cursor: string | undefined;
    do {
      const page = orchestrator.list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      paged.push(...page.items.map(({ title }) => title));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(paged.toSorted()).toEqual(["Alpha", "Beta", "Delta", "Epsilon", "Gamma"]);
    expect(orchestrator.list({ query: "gam", limit: 9 }).items.map(({ title }) => title)).toEqual(["Gamma"]);
    expect(orchestrator.list({ query: "answer 3", limit: 9 }).items.map(({ title }) => title)).toEqual(["Delta"]);
    expect(orchestrator.list({ query: "100%_s", limit: 9 }).items).toHaveLength(5);
    expect(orchestrator.list({ query: "1%", limit: 9 }).items).toHaveLength(0);
    expect(() => orchestrator.list({ limit: 2, cursor: "nonsense" })).toThrow(expect.objectContaining({ code: "invalid_params" }));
  });

  it("belong to their workspace", async () => {
    const { orchestrator, reaches } = start([says("Yes.")]);
    await reaches(orchestrator.send({ text: "Here" }).questId, "done");
    const elsewhere = join(folders.root, "other");
    mkdirSync(elsewhere);
    const other = openHost({ dataDir: folders.dataDir, workspace: elsewhere }, scriptedModels([]).models, recordingTools({}).tools);
    open.push(other);
    expect(other.orchestrator.list({ limit: 9 }).items).toEqual([]);
  });

  it("are renamed, and exported with messages and actions", async () => {
    const { orchestrator, reaches } = start([calls(["read_file", { path: "a" }]), says("It is **fine**.")]);
    const { questId } = orchestrator.send({ text: "Is it fine?" });
    await reaches(questId, "done");
    orchestrator.rename(questId, "A check");
    const markdown = orchestrator.exportMarkdown(questId);
    expect(markdown).toContain("# A check\n");
    expect(markdown).toContain("## You\n\nIs it fine?");
    expect(markdown).toContain("- **read_file** read_file (success, T0, receipt `receipt`)");
    expect(markdown).toContain("It is **fine**.");
  });

  it("that do not exist are not found", async () => {
    const { orchestrator } = start([]);
    for (const attempt of [
      () => orchestrator.get("x"),
      () => orchestrator.resume("x"),
      () => orchestrator.rename("x", "y"),
      () => orchestrator.send({ text: "a", questId: "x" }),
    ]) {
      expect(attempt).toThrow(expect.objectContaining({ code: "not_found" }));
    }
    await expect(orchestrator.delete("x")).rejects.toThrow(expect.objectContaining({ code: "not_found" }));
  });

  it.each([true, false])("tell the user's messages from those of programs, however they arrive: owner %s", async (owner) => {
    const hanging = Promise.withResolvers<void>();
    const { orchestrator, reaches, storage } = start([says("One."), says("Two."), says("Three."), hangs("x", () => hanging.resolve())]);
    const others = createExternalMessages(storage);
    const isOfUser: boolean[] = [];
    const note = (id: string) => isOfUser.push(!others.has(id));
    const { questId, messageId } = orchestrator.send({ text: "Go." }, owner);
    note(messageId);
    await reaches(questId, "done");
    note(orchestrator.send({ questId, text: "More." }, owner).messageId);
    await reaches(questId, "done");
    const last = orchestrator.steer(questId, "And this.", owner).messageId;
    note(last);
    await reaches(questId, "done");
    note(orchestrator.send({ questId, text: "Instead.", replaceMessageId: last }, owner).messageId);
    await hanging.promise;
    note(orchestrator.steer(questId, "Now.", owner).messageId);
    note(orchestrator.send({ questId, text: "Then." }, owner).messageId);
    expect(isOfUser).toEqual(Array.from({ length: 6 }, () => owner));
  });

  it("that are done or running cannot be resumed", async () => {
    const hanging = Promise.withResolvers<void>();
    const { orchestrator, reaches } = start([says("Done."), hangs("x", () => hanging.resolve())]);
    const { questId } = orchestrator.send({ text: "Go." });
    await reaches(questId, "done");
    expect(() => orchestrator.resume(questId)).toThrow(/is done/);
    orchestrator.send({ questId, text: "More." });
    await hanging.promise;
    expect(() => orchestrator.resume(questId)).toThrow(expect.objectContaining({ code: "conflict" }));
  });

  it("end crusader mode when they end", async () => {
    const hanging = Promise.withResolvers<void>();
    const { orchestrator } = start([hangs("x", () => hanging.resolve())]);
    const { questId } = orchestrator.send({ text: "Go.", mode: "crusader" });
    await hanging.promise;
    expect(orchestrator.get(questId).quest.mode).toBe("crusader");
    expect((await orchestrator.cancel(questId)).mode).toBe("normal");
  });

  it.each([
    ["Fix it", "Fix it"],
    ["\n  Fix it\nand more", "Fix it"],
    ["word ".repeat(30), "word word word word word word word word word word word…"],
    ["x".repeat(90), `${"x".repeat(59)}…`],
    ["   ", "New task"],
  ])("are titled by their first line: %j", (text, title) => {
    expect(titleOf(text)).toBe(title);
    expect(titleOf(text).length).toBeLessThanOrEqual(60);
  });
});

describe("one request and its answer", () => {
  const go = { message: "Go.", crusader_mode: false };

  it("returns the last text, the actions and full confidence", async () => {
    const { orchestrator } = start([calls(["read_file", { path: "a" }]), says("It is fine.")]);
    const result = await orchestrator.run(go, new AbortController().signal);
    expect(result).toMatchObject({
      response: "It is fine.",
      confidence: 1,
      actions: [{ tool: "read_file", status: "success", receipt_id: "receipt" }],
    });
    expect(result.receipt_id).toBe(orchestrator.get(result.quest_id).quest.receiptId);
  });

  it("has less confidence after a failed tool, and none after a failed quest", async () => {
    const { orchestrator } = start([calls(["git_log", {}]), says("No log."), says("No.", "refused")]);
    expect(await orchestrator.run(go, new AbortController().signal)).toMatchObject({ confidence: 0.5 });
    const failed = await orchestrator.run(go, new AbortController().signal);
    expect(failed.confidence).toBe(0);
    expect(failed.response).toContain("The model declined to answer.");
  });

  it("returns when it needs the user", async () => {
    const { orchestrator } = start([calls(["ask_owner", { question: "Which?" }])]);
    const result = await orchestrator.run(go, new AbortController().signal);
    expect(result).toMatchObject({ response: "Let me look.\n\nWhich?", confidence: 0.5 });
  });

  it("stops the quest when the caller aborts", async () => {
    const hanging = Promise.withResolvers<void>();
    const { orchestrator } = start([hangs("x", () => hanging.resolve())]);
    const controller = new AbortController();
    const running = orchestrator.run(go, controller.signal);
    await hanging.promise;
    controller.abort();
    await expect(running).rejects.toThrow(expect.objectContaining({ code: "cancelled" }));
    expect(orchestrator.list({ limit: 1 }).items[0]?.status).toBe("cancelled");
  });

  it.each([
    ["done", ["success", "success"], false, 1],
    ["done", [], false, 1],
    ["done", ["success", "denied"], false, 0.7],
    ["done", ["success"], true, 0.4],
    ["waiting", ["success"], false, 0.5],
    ["failed", ["success"], false, 0],
    ["cancelled", [], true, 0],
  ] as const)("%s with %j, small %s: %d", (status, calls, small, confidence) => {
    expect(
      confidenceOf(
        { status },
        calls.map((call) => ({ status: call })),
        small,
      ),
    ).toBe(confidence);
  });

  it.each([
    ["done", "claims", 0.2],
    ["done", "announcement", 0],
    ["waiting", "claims", 0.2],
    ["failed", "claims", 0],
  ] as const)("%s with unbacked %s: %d", (status, unbacked, confidence) => {
    expect(confidenceOf({ status }, [{ status: "success" }], false, unbacked)).toBe(confidence);
  });
});

describe("attachments of a message", () => {
  it("files, selections, images and @mentions precede the text for the model; failures are reported", async () => {
    mkdirSync(join(folders.workspace, "src"));
    writeFileSync(join(folders.workspace, "src/a.ts"), "const a = 1;");
    writeFileSync(join(folders.workspace, "b c.ts"), "const b = 2;");
    const { orchestrator, reaches, scripted } = start([says("I see.")]);
    const { questId } = orchestrator.send({
      text: 'Compare @src/a.ts, @"b c.ts" and @nobody.',
      attachments: [
        { type: "file", path: "gone.ts" },
        { type: "selection", path: "src/a.ts", startLine: 1, endLine: 1, text: "const a" },
        { type: "image", mediaType: "image/png", data: "AAAA" },
      ],
    });
    await reaches(questId, "done");
    const content = scripted.requests[0]?.messages[0];
    expect(content).toMatchObject({
      role: "user",
      content: [
        { type: "text", text: expect.stringContaining("Lines 1 to 1 of src/a.ts") as string },
        { type: "image", mediaType: "image/png" },
        { type: "text", text: expect.stringContaining("const a = 1;") as string },
        { type: "text", text: expect.stringContaining("const b = 2;") as string },
        { type: "text", text: 'Compare @src/a.ts, @"b c.ts" and @nobody.' },
      ],
    });
    const [message] = orchestrator.get(questId).messages;
    expect(message?.parts.at(-1)).toEqual({ type: "notice", level: "warning", text: "gone.ts was not attached. There is no such file." });
  });

  it("mentions are found at word starts, without closing punctuation, and only when they exist", () => {
    writeFileSync(join(folders.workspace, "a.ts"), "");
    const { governance } = start([]);
    expect(findMentions("see @a.ts. mail me@a.ts, (@a.ts) @b.ts @../x", governance)).toEqual(["a.ts"]);
  });
});

describe("commands at the start of a message", () => {
  it.each(Object.keys(slashCommands))("/%s becomes its prompt", (name) => {
    expect(expandSlashCommand(`/${name} the $& parser`)).toContain("the $& parser");
    expect(expandSlashCommand(`/${name}`)).not.toContain("{about}");
  });

  it.each(["/unknown x", "fix it", "see /fix", "/", "/constructor x"])("%s is ordinary text", (text) => {
    expect(expandSlashCommand(text)).toBeNull();
  });

  it("shows the typed command and sends its prompt", async () => {
    const { orchestrator, reaches, scripted } = start([says("Clear.")]);
    const { questId } = orchestrator.send({ text: "/explain a.ts" });
    await reaches(questId, "done");
    expect(orchestrator.get(questId).messages[0]?.parts).toEqual([{ type: "text", text: "/explain a.ts" }]);
    expect(JSON.stringify(scripted.requests[0]?.messages)).toContain("Change nothing.");
  });
});
