import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryJob, MemoryJobName } from "../../../../agent-server/contract/memory.ts";
import { memoryMethods } from "../../../../agent-server/contract/memory-methods.ts";
import { Conversation, openUpkeepFixture, type UpkeepFixture, type UpkeepOptions } from "../../../support/memory/upkeep-fixture.ts";

const fixtures: UpkeepFixture[] = [];
let fixture: UpkeepFixture;
const open = (request: UpkeepOptions = {}): UpkeepFixture => {
  const made = openUpkeepFixture(request);
  fixtures.push(made);
  return made;
};
beforeEach(() => void (fixture = open()));
afterEach(() => {
  for (const one of fixtures.splice(0)) one.remove();
});
const go = () => new AbortController().signal;
const day = 86_400_000;

it("the names and the other name of a job are those of the contract", () => {
  expect(fixture.jobs.jobs().map((job) => MemoryJob.parse(job).name)).toEqual(MemoryJobName.options);
  expect(memoryMethods["memory.runJob"].params.parse({ name: "memory_cleanup" })).toEqual({ name: "memory_compact_working" });
  expect(memoryMethods["memory.runJob"].params.safeParse({ name: "memory_other" }).success).toBe(false);
});

describe("maintaining", () => {
  it("runs each job at its time, once, with a receipt each", async () => {
    await fixture.jobs.maintain(go());
    expect(fixture.receipts("memory_job_run").map(({ inputs }) => inputs["job"])).toEqual([...MemoryJobName.options].toReversed());
    expect(fixture.receipts("memory_job_run")).toEqual(
      expect.arrayContaining([expect.objectContaining({ questId: null, actionType: "system" })]),
    );
    await fixture.jobs.maintain(go());
    expect(fixture.receipts("memory_job_run")).toHaveLength(4);
    fixture.clock.now += 3_600_000;
    await fixture.jobs.maintain(go());
    expect(fixture.receipts("memory_job_run")).toHaveLength(5);
    fixture.clock.now += day;
    await fixture.jobs.maintain(go());
    expect(fixture.receipts("memory_job_run")).toHaveLength(9);
  });

  it("is done by one window at a time, and what it does is done for the others of the workspace", async () => {
    const other = open({ dataDir: fixture.dataDir });
    await Promise.all([fixture.jobs.maintain(go()), other.jobs.maintain(go()), fixture.jobs.maintain(go())]);
    await other.jobs.maintain(go());
    expect(fixture.receipts("memory_job_run")).toHaveLength(4);
    expect(fixture.receipts("memory_job_skipped")).toEqual([]);
  });

  it("of one workspace leaves that of another to its own windows", async () => {
    const other = open({ dataDir: fixture.dataDir, workspace: "/projects/b" });
    await fixture.jobs.maintain(go());
    expect(other.jobs.jobs().every(({ last }) => last === null)).toBe(true);
    await other.jobs.maintain(go());
    expect(fixture.receipts("memory_job_run")).toHaveLength(8);
  });

  it("does nothing while memory is turned off, or when it is stopped", async () => {
    const off = open({ enabled: () => false });
    await off.jobs.maintain(go());
    expect(off.jobs.jobs().every(({ last, nextAt }) => last === null && nextAt === null)).toBe(true);
    await fixture.jobs.maintain(AbortSignal.abort());
    expect(fixture.jobs.jobs().every(({ last }) => last === null)).toBe(true);
  });

  it("continues with the other jobs when one fails, and tries that one again at its next time", async () => {
    fixture.storage.db.exec("ALTER TABLE memory_words RENAME TO away");
    await fixture.jobs.maintain(go());
    expect(fixture.jobs.jobs().map(({ last }) => last?.status)).toEqual(["run", "run", "run", "failed"]);
    const [failed] = fixture.receipts("memory_job_failed");
    expect(failed).toMatchObject({ status: "failure", errorMessage: "An internal error stopped it; the log says more." });
    expect(fixture.reported.problems).toHaveLength(1);
    fixture.storage.db.exec("ALTER TABLE away RENAME TO memory_words");
    fixture.clock.now += day;
    await fixture.jobs.maintain(go());
    expect(fixture.jobs.jobs().map(({ last }) => last?.status)).toEqual(["run", "run", "run", "run"]);
  });
});

describe("a job that is run by hand", () => {
  it("is skipped while another window is at the jobs of the workspace, and says so", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let begun = (): void => undefined;
    const started = new Promise<void>((resolve) => (begun = resolve));
    const conversation = new Conversation();
    for (let index = 0; index < 12; index += 1) conversation.say("q1", "user", `words ${String(index)}`, index + 1);
    const slow = open({
      dataDir: fixture.dataDir,
      conversation,
      summarize: async () => {
        begun();
        await held;
        return "short";
      },
    });
    const running = slow.jobs.runJob("memory_summarize_episodic", go());
    await started;
    const skipped = await fixture.jobs.runJob("memory_decay_archival", go());
    expect(skipped.last).toMatchObject({ status: "skipped", detail: expect.stringContaining("Another window") as string });
    expect(skipped.nextAt).toBe(new Date(fixture.clock.now).toISOString());
    expect(fixture.receipts("memory_job_skipped")).toMatchObject([{ status: "cancelled", inputs: { job: "memory_decay_archival" } }]);
    release();
    expect((await running).last?.status).toBe("run");
    expect((await fixture.jobs.runJob("memory_decay_archival", go())).last?.status).toBe("run");
  });

  it("that is stopped is skipped, keeps its results, and continues the next time", async () => {
    const stop = new AbortController();
    const conversation = new Conversation();
    for (const questId of ["q1", "q2"]) conversation.say(questId, "user", `words of ${questId}`, 1);
    const stopping = open({ conversation });
    const { summarize } = stopping.episodes;
    stopping.episodes.summarize = async (questId, signal) => {
      const written = await summarize(questId, signal);
      stop.abort();
      return written;
    };
    expect((await stopping.jobs.runJob("memory_summarize_episodic", stop.signal)).last?.status).toBe("skipped");
    const summaries = () => stopping.items().filter(({ kind }) => kind === "summary").length;
    expect(summaries()).toBe(1);
    await stopping.jobs.maintain(go());
    expect(summaries()).toBe(2);
  });

  it("runs after the one that is running", async () => {
    const [first, second] = await Promise.all([
      fixture.jobs.runJob("memory_compact_working", go()),
      fixture.jobs.runJob("memory_decay_archival", go()),
    ]);
    expect([first.last?.status, second.last?.status]).toEqual(["run", "run"]);
  });
});

describe("summaries of tasks that ended", () => {
  it("are written for those that ended while nobody looked, and not for those that run", async () => {
    for (let index = 0; index < 1_200; index += 1)
      fixture.conversation.say(`q${String(index % 30)}`, "user", `words ${String(index)}`, 1_000 + Math.floor(index / 700));
    fixture.conversation.running.add("q3");
    const { last } = await fixture.jobs.runJob("memory_summarize_episodic", go());
    expect(last?.detail).toMatch(/29 .*29 summaries/u);
    expect(fixture.items().filter(({ kind }) => kind === "message")).toHaveLength(1_160);
    fixture.clock.now += day;
    expect((await fixture.jobs.runJob("memory_summarize_episodic", go())).last?.detail).toContain("No task ended");
  });
});

it("only the last runs are kept", async () => {
  for (let index = 0; index < 60; index += 1) {
    fixture.clock.now += 3_600_000;
    await fixture.jobs.runJob("memory_compact_working", go());
  }
  expect(fixture.storage.db.prepare("SELECT count(*) FROM memory_job_runs").pluck().get()).toBe(50);
});
