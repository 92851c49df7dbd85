import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Artifact, sectionId } from "../../../agent-server/contract/artifacts.ts";
import type { Message, Part, ReasoningPart } from "../../../agent-server/contract/chat.ts";
import type { PlanArtifact } from "../../../agent-server/contract/plans.ts";
import { methods, type ParamsIn } from "../../../agent-server/contract/table.ts";
import { artifactHandlers } from "../../../agent-server/plans/artifacts/artifact-list.ts";
import { createPlanStore, plansMigrations } from "../../../agent-server/plans/plan-store.ts";
import { createAnswerReader } from "../../../agent-server/quests/answer-messages.ts";
import { createQuestStore } from "../../../agent-server/quests/quest-store.ts";
import { questsMigrations } from "../../../agent-server/quests/quests.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "../../support/migrated-storage.ts";
import { makeFolders } from "../../support/quests/harness.ts";
import { samplePlan } from "../../support/webview-harness/plan-samples.ts";
import { sampleTool } from "../../support/webview-harness/samples.ts";

const workspace = "/shop";
let folders: ReturnType<typeof makeFolders>;
let storage: Storage;
let seconds: number;

beforeEach(() => {
  folders = makeFolders();
  storage = openMigratedStorage({ dataDir: folders.dataDir, migrations: [...questsMigrations, ...plansMigrations] });
  seconds = 0;
});
afterEach(() => {
  storage.close();
  folders.remove();
});

function open() {
  // Every second of the clock is used for several rows, so that pages break within one.
  const now = (): Date => new Date(Date.parse("2026-01-01T00:00:00.000Z") + Math.floor((seconds += 0.4)) * 1_000);
  const emit = (): void => undefined;
  const quests = createQuestStore({ storage, emit, now });
  const plans = createPlanStore({ storage, emit, workspace, now });
  const handlers = artifactHandlers({ quests: { answers: createAnswerReader({ storage, workspace }) }, store: plans });
  const create = (title: string, more: Partial<Parameters<typeof quests.create>[0]> = {}): string =>
    quests.create({ workspace, title, mode: "normal", tokenLimit: 1, ...more });
  const say = (questId: string, text: string, more: { role?: Message["role"]; open?: boolean; extra?: Part[] } = {}): string =>
    quests.addMessage({
      ...{ questId, role: more.role ?? "assistant", parts: [{ type: "text", text }, ...(more.extra ?? [])] },
      ...(more.open === undefined ? {} : { open: more.open }),
    }).id;
  const plan = (questId: string, id: string, patch: Partial<PlanArtifact> = {}): PlanArtifact =>
    plans.put(samplePlan({ id, questId, createdAt: now().toISOString(), ...patch }));
  const list = async (params: ParamsIn<"artifacts.list"> = {}) => {
    const { signal } = new AbortController();
    const result = await handlers["artifacts.list"](methods["artifacts.list"].params.parse(params), { owner: false, signal });
    return methods["artifacts.list"].result.parse(result);
  };
  const all = async (params: ParamsIn<"artifacts.list"> = {}): Promise<{ items: Artifact[]; sizes: number[] }> => {
    const items: Artifact[] = [];
    const sizes: number[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await list({ ...params, ...(cursor === undefined ? {} : { cursor }) });
      items.push(...page.items);
      sizes.push(page.items.length);
      cursor = page.nextCursor;
      if (cursor === undefined) return { items, sizes };
    }
  };
  return { quests, create, say, plan, list, all };
}

const reasoning = (patch: Partial<ReasoningPart> = {}): ReasoningPart => ({
  ...{ type: "reasoning", strategy: "\nRead first.\nThen write.", risks: ["Slow"], gaps: ["no browser"], thinking: "secret thoughts" },
  ...{ experiences: 0, receiptId: null, ...patch },
});
const risks = "## Risks\n\n```\n## no heading\n```\n| a |\n";

describe("the artifacts of tasks", () => {
  it("are the verbose sections of answers, byte for byte, plans, and reasoning, newest first", async () => {
    const { quests, create, say, plan, list } = open();
    const questId = create("Fix the total");
    const reasoned = quests.addMessage({ questId, role: "user", parts: [reasoning()] });
    plan(questId, "plan-1", { status: "done", goal: "Include discounts" });
    const answer = say(questId, `Done.\n\n${risks}## Result\nAll.\n## Test plan\nRun it.`);
    const { items, nextCursor } = await list();
    expect(nextCursor).toBeUndefined();
    expect(items.map(({ id, kind, title }) => [id, kind, title])).toEqual([
      [sectionId(answer, 0, 0), "section", "Risks"],
      [sectionId(answer, 0, 1), "section", "Test plan"],
      ["plan:plan-1", "plan", "Include discounts"],
      [`reasoning:${reasoned.id}:0`, "reasoning", "Read first."],
    ]);
    expect(items.map(({ questId: of, questTitle }) => [of, questTitle])).toEqual(items.map(() => [questId, "Fix the total"]));
    expect(items.map(({ messageId, planStatus }) => messageId ?? planStatus)).toEqual([answer, answer, "done", reasoned.id]);
    expect(items.slice(0, 2).map(({ text }) => text)).toEqual([risks, "## Test plan\nRun it."]);
    for (const part of ["Include discounts", "Write b", "Push it", "`b.txt` exists", "Slow"]) expect(items[2]?.text).toContain(part);
    for (const part of ["Then write.", "Slow", "no browser"]) expect(items[3]?.text).toContain(part);
    expect(items[3]?.text).not.toContain("secret thoughts");
  });

  it.each([
    ["an open message", { open: true }],
    ["a message that called a tool", { extra: [sampleTool()] }],
    ["the user's words", { role: "user" as const }],
  ])("are not taken from %s", async (_, more) => {
    const { create, say, list } = open();
    say(create("A"), `Text.\n\n${risks}`, more);
    expect((await list()).items).toEqual([]);
  });

  it("are those of this workspace, and of a sub-task only by its id", async () => {
    const { create, say, plan, all } = open();
    const mine = create("Mine");
    const other = create("Other", { workspace: "/other" });
    const part = create("Part", { of: { parentId: mine, soulScope: { name: "part" } } });
    for (const id of [mine, other, part]) say(id, `Text.\n\n${risks}`);
    plan(other, "plan-other");
    plan(mine, "plan-mine");
    const ids = async (questId?: string) => (await all(questId === undefined ? {} : { questId })).items.map((item) => item.questId);
    expect(await ids()).toEqual([mine, mine]);
    expect(await ids(mine)).toEqual([mine, mine]);
    expect(await ids(part)).toEqual([part]);
    expect(await ids(other)).toEqual([]);
    expect(await ids("none")).toEqual([]);
  });

  it("are found by words of their text, title and task, in any case and order", async () => {
    const { create, say, plan, list } = open();
    say(create("Fix the total"), `Text about apples.\n\n## Risks\nRounding of CENTS.\n## Estimate\nOne hour.`);
    plan(create("Move the shop"), "plan-1", { goal: "Rename it" });
    const titles = async (query: string) => (await list({ query })).items.map(({ title }) => title);
    expect(await titles("cents rounding")).toEqual(["Risks"]);
    expect(await titles("TOTAL hour")).toEqual(["Estimate"]);
    expect(await titles("shop rename")).toEqual(["Rename it"]);
    expect(await titles("  ")).toHaveLength(3);
    expect(await titles("apples")).toEqual([]);
    expect(await titles("%")).toEqual([]);
  });

  it.each([1, 2, 3, 7, 200])("are listed once each in pages of %i, within an answer too", async (limit) => {
    const { create, say, plan, all } = open();
    const questId = create("A");
    for (let index = 0; index < 8; index += 1) {
      say(questId, `Text.\n\n## Risks\n${index}\n## Context\n${index}\n## Estimate\n${index}`);
      say(questId, "Nothing special.");
      plan(questId, `plan-${index}`);
    }
    const whole = await all();
    const { items, sizes } = await all({ limit });
    expect(items).toEqual(whole.items);
    expect(new Set(items.map(({ id }) => id)).size).toBe(32);
    expect(items.map(({ at }) => at)).toEqual(
      items
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    );
    expect(sizes).toEqual([...Array.from({ length: Math.ceil(32 / limit) - 1 }, () => limit), 32 - limit * (Math.ceil(32 / limit) - 1)]);
  });

  it("end a page that becomes too large, and never cut an artifact", async () => {
    const { create, say, all } = open();
    const questId = create("A");
    for (const letter of ["a", "b", "c"]) say(questId, `Text.\n\n## Risks\n${letter.repeat(600_000)}`);
    const { items, sizes } = await all();
    expect(sizes).toEqual([1, 1, 1]);
    expect(items.map(({ text }) => text.length)).toEqual([600_009, 600_009, 600_009]);
  });

  it("are searched in bounded steps: a page may be empty and continue", async () => {
    const { create, say, all } = open();
    const questId = create("A");
    storage.transaction(() => {
      say(questId, `Text.\n\n## Risks\nThe needle.`);
      for (let index = 0; index < 1_500; index += 1) say(questId, `Text ${index}.`);
    });
    const { items, sizes } = await all({ query: "needle" });
    expect(items.map(({ title }) => title)).toEqual(["Risks"]);
    expect(sizes).toEqual([0, 1]);
  });

  it("have no page for a cursor of another list", async () => {
    const { list } = open();
    for (const cursor of ["", "x", Buffer.from('["a","b"]').toString("base64url"), Buffer.from("null").toString("base64url")])
      await expect(list({ cursor })).rejects.toMatchObject({ code: "invalid_params" });
  });
});
