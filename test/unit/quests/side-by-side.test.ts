import { describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, done, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

/** An answer that waits until it is released. `asked` resolves when the model was asked for it. */
function held(text: string): { answer: Answer; asked: Promise<void>; release(): void } {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  return {
    answer: async function* (_request, signal) {
      const stop = (): void => gate.reject(new LancelotError("cancelled", "Stopped."));
      signal.addEventListener("abort", stop, { once: true });
      asked.resolve();
      await gate.promise;
      yield { type: "text", text };
      yield done([{ type: "text", text }], "end");
    },
    asked: asked.promise,
    release: gate.resolve,
  };
}

function start(script: Answer[], limits: { tasks: number; awake?: () => void }) {
  const scripted = scriptedModels(script);
  const { tools } = recordingTools({
    ask_owner: {
      tier: "T0",
      capability: "quest",
      effect: async (call) => ({ text: (await call.askOwner?.("Which?", undefined, call.signal)) ?? "" }),
    },
  });
  const host = openHost(folders, scripted.models, tools, {
    maxRunningTasks: () => limits.tasks,
    ...(limits.awake === undefined ? {} : { requireAwake: limits.awake }),
  });
  open.push(host);
  const queued = (questId: string): boolean => host.orchestrator.get(questId).quest.queued === true;
  return { ...host, scripted, queued, send: (text: string) => host.orchestrator.send({ text }).questId };
}

describe("tasks side by side", () => {
  it("wait for their turn, visibly, and start in order", async () => {
    const first = held("One.");
    const second = held("Two.");
    const { send, queued, reaches, when, orchestrator, scripted } = start([first.answer, second.answer, says("Three.")], { tasks: 1 });
    const [a, b, c] = [send("A"), send("B"), send("C")];
    expect([a, b, c].map(queued)).toEqual([false, true, true]);
    expect(orchestrator.get(b).quest.status).toBe("active");
    first.release();
    await reaches(a, "done");
    await when(() => !queued(b));
    expect([queued(b), queued(c)]).toEqual([false, true]);
    second.release();
    await reaches(c, "done");
    expect(scripted.requests).toHaveLength(3);
  });

  it("that wait for the user leave their place to others", async () => {
    const { send, queued, reaches, orchestrator } = start([calls(["ask_owner", {}]), says("Two."), says("One.")], { tasks: 1 });
    const a = send("A");
    const b = send("B");
    expect(queued(b)).toBe(true);
    await reaches(b, "done");
    const { waitingFor } = orchestrator.get(a).quest;
    expect(waitingFor?.kind).toBe("answer");
    orchestrator.answer(a, waitingFor?.id ?? "", "This one.");
    await reaches(a, "done");
  });

  it("that fail leave their place too", async () => {
    const failing: Answer = () => {
      throw new LancelotError("unauthorized", "The key is not valid.");
    };
    const { send, reaches } = start([failing, says("Two.")], { tasks: 1 });
    const [a, b] = [send("A"), send("B")];
    await reaches(b, "done");
    expect((await reaches(a, "failed")).status).toBe("failed");
  });

  it("are stopped before their turn, and never start", async () => {
    const first = held("One.");
    const { send, queued, reaches, orchestrator, scripted } = start([first.answer, says("Three.")], { tasks: 1 });
    const [a, b, c] = [send("A"), send("B"), send("C")];
    expect((await orchestrator.cancel(b)).status).toBe("cancelled");
    expect(queued(b)).toBe(false);
    first.release();
    await reaches(a, "done");
    await reaches(c, "done");
    expect(scripted.requests).toHaveLength(2);
    expect(orchestrator.get(b).quest.status).toBe("cancelled");
  });

  it("read the messages that came before their turn", async () => {
    const first = held("One.");
    const { send, reaches, orchestrator, scripted } = start([first.answer, says("Two.")], { tasks: 1 });
    const [a, b] = [send("A"), send("B")];
    orchestrator.steer(b, "And the tests.");
    first.release();
    await reaches(a, "done");
    await reaches(b, "done");
    expect(JSON.stringify(scripted.requests[1]?.messages)).toContain("And the tests.");
  });

  it("that were queued are interrupted by the end of the host, and run once after a resume", async () => {
    const first = held("One.");
    const { send, queued, close } = start([first.answer], { tasks: 1 });
    send("A");
    const b = send("B");
    expect(queued(b)).toBe(true);
    await close();
    open.length = 0;
    const next = start([says("Two.")], { tasks: 1 });
    expect(next.orchestrator.get(b).quest).toMatchObject({ status: "interrupted" });
    expect(next.queued(b)).toBe(false);
    next.orchestrator.resume(b);
    await next.reaches(b, "done");
    expect(next.scripted.requests).toHaveLength(1);
  });

  it("start when the limit is raised", async () => {
    const limits = { tasks: 1 };
    const first = held("One.");
    const { send, reaches, orchestrator } = start([first.answer, says("Two.")], limits);
    const [a, b] = [send("A"), send("B")];
    limits.tasks = 2;
    orchestrator.refreshQueue();
    await reaches(b, "done");
    first.release();
    await reaches(a, "done");
  });
});

describe("a host that sleeps", () => {
  it("starts no task, completes what runs, and takes messages and answers for it", async () => {
    let asleep = false;
    const awake = (): void => {
      if (asleep) throw new LancelotError("unavailable", "Asleep.");
    };
    const first = held("One.");
    const { send, reaches, orchestrator } = start(
      [first.answer, says("Then."), calls(["ask_owner", {}]), says("Answered."), says("Awake.")],
      {
        tasks: 4,
        awake,
      },
    );
    const a = send("A");
    await first.asked;
    asleep = true;
    expect(() => send("B")).toThrow(expect.objectContaining({ code: "unavailable" }));
    expect(orchestrator.list({ limit: 9 }).items).toHaveLength(1);
    orchestrator.steer(a, "Also this.");
    first.release();
    await reaches(a, "done");
    expect(() => orchestrator.send({ text: "More.", questId: a })).toThrow(expect.objectContaining({ code: "unavailable" }));
    asleep = false;
    const c = send("C");
    const { waitingFor } = await reaches(c, "waiting");
    asleep = true;
    orchestrator.answer(c, waitingFor?.id ?? "", "Yes.");
    await reaches(c, "done");
    asleep = false;
    await reaches(send("D"), "done");
  });

  it("resumes nothing until it is awake", async () => {
    const never = held("Never.");
    let asleep = false;
    const { send, reaches, orchestrator } = start([never.answer, says("Now.")], {
      tasks: 4,
      awake: () => {
        if (asleep) throw new LancelotError("unavailable", "Asleep.");
      },
    });
    const a = send("A");
    await never.asked;
    await orchestrator.cancel(a);
    asleep = true;
    expect(() => orchestrator.resume(a)).toThrow(expect.objectContaining({ code: "unavailable" }));
    expect(orchestrator.get(a).quest.status).toBe("cancelled");
    asleep = false;
    orchestrator.resume(a);
    await reaches(a, "done");
  });
});
