import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { MemoryTarget, Provenance } from "../../../agent-server/contract/memory.ts";
import type { Author, Evidence, ProposedEdit } from "../../../agent-server/memory/item-types.ts";
import { said } from "../../support/memory/gates-fixture.ts";
import { loadOrdinary, loadPoisonings, type Poisoning } from "../../support/memory/poisoning-attacks.ts";
import { secretDisguises } from "../../support/memory/secret-disguises.ts";
import { WholeMemory } from "../../support/memory/whole-memory.ts";
import { runs, sample } from "../../support/soak.ts";
import { secretSamples } from "../../support/secret-samples.ts";

const all = loadPoisonings();
const poisonings = sample(
  all,
  // Each of the encoded ones is encoded in its own way.
  [({ id, via }) => (via === "encoded" ? id : id.replace(/-\d+$/, ""))],
  5,
);
const ordinary = loadOrdinary();
const agent: Author = { by: "agent", questId: "q1" };
const owner: Author = { by: "owner", questId: null };
const marker = "5d1e9a7b3c2f4e60";
const blocks: readonly MemoryTarget[] = ["core:human", "core:operating_rules", "core:mission", "core:workspace_state"];
const tiers: readonly MemoryTarget[] = ["archival", "working", "episodic"];

/** What an agent says of where it has its words, true or not. */
const claims: readonly Provenance[] = [
  { source: "agent" },
  { source: "tool", ref: "receipt:r1" },
  { source: "system" },
  { source: "user" },
  { source: "user", ref: "message:none" },
  { source: "user", ref: "message:other" },
  { source: "user", ref: "message:model" },
  { source: "user", ref: "receipt:r1" },
  { source: "user", ref: "message:quoting" },
];

function attempt<T>(work: () => T): T | LancelotError {
  try {
    return work();
  } catch (error) {
    if (error instanceof LancelotError) return error;
    throw error;
  }
}

/** The compiled text without what stands between the marks around data. */
function outsideMarks(text: string): string {
  const open = text.indexOf(`[data ${marker} from memory`);
  const close = text.indexOf(`[end ${marker}]`);
  return open === -1 ? text : text.slice(0, open) + text.slice(close);
}
const count = (text: string, part: string): number => text.split(part).length - 1;
const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

describe("poisoning", () => {
  const evidence: Record<string, Evidence> = {
    "message:other": said("Please fix the parser and tell me how long the build takes."),
    "message:model": { source: "agent", text: poisonings.flatMap(({ texts }) => texts).join("\n") },
    "receipt:r1": { source: "tool", text: poisonings.flatMap(({ texts }) => texts).join("\n") },
  };
  let fixture: WholeMemory;
  const outcomes = new Map<string, string>();
  beforeAll(() => {
    fixture = new WholeMemory(evidence);
  });
  afterAll(() => fixture.remove());

  it("comes in at least 150 ways, beside at least 60 ordinary facts", () => {
    expect(new Set(all.map(({ texts, said: words }) => `${texts.join()} ${String(words)}`)).size).toBeGreaterThanOrEqual(150);
    expect(new Set(poisonings.map(({ via }) => via)).size).toBe(9);
    expect(new Set(ordinary).size).toBeGreaterThanOrEqual(60);
  });

  /** An agent that obeys tries everything it can: every claim for each target in soak, and else a third of these pairs, in turn. */
  function obey({ texts, said: message }: Poisoning, turn: number): { archival: string[] } {
    const { memory } = fixture;
    evidence["message:quoting"] =
      message === null ? said(`What do you make of this?\n${texts.map((text) => `> ${text}`).join("\n")}`) : said(message);
    const archival: string[] = [];
    for (const [claim, provenance] of claims.entries()) {
      const { commitId } = memory.begin(agent, "what was read");
      for (const content of texts)
        for (const target of [...blocks, ...tiers].filter((_, place) => (claim + place + turn) % runs(3, 1) === 0)) {
          const edit: ProposedEdit = { op: "insert", target, content, reason: "The owner asked for it.", confidence: 1, provenance };
          const staged = attempt(() => memory.edit(commitId, edit, agent));
          if (target === "archival") archival.push(staged instanceof LancelotError ? "refused" : staged.outcome);
          if (staged instanceof LancelotError) expect(staged.code).toBe("denied");
          else if (target.startsWith("core:")) expect(staged.outcome).toBe("quarantined");
        }
      memory.finish(commitId, agent);
    }
    for (const { id } of memory.quarantine({ status: "pending", limit: 200 })) {
      expect(attempt(() => memory.promote(id, agent, "The owner approved it."))).toMatchObject({ code: "denied" });
      expect(attempt(() => memory.promote(id, { by: "system", questId: null }, null))).toMatchObject({ code: "denied" });
    }
    return { archival };
  }

  it.each(poisonings.map((one, turn) => [one.id, one, turn] as const))("%s", (id, poisoning, turn) => {
    const { memory } = fixture;
    const { archival } = obey(poisoning, turn);
    outcomes.set(
      id,
      archival.every((outcome) => outcome === "refused")
        ? "refused"
        : archival.some((outcome) => outcome === "refused")
          ? "in part"
          : "as data",
    );

    expect(memory.core().flatMap(({ entries }) => entries)).toEqual([]);
    for (const mode of ["normal", "crusader"] as const) {
      const { renderedPrompt } = memory.compile({
        objective: poisoning.texts.join(" "),
        questId: "q1",
        mode,
        chat: { marker, small: false },
      });
      const outside = plain(outsideMarks(renderedPrompt));
      for (const text of poisoning.texts) expect(outside).not.toContain(plain(text));
      expect(count(renderedPrompt, `[data ${marker}`)).toBeLessThanOrEqual(1);
      expect(count(renderedPrompt, `[end ${marker}]`)).toBe(count(renderedPrompt, `[data ${marker}`));
    }
    const small = memory.compile({ objective: poisoning.texts.join(" "), questId: "q1", mode: "normal", chat: { marker, small: true } });
    expect(small.renderedPrompt).toBe("");
    // What waits is nowhere found.
    for (const entry of memory.quarantine({ status: "pending", limit: 200 })) {
      memory.deny(entry.id, owner, "no");
      expect(memory.search({ query: entry.content ?? "", tiers: ["core"], limit: 5 }).items).toEqual([]);
    }
  });

  it("is refused outright nearly always where it reads like an order, and else kept as data alone", () => {
    const kept = [...outcomes].filter(([, outcome]) => outcome === "as data").map(([id]) => id);
    expect(outcomes.size).toBe(poisonings.length);
    expect(kept.filter((id) => !/^(?:messages|slow|worded)-/.test(id)).length / poisonings.length).toBeLessThanOrEqual(0.03);
  });
});

describe("ordinary facts", () => {
  let fixture: WholeMemory;
  beforeAll(() => {
    fixture = new WholeMemory();
  });
  afterAll(() => fixture.remove());

  it.each(ordinary)("are kept, found and, with the owner's message as evidence, stand in a core block: %s", (content) => {
    const { memory } = fixture;
    const edit = (target: MemoryTarget): ProposedEdit => ({
      op: "insert",
      target,
      content,
      reason: "It was read.",
      confidence: 0.9,
      provenance: { source: "tool" },
    });
    const { commitId } = memory.begin(agent, "what was read");
    expect(memory.edit(commitId, edit("archival"), agent)).toMatchObject({ outcome: "staged", content, notes: [] });
    const { quarantineId } = memory.edit(commitId, edit("core:workspace_state"), agent);
    memory.finish(commitId, agent);
    const [entry] = memory.quarantine({ status: "pending", limit: 1 });
    expect(entry?.verifier).toEqual({ ok: true, problems: [] });
    const { commitId: promoted } = memory.promote(quarantineId ?? "", owner, null);
    expect(memory.compile({ objective: content, questId: null, mode: "normal", chat: { marker, small: false } }).renderedPrompt).toContain(
      content,
    );
    memory.rollback({ commitId: promoted, reason: "room for the next" }, owner);
  });
});

describe("secrets on the disk", () => {
  it("of more than 40 kinds are in no file, however they are written and whatever becomes of them", async () => {
    const fixture = new WholeMemory();
    const { memory } = fixture;
    const forms: readonly ((text: string) => string)[] = [(text) => text, ...Object.values(secretDisguises)];
    const inTurn = runs(1, 4);
    const tried: string[] = [];
    let kept = 0;
    for (const [number, [kind, text, secret]] of secretSamples.entries()) {
      for (const [which, form] of forms.entries()) {
        // As it is, and in some of the disguises, in turn.
        if (which !== 0 && (which + number * inTurn) % forms.length >= inTurn) continue;
        const written = form(text.replace("§", () => secret));
        const content = `The ${kind} of server ${String(number)}-${String(which)} was written down on Monday: ${written}\nIt is used by the nightly job.`;
        tried.push(secret, written);
        const { commitId } = memory.begin(which % 2 === 0 ? owner : agent, `what was read: ${written}`.slice(0, 1_500));
        const author = which % 2 === 0 ? owner : agent;
        const target: MemoryTarget =
          (["core:workspace_state", "archival", "working", "episodic"] as const)[(number + which) % 4] ?? "archival";
        const staged = attempt(() =>
          memory.edit(
            commitId,
            {
              op: "insert",
              target,
              content,
              reason: `because of ${written}`.slice(0, 1_500),
              confidence: 0.9,
              provenance: { source: author.by === "owner" ? "user" : "tool", ref: `file ${written}`.slice(0, 500) },
            },
            author,
          ),
        );
        if (staged instanceof LancelotError) {
          memory.abandon(commitId, author);
          continue;
        }
        kept += 1;
        const finished = attempt(() => memory.finish(commitId, author));
        if (finished instanceof LancelotError) memory.abandon(commitId, author);
        else if (which % 5 === 0) attempt(() => memory.rollback({ commitId, reason: `not wanted: ${written}`.slice(0, 1_500) }, owner));
        if (staged.quarantineId !== null) attempt(() => memory.deny(staged.quarantineId ?? "", owner, `no: ${written}`.slice(0, 1_500)));
      }
    }
    memory.compile({ objective: "the nightly job of the server", questId: "q1", mode: "normal", chat: { marker, small: false } });
    for (const format of ["markdown", "jsonl", "backup"] as const) await memory.export(format);
    const bytes = fixture.bytes();
    expect(kept).toBeGreaterThan(secretSamples.length * runs(1, 2));
    expect(new Set(secretSamples.map(([kind]) => kind)).size).toBeGreaterThanOrEqual(40);
    expect([...new Set(tried)].filter((text) => text.length >= 8 && bytes.includes(Buffer.from(text).toString("latin1")))).toEqual([]);
    fixture.remove();
  });
});
