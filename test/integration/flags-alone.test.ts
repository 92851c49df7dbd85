import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Message, Part } from "../../agent-server/contract/chat.ts";
import type { Receipt } from "../../agent-server/contract/receipts.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { type CallKind, kindOf, offers, playTasks } from "../support/orchestration/played-model.ts";
import { announcement, lie, type PlayedTask, playedTasks, startFile, type TaskId } from "../support/orchestration/played-tasks.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

const flags = ["UNIFIED_CLASSIFICATION", "CLAIM_VERIFICATION", "STRUCTURED_OUTPUT", "DEEP_REASONING_LOOP"] as const;
type Setting = Record<(typeof flags)[number], boolean>;

const defaults: Setting = { UNIFIED_CLASSIFICATION: true, CLAIM_VERIFICATION: true, STRUCTURED_OUTPUT: true, DEEP_REASONING_LOOP: false };
const none: Setting = { UNIFIED_CLASSIFICATION: false, CLAIM_VERIFICATION: false, STRUCTURED_OUTPUT: false, DEEP_REASONING_LOOP: false };
/** Only the default of deep reasoning is off: with it alone off, the flags are at their defaults. */
const settings: readonly (readonly [string, Setting])[] = [
  ...flags.map((flag) => [`without ${flag}`, { ...defaults, [flag]: false }] as const),
  ...flags.map((flag) => [`with ${flag} alone`, { ...none, [flag]: true }] as const),
  ["with all of them", { ...defaults, DEEP_REASONING_LOOP: true }],
];

interface Ran {
  task: PlayedTask;
  status: string;
  messages: readonly Message[];
  receipts: readonly Receipt[];
  kinds: readonly CallKind[];
  offersReport: boolean;
}

let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
let window: Window;
let tasks: PlayedTask[] = [];

beforeAll(async () => {
  folders = makeFolders();
  server = await startModelServer({ script: playTasks(() => tasks) });
  useModelServer(folders.dataDir, server.url("openai_compatible"));
  window = await openWindow({ ...folders, posture: "autonomous" });
});
afterAll(async () => {
  await window.close();
  await server.close();
  folders.remove();
});

async function run(task: PlayedTask): Promise<Ran> {
  const before = server.requests.length;
  const { questId } = await window.call("chat.send", { text: task.request });
  const get = () => window.call("quests.get", { id: questId });
  // Only what changes a quest is looked at: every other event of so many tasks would cost a reading of all messages.
  await new Promise<void>((resolve, reject) => {
    const check = (status: string): void => {
      if (status !== "active") resolve();
    };
    window.events.listen(({ topic, payload }) => {
      if (topic === "quest" && payload.id === questId) check(payload.status);
    });
    get().then(({ quest: { status } }) => check(status), reject);
  });
  const { quest, messages } = await get();
  const { items } = await window.call("receipts.search", { questId, limit: 500 });
  const requests = server.requests.slice(before);
  return {
    ...{ task, status: quest.status, messages, receipts: items },
    kinds: requests.map(kindOf),
    offersReport: requests.some((request) => kindOf(request) === "work" && offers(request, "report_outcome")),
  };
}

const partsOf = <T extends Part["type"]>({ messages }: Ran, type: T) =>
  messages.flatMap(({ parts }) => parts.filter((part): part is Extract<Part, { type: T }> => part.type === type));
const textsOf = (ran: Ran): string[] =>
  ran.messages
    .filter(({ role }) => role === "assistant")
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
const claimsOf = (ran: Ran): string[] => partsOf(ran, "notice").flatMap(({ claims }) => (claims ?? []).map(({ kind }) => kind));
const named = ({ receipts }: Ran, name: string): Receipt[] => receipts.filter(({ actionName }) => actionName === name);

describe.each(settings)("%s", (_, setting) => {
  const ran = new Map<TaskId, Ran>();
  const of = (id: TaskId): Ran => {
    const found = ran.get(id);
    if (found === undefined) throw new Error(`${id} did not run`);
    return found;
  };
  const count = (id: TaskId, kind: CallKind): number => of(id).kinds.filter((one) => one === kind).length;

  beforeAll(async () => {
    for (const name of flags) await window.call("flags.set", { name, enabled: setting[name] });
    const folder = `part${String(settings.findIndex(([, one]) => one === setting))}`;
    mkdirSync(join(folders.workspace, folder));
    writeFileSync(join(folders.workspace, folder, startFile.name), startFile.text);
    tasks = playedTasks(folder);
    for (const task of tasks) ran.set(task.id, await run(task));
  });

  it("ends every task with its work done, denies nothing, and keeps the ledger whole", async () => {
    for (const one of ran.values()) {
      expect([one.task.id, one.status]).toEqual([one.task.id, "done"]);
      const tools = partsOf(one, "tool");
      expect(tools.filter(({ status }) => status !== "success").map(({ title, status }) => [title, status])).toEqual([]);
      const isLeft = one.task.id === "announcement" && !setting.CLAIM_VERIFICATION;
      const written = tools.flatMap(({ tool, args }) => (tool === "write_file" ? [args["path"]] : []));
      expect(written).toEqual(isLeft ? [] : one.task.writes.map(({ path }) => path));
      expect(textsOf(one)).not.toEqual([]);
    }
    expect(await window.call("receipts.verify", {})).toMatchObject({ ok: true });
  });

  it("classifies an uncertain request by one call, and others by none", () => {
    const on = setting.UNIFIED_CLASSIFICATION;
    for (const { task, kinds, receipts } of ran.values()) {
      expect([task.id, kinds.filter((kind) => kind === "intent").length]).toEqual([task.id, on && task.id === "uncertain" ? 1 : 0]);
      expect(receipts.filter(({ actionName }) => actionName === "route")).toHaveLength(on ? 1 : 0);
    }
    if (on) expect(named(of("uncertain"), "route")[0]?.outputs).toMatchObject({ method: "model", route: "loop" });
  });

  it("plans, executes and verifies what has several steps or is risky", () => {
    const on = setting.UNIFIED_CLASSIFICATION;
    for (const id of ["steps", "risky"] as const) {
      expect(partsOf(of(id), "plan")).toHaveLength(on ? 1 : 0);
      // The model reads a file before it plans the one.
      expect(count(id, "plan")).toBe(on ? (of(id).task.reads === undefined ? 1 : 2) : 0);
      expect(named(of(id), "plan.step").map(({ status }) => status)).toEqual(on ? of(id).task.writes.map(() => "success") : []);
    }
    // Evidence decides the criteria of the one; one of the other needs a judgement.
    expect([count("steps", "verdicts"), count("risky", "verdicts")]).toEqual([0, on ? 1 : 0]);
  });

  it("thinks once before a complex or risky request", () => {
    const on = setting.DEEP_REASONING_LOOP;
    const isThought = (id: TaskId): boolean => on && (id === "risky" || (id === "steps" && setting.UNIFIED_CLASSIFICATION));
    for (const one of ran.values()) {
      const expected = isThought(one.task.id) ? 1 : 0;
      expect([one.task.id, count(one.task.id, "reasoning")]).toEqual([one.task.id, expected]);
      expect(partsOf(one, "reasoning")).toHaveLength(expected);
    }
    if (on) expect(of("risky").kinds[0]).toBe("reasoning");
  });

  it("names below an answer what is not recorded, and leaves true answers as they are", () => {
    const on = setting.CLAIM_VERIFICATION;
    expect(claimsOf(of("false-claim"))).toEqual(on ? ["edit", "tests"] : []);
    expect(textsOf(of("false-claim"))).toEqual([lie]);
    for (const one of ran.values()) if (one.task.id !== "false-claim") expect([one.task.id, claimsOf(one)]).toEqual([one.task.id, []]);
    expect(named(of("announcement"), "governor.announcement-returned")).toHaveLength(on ? 1 : 0);
    expect(textsOf(of("announcement"))[0]).toBe(announcement);
  });

  it("offers the report, and compares its actions with receipts", () => {
    const on = setting.STRUCTURED_OUTPUT;
    for (const one of ran.values()) expect([one.task.id, one.offersReport]).toEqual([one.task.id, on]);
    expect(partsOf(of("true-claim"), "outcome").map(({ actions }) => actions.map(({ recorded }) => recorded))).toEqual(on ? [[true]] : []);
    expect(partsOf(of("false-claim"), "outcome").map(({ actions }) => actions.map(({ recorded }) => recorded))).toEqual(
      on ? [[false]] : [],
    );
  });

  it("adds no call to what rules decide and nothing has to be corrected in", () => {
    for (const id of ["question", "look", "edit", "true-claim", "false-claim"] as const)
      expect(new Set(of(id).kinds)).toEqual(new Set(["work"]));
    expect(of("edit").kinds).toHaveLength(3);
    expect([of("true-claim").kinds.length, of("false-claim").kinds.length]).toEqual([2, 1]);
  });
});
