import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Part } from "../../../agent-server/contract/chat.ts";
import type { HostEvent } from "../../../agent-server/contract/events.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, done, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
let host: ReturnType<typeof openHost>;
beforeEach(() => {
  folders = makeFolders();
});
afterEach(async () => {
  space();
  await host.close();
  folders.remove();
});

const big = "word ".repeat(40_000);

/** SQLite refuses every page beyond these, with the error of a full disk. */
function full(): void {
  const [pages] = host.storage.db.pragma("page_count") as { page_count: number }[];
  host.storage.db.pragma(`max_page_count = ${String(pages?.page_count ?? 1)}`);
}
function space(): void {
  host.storage.db.pragma("max_page_count = 1000000");
}

function open(script: Answer[], effects: Parameters<typeof recordingTools>[0] = {}) {
  const scripted = scriptedModels(script);
  host = openHost(folders, scripted.models, recordingTools(effects).tools);
  return scripted;
}

const warned = (events: readonly HostEvent[]): Part[] =>
  events.flatMap((event) =>
    event.topic === "message" ? event.payload.parts.filter((part) => part.type === "notice" && part.level === "warning") : [],
  );
const textsOf = (questId: string): string[] =>
  host.orchestrator.get(questId).messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));

describe("a disk that is full", () => {
  it("while an answer arrives: the chat says so, and the answer is stored once there is space", async () => {
    const scripted = open([
      () => {
        full();
        return [{ type: "text", text: big }, done([{ type: "text", text: big }], "end")];
      },
    ]);
    const { questId } = host.orchestrator.send({ text: "Go." });
    await host.when(() => warned(host.events).length > 0);
    // Reading works meanwhile, although the text so far cannot be stored.
    expect(host.orchestrator.get(questId).quest.status).toBe("active");
    space();
    await host.reaches(questId, "done");
    expect(textsOf(questId)).toEqual(["Go.", big]);
    expect(scripted.requests).toHaveLength(1);
    // What could not be stored was shown only for as long as it was true.
    expect(host.orchestrator.get(questId).messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "notice"))).toEqual([]);
  });

  it("while a tool returns: its result is stored once there is space, and the call is made once", async () => {
    let times = 0;
    open([calls(["read_file", { path: "a" }]), says("Done.")], {
      read_file: {
        tier: "T0",
        effect: () => {
          times += 1;
          full();
          return { text: big };
        },
      },
    });
    const { questId } = host.orchestrator.send({ text: "Go." });
    await host.when(() => warned(host.events).length > 0);
    space();
    await host.reaches(questId, "done");
    expect(times).toBe(1);
    expect(JSON.stringify(host.orchestrator.get(questId).messages)).toContain("word word");
  });

  it("and a task that is stopped then: it ends, and can be resumed once there is space", async () => {
    const scripted = open([
      () => {
        full();
        return [{ type: "text", text: big }, done([{ type: "text", text: big }], "end")];
      },
      says("Again."),
    ]);
    const { questId } = host.orchestrator.send({ text: "Go." });
    await host.when(() => warned(host.events).length > 0);
    const stopped: unknown = await host.orchestrator.cancel(questId).catch((error: unknown) => error);
    if (stopped instanceof Error) {
      expect(stopped).toBeInstanceOf(LancelotError);
      expect(stopped).toMatchObject({ code: "unavailable", data: { reason: "SQLITE_FULL" } });
    }
    space();
    host.orchestrator.reconcile();
    expect(["cancelled", "interrupted"]).toContain(host.orchestrator.get(questId).quest.status);
    host.orchestrator.resume(questId);
    await host.reaches(questId, "done");
    expect(textsOf(questId).at(-1)).toBe("Again.");
    expect(scripted.requests).toHaveLength(2);
  });
});
