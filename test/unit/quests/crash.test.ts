// @module-tag processes
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Intent } from "../../../agent-server/contract/governance.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { type Effect, recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, done, scriptedModels } from "../../support/quests/scripted-models.ts";

/** Answers of the model. It requests the first step that the conversation does not contain yet. */
const plan: [tool: string, path: string][][] = [
  [
    ["read_file", "one"],
    ["read_file", "two"],
  ],
  [
    ["write_file", "three"],
    ["delete_file", "four"],
    ["write_file", "five"],
  ],
  [["ask_owner", "six"]],
  [["write_file", "seven"]],
];

const model: Answer = (request) => {
  const shown = JSON.stringify(request.messages);
  const next = plan.find((wanted) => !shown.includes(`"path":"${wanted[0]?.[1] ?? ""}"`));
  if (next === undefined) return [{ type: "text", text: "Finished." }, done([{ type: "text", text: "Finished." }], "end")];
  const content = next.map(([name, path]) => ({ type: "tool_call" as const, id: `call-${path}`, name, args: { path } }));
  return [{ type: "text", text: "Next." }, done([{ type: "text", text: "Next." }, ...content], "tool_calls")];
};

interface Snapshot {
  database: Buffer;
  effects: string[];
  messageIds: string[];
}

let folders: ReturnType<typeof makeFolders>;
beforeEach(() => {
  folders = makeFolders();
});
afterEach(() => folders.remove());

/** A host that grants every approval and answers every question; calls `look` at every step. */
function openWatched(at: ReturnType<typeof makeFolders>, effects: string[], look: () => void) {
  const note = (path: string): void => {
    look();
    effects.push(path);
    look();
  };
  const pathOf = (args: unknown): string => (args as { path: string }).path;
  const plain: Effect = (call) => {
    note(pathOf(call.args));
    return { text: "done" };
  };
  const recorded = recordingTools({
    read_file: { tier: "T0", effect: plain },
    write_file: { tier: "T1", effect: plain },
    delete_file: {
      tier: "T3",
      effect: async (call) => {
        const intent: Intent = { capability: "file_ops", action: "delete", args: { path: pathOf(call.args) }, mode: "normal" };
        const authorization = await host.governance.authorize(
          intent,
          { title: "Delete", detail: "Delete" },
          {
            quest: call.quest,
            parent: call.parent,
            signal: call.signal,
            onWaiting: ({ id }) => call.onUpdate?.({ status: "waiting", approvalId: id, tier: "T3" }),
          },
        );
        host.governance.redeem(authorization, intent);
        note(pathOf(call.args));
        return { text: "deleted" };
      },
    },
    ask_owner: {
      tier: "T0",
      capability: "quest",
      effect: async (call) => ({ text: (await call.askOwner?.("Which?", undefined, call.signal)) ?? "" }),
    },
  });
  const scripted = scriptedModels(Array.from({ length: 20 }, () => model));
  const host = openHost(at, scripted.models, recorded.tools);

  async function untilDone(questId: string): Promise<void> {
    for (;;) {
      const { status, waitingFor } = await host.reaches(questId, "waiting", "done", "failed");
      if (status !== "waiting" || waitingFor === null) {
        expect(status).toBe("done");
        return;
      }
      look();
      if (waitingFor.kind === "approval") host.governance.approvals.decide(waitingFor.id, "allow_once");
      else host.orchestrator.answer(questId, waitingFor.id, "this one");
      look();
      await host.when(() => host.orchestrator.get(questId).quest.waitingFor?.id !== waitingFor.id);
    }
  }
  return { ...host, untilDone };
}

it("runs no tool twice and loses no message, whichever step the host stops at", async () => {
  const snapshots: Snapshot[] = [];
  const effects: string[] = [];
  let questId = "";
  const take = (): void => {
    const ids = first.storage.db.prepare<[], { id: string }>("SELECT id FROM messages").all();
    if (ids.length === 0) return;
    snapshots.push({ database: first.storage.db.serialize(), effects: [...effects], messageIds: ids.map(({ id }) => id) });
  };
  const first = openWatched(folders, effects, take);
  let seen = 0;
  const watch = (): boolean => {
    // Every committed step emits exactly one event.
    if (first.events.length > seen) take();
    seen = first.events.length;
    return questId !== "" && first.orchestrator.get(questId).quest.status === "done";
  };
  const finished = first.when(watch);
  questId = first.orchestrator.send({ text: "Do it." }).questId;
  await first.untilDone(questId);
  await finished;
  await first.close();
  expect([...effects].sort()).toEqual(["five", "four", "one", "seven", "three", "two"]);
  expect(snapshots.length).toBeGreaterThan(30);

  for (const [index, snapshot] of snapshots.entries()) {
    const at = makeFolders();
    try {
      writeFileSync(join(at.dataDir, "lancelot.sqlite"), snapshot.database);
      const after = [...snapshot.effects];
      const second = openWatched(at, after, () => undefined);
      second.storage.db.prepare("UPDATE quests SET host_id = 'gone', workspace = ?").run(at.workspace);
      second.orchestrator.reconcile();
      const { quest } = second.orchestrator.get(questId);
      if (quest.status !== "done") {
        expect(quest.status).toBe("interrupted");
        second.orchestrator.resume(questId);
        await second.untilDone(questId);
      }
      const { messages } = second.orchestrator.get(questId);
      await second.close();
      expect(after, `step ${String(index)}`).toHaveLength(new Set(after).size);
      const kept = new Set(messages.map(({ id }) => id));
      expect(snapshot.messageIds.filter((id) => !kept.has(id))).toEqual([]);
      expect(
        messages.every(
          ({ open, parts }) =>
            !open && parts.every((part) => part.type !== "tool" || !["queued", "running", "waiting"].includes(part.status)),
        ),
      ).toBe(true);
      const message = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
      expect(message.filter((text) => text === "Finished.")).toHaveLength(1);
    } finally {
      at.remove();
    }
  }
});
