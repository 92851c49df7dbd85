import { describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { HostActions } from "../../../agent-server/quests/host-commands.ts";
import { hostCommandIn } from "../../../agent-server/quests/host-commands.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { hangs, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

const nothing: HostActions = {
  undo: () => Promise.resolve({ restored: [], conflicts: [], undoCheckpointId: null }),
  doctor: () => Promise.resolve([]),
};

async function finished(actions: HostActions | undefined) {
  const scripted = scriptedModels([says("Done."), says("Again.")]);
  const host = openHost(folders, scripted.models, recordingTools({}).tools, actions === undefined ? {} : { hostActions: actions });
  open.push(host);
  const { questId } = host.orchestrator.send({ text: "Fix the header" });
  await host.reaches(questId, "done");
  const answer = async (text: string) => {
    const before = host.orchestrator.get(questId).messages.length;
    host.orchestrator.send({ text, questId });
    await host.when(() => host.orchestrator.get(questId).messages.length === before + 2);
    return host.orchestrator.get(questId).messages.at(-1)?.parts[0];
  };
  return { ...host, scripted, questId, answer };
}

describe("commands that the host answers", () => {
  it.each([
    ["/why", "why"],
    [" /cost ", "cost"],
    ["/undo", "undo"],
    ["/doctor", "doctor"],
    ["/why not", null],
    ["/plan", null],
    ["why", null],
    ["/Why", null],
    ["say /undo", null],
  ])("%j", (text, command) => {
    expect(hostCommandIn(text)).toBe(command);
  });

  it("restore files for the owner alone, whichever way a message comes in", async () => {
    const { orchestrator, questId } = await finished(nothing);
    const { length } = orchestrator.get(questId).messages;
    expect(() => orchestrator.send({ text: "/undo", questId }, false)).toThrow(expect.objectContaining({ code: "unauthorized" }) as Error);
    await expect(
      orchestrator.run({ message: "/undo", quest_id: questId, mode: "plan", crusader_mode: false }, new AbortController().signal, false),
    ).rejects.toMatchObject({ code: "unauthorized" });
    expect(orchestrator.get(questId).messages).toHaveLength(length);
  });

  it("are notices that the model never sees", async () => {
    const { answer, orchestrator, questId, scripted, reaches } = await finished(nothing);
    for (const text of ["/why", "/cost", "/undo", "/doctor"]) expect(await answer(text)).toMatchObject({ type: "notice", level: "info" });
    expect(scripted.requests).toHaveLength(1);
    orchestrator.send({ text: "Fix it again", questId });
    await reaches(questId, "done");
    const seen = JSON.stringify(scripted.requests.at(-1)?.messages);
    for (const text of ["/why", "/cost", "/undo", "/doctor"]) expect(seen).not.toContain(text);
  });

  it("list what needs attention and what was not restored", async () => {
    const { answer } = await finished({
      undo: () => Promise.resolve({ restored: ["a.ts"], conflicts: [{ path: "b.ts", message: "Edited since." }], undoCheckpointId: null }),
      doctor: () =>
        Promise.resolve([
          { id: "git", title: "Git", status: "ok", message: "2.40", nextStep: null, action: null },
          { id: "engine", title: "Engine", status: "missing", message: "None.", nextStep: "Install one.", action: null },
        ]),
    });
    const undone = await answer("/undo");
    expect(JSON.stringify(undone)).toMatch(/a\.ts.*b\.ts/);
    const checked = JSON.stringify(await answer("/doctor"));
    expect(checked).toContain("Install one.");
    expect(checked).not.toContain("2.40");
  });

  it.each([
    ["a known failure", { ...nothing, undo: () => Promise.reject(new LancelotError("conflict", "Another window restores.")) }],
    ["an unknown failure", { ...nothing, undo: () => Promise.reject(new Error("broken")) }],
    ["nobody that can", undefined],
  ])("warn after %s", async (_, actions) => {
    const { answer } = await finished(actions);
    expect(await answer("/undo")).toMatchObject({ type: "notice", level: "warning" });
  });

  it("need a task, and one that does not run to undo it", async () => {
    let reached: () => void = () => undefined;
    const isHanging = new Promise<void>((resolve) => (reached = resolve));
    const host = openHost(folders, scriptedModels([hangs("Thinking", () => reached())]).models, recordingTools({}).tools, {
      hostActions: nothing,
    });
    open.push(host);
    expect(() => host.orchestrator.send({ text: "/cost" })).toThrow(expect.objectContaining({ code: "invalid_params" }));
    const { questId } = host.orchestrator.send({ text: "Fix the header" });
    await isHanging;
    expect(() => host.orchestrator.send({ text: "/undo", questId })).toThrow(expect.objectContaining({ code: "conflict" }));
    host.orchestrator.steer(questId, "/cost");
    expect(host.orchestrator.get(questId).messages.at(-1)?.parts[0]).toMatchObject({ type: "notice" });
  });
});
