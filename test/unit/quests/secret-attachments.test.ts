import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Attachment } from "../../../agent-server/contract/chat.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
let host: ReturnType<typeof openHost>;
let model: ReturnType<typeof scriptedModels>;

beforeEach(() => {
  folders = makeFolders();
  mkdirSync(join(folders.workspace, "src"));
  writeFileSync(join(folders.workspace, ".env"), "PORT=3000\nHIDDEN_NAME=plain\n");
  writeFileSync(join(folders.workspace, "src/a.ts"), "export {};\n");
  symlinkSync("../.env", join(folders.workspace, "src/notes.txt"));
  model = scriptedModels([says("One."), says("Two."), says("Three.")]);
  host = openHost(folders, model.models, recordingTools({}).tools);
});
afterEach(async () => {
  await host.close();
  folders.remove();
});

const mentions = [
  "@.env",
  "(@.env)",
  "@./.env",
  '@".env"',
  "@src/../.env",
  "@.env.",
  "@.env, please",
  "line\n@.env",
  "@src/notes.txt",
  "see @src/a.ts and @.env",
];
const attached: Attachment[] = [".env", "./.env", "src/../.env", "src/notes.txt"].map((path) => ({ type: "file", path }));

describe("a program without the owner token", () => {
  it.each(mentions)("cannot attach a secret file by mentioning it: %j", (text) => {
    expect(() => host.orchestrator.send({ text }, false)).toThrow(expect.objectContaining({ code: "unauthorized" }) as Error);
    expect(host.orchestrator.list({ limit: 10 }).items).toEqual([]);
    expect(model.requests).toEqual([]);
  });

  it.each(attached)("cannot attach a secret file: %j", (attachment) => {
    expect(() => host.orchestrator.send({ text: "Hi.", attachments: [attachment] }, false)).toThrow(
      expect.objectContaining({ code: "unauthorized" }) as Error,
    );
    expect(host.orchestrator.list({ limit: 10 }).items).toEqual([]);
  });

  it("cannot steer a task to one, continue with one or edit a message to one, and the task goes on", async () => {
    const { questId, messageId } = host.orchestrator.send({ text: "Hi." }, false);
    const unauthorized = expect.objectContaining({ code: "unauthorized" }) as Error;
    expect(() => host.orchestrator.steer(questId, "@.env", false)).toThrow(unauthorized);
    expect(() => host.orchestrator.send({ questId, text: "@.env", replaceMessageId: messageId }, false)).toThrow(unauthorized);
    await host.reaches(questId, "done", "failed");
    expect(() => host.orchestrator.send({ questId, text: "@.env" }, false)).toThrow(unauthorized);
    await expect(
      host.orchestrator.run({ message: "@.env", crusader_mode: false }, new AbortController().signal, false),
    ).rejects.toMatchObject({
      code: "unauthorized",
    });
    expect(host.orchestrator.get(questId).quest.status).toBe("done");
    expect(JSON.stringify(model.requests)).not.toContain("HIDDEN_NAME");
  });

  it("attaches ordinary files", async () => {
    const { questId } = host.orchestrator.send({ text: "See @src/a.ts", attachments: [{ type: "file", path: "src/a.ts" }] }, false);
    await host.reaches(questId, "done", "failed");
    expect(JSON.stringify(model.requests)).toContain("export {};");
  });
});

it("the owner attaches a secret file", async () => {
  const { questId } = host.orchestrator.send({ text: "See @.env" }, true);
  await host.reaches(questId, "done", "failed");
  expect(JSON.stringify(model.requests)).toContain("HIDDEN_NAME");
});
