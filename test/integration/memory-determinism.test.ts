import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { day, noon } from "../support/memory/compiler-fixture.ts";
import { runs } from "../support/soak.ts";
import { objectives } from "../support/memory/remembered.ts";

// What is compiled is the same, byte for byte, for the same memory and the same words (requirement Y5, Must show 3 of issue 6).

const main = "test/support/memory/compile-process/main.ts";
const run = promisify(execFile);
const Compiled = z.object({ texts: z.array(z.string()), locale: z.string(), timeZone: z.string(), sorted: z.string() });

const folders: string[] = [];
function newFolder(): string {
  const dataDir = mkdtempSync(join(tmpdir(), "lancelot-determinism-"));
  folders.push(dataDir);
  writeFileSync(join(dataDir, "USER.md"), "# Ada\n\n- İstanbul ve Göteborg'da çalışır.\n");
  writeFileSync(join(dataDir, "RULES.md"), "Answer in the language of the question.\n");
  return dataDir;
}

async function compileIn(options: object, env: Record<string, string> = {}): Promise<z.infer<typeof Compiled>> {
  const { stdout } = await run(process.execPath, [main, JSON.stringify({ now: noon, ...options })], {
    env: { ...process.env, LANG: "C.UTF-8", TZ: "UTC", ...env },
    maxBuffer: 64 * 1024 * 1024,
  });
  return Compiled.parse(JSON.parse(stdout));
}

const items = 260;
let dataDir: string;
let expected: readonly string[];

beforeAll(async () => {
  dataDir = newFolder();
  const { texts } = await compileIn({ dataDir, fill: { items, seed: "first" }, compile: 1 });
  expected = texts;
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe("the same memory and the same words give the same bytes", () => {
  it("and there is something to compare", () => {
    expect(expected).toHaveLength(objectives.length * 6);
    expect(new Set(expected).size).toBeGreaterThan(objectives.length);
    for (const [index, text] of expected.entries()) expect(text.length, String(index)).toBeGreaterThan(200);
  });

  const places = [
    { LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8", TZ: "Europe/Istanbul" },
    { LANG: "sv_SE.UTF-8", LC_ALL: "sv_SE.UTF-8", TZ: "Pacific/Kiritimati" },
    { LANG: "ja_JP.UTF-8", LC_ALL: "ja_JP.UTF-8", TZ: "Asia/Tokyo" },
    { LANG: "de_DE.UTF-8", LC_ALL: "de_DE.UTF-8", TZ: "America/Los_Angeles" },
    { LANG: "ar_EG.UTF-8", LC_ALL: "ar_EG.UTF-8", TZ: "Pacific/Pago_Pago" },
    { LANG: "C", LC_ALL: "C", TZ: "UTC" },
  ];
  it("in every locale and time zone, by the reopened database", async () => {
    const seen = [];
    for (const place of places) {
      const { texts, ...world } = await compileIn({ dataDir, compile: 1 }, place);
      expect(texts).toEqual(expected);
      seen.push(world);
    }
    // The processes really were in other places, where sorting by locale gives another order.
    expect(new Set(seen.map(({ locale }) => locale)).size).toBeGreaterThanOrEqual(5);
    expect(new Set(seen.map(({ timeZone }) => timeZone)).size).toBe(places.length);
    expect(new Set(seen.map(({ sorted }) => sorted)).size).toBeGreaterThan(1);
  });

  it.each(["second", "third", "fourth"].slice(0, runs(1, 3)))(
    "built in another folder, in another order, with other ids (%s)",
    async (seed) => {
      const { texts } = await compileIn(
        { dataDir: newFolder(), fill: { items, seed }, compile: 1 },
        { LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8", TZ: "Asia/Kathmandu" },
      );
      expect(texts).toEqual(expected);
    },
  );

  it("in several processes at once, while others write to another workspace with the same words", async () => {
    const folder = newFolder();
    await compileIn({ dataDir: folder, fill: { items, seed: "first" } });
    const compile = runs(1, 2);
    const disturb = runs(75, 150);
    const all = await Promise.all([
      compileIn({ dataDir: folder, compile }, { LC_ALL: "ja_JP.UTF-8", TZ: "Asia/Tokyo" }),
      compileIn({ dataDir: folder, disturb }),
      compileIn({ dataDir: folder, compile }, { LC_ALL: "sv_SE.UTF-8", TZ: "America/St_Johns" }),
      compileIn({ dataDir: folder, disturb }),
    ]);
    for (const { texts } of [all[0], all[2]]) expect(texts).toEqual(Array.from({ length: compile }, () => expected).flat());
    const after = await compileIn({ dataDir: folder, compile: 1 });
    expect(after.texts).toEqual(expected);
  });

  it("from a copy of the folder", async () => {
    const copy = newFolder();
    cpSync(dataDir, copy, { recursive: true });
    expect((await compileIn({ dataDir: copy, compile: 1 })).texts).toEqual(expected);
  });

  it("at any later hour of the day, as long as nothing expires", async () => {
    for (const now of [noon + 3_600_000, noon + day / 2 - 1])
      expect((await compileIn({ dataDir, compile: 1, now })).texts).toEqual(expected);
  });
});
