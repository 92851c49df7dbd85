// @module-tag serial
import { closeSync, mkdirSync, openSync, statSync, writeFileSync, writeSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createToolsFixture, type ToolsFixture } from "../support/tools-fixture.ts";

const megabyte = 1024 * 1024;

describe("a large workspace", () => {
  let fixture: ToolsFixture;
  beforeAll(() => {
    fixture = createToolsFixture({ posture: "autonomous" });
    for (let folder = 0; folder < 200; folder++) {
      const path = fixture.path(`tree/d${String(folder).padStart(3, "0")}`);
      mkdirSync(path, { recursive: true });
      for (let file = 0; file < 500; file++) {
        writeFileSync(`${path}/f${String(file).padStart(3, "0")}.ts`, file === 250 && folder % 50 === 0 ? "the needle\n" : "");
      }
    }
    const line = `${"0123456789 ".repeat(9)}\n`;
    const block = Buffer.from(line.repeat(Math.floor(megabyte / line.length)));
    const file = openSync(fixture.path("big.log"), "w");
    for (let written = 0; written < 200 * megabyte; written += block.length) writeSync(file, block);
    closeSync(file);
  });
  afterAll(() => fixture.close());

  /** Runs a call and says how long it took and how much memory it left in use at most. */
  async function measured(tool: string, args: unknown) {
    let peak = 0;
    const before = process.memoryUsage().rss;
    const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
    const started = performance.now();
    const outcome = await fixture.run(tool, args);
    clearInterval(sampler);
    const ms = Math.round(performance.now() - started);
    const megabytes = Math.round((Math.max(peak, process.memoryUsage().rss) - before) / megabyte);
    console.log(`${tool} ${JSON.stringify(args)}: ${ms} ms, +${megabytes} MB`);
    return { outcome, ms, megabytes };
  }

  it("lists 100,000 files in part, stopping early", async () => {
    const { outcome, ms, megabytes } = await measured("list_files", {});
    expect(outcome.text.split("\n").length).toBeLessThanOrEqual(402);
    expect(outcome.text).toMatch(/\[(more than 400 files|cut)/);
    expect(ms).toBeLessThan(60_000);
    expect(megabytes).toBeLessThan(100);
    expect((await measured("list_files", { depth: 1 })).outcome.text).toBe("big.log\ntree/");
  });

  it("searches all of them", async () => {
    const { outcome, ms, megabytes } = await measured("search_workspace", { query: "needle" });
    expect(outcome.text.split("\n")).toEqual(["000", "050", "100", "150"].map((folder) => `tree/d${folder}/f250.ts:1: the needle`));
    expect(ms).toBeLessThan(60_000);
    expect(megabytes).toBeLessThan(100);
    expect(await fixture.tools.files("d199/f499", 5, new AbortController().signal)).toEqual(["tree/d199/f499.ts"]);
  });

  it("stops a search at once", async () => {
    const stop = new AbortController();
    const search = fixture.run("search_workspace", { query: "not there at all" }, { signal: stop.signal });
    setImmediate(() => stop.abort());
    await expect(search).rejects.toMatchObject({ code: "cancelled" });
  });

  it("reads a 200 MB file in parts, at its start and deep in it, without holding it", async () => {
    const first = await measured("read_file", { path: "big.log", limit: 2 });
    expect(first.outcome.text).toMatch(/^1\t0123456789 .*\n2\t.*\n\[lines 1–2, a large file, 20\d\.\d MB\. Read on with offset 3\.\]$/s);
    const deep = await measured("read_file", { path: "big.log", offset: 2_000_000, limit: 1 });
    expect(deep.outcome.text).toMatch(/^2000000\t0123456789/);
    expect(Math.max(first.megabytes, deep.megabytes)).toBeLessThan(120);
    expect(deep.ms).toBeLessThan(20_000);
  });

  it("refuses to edit it by text, and deletes it with an exact copy kept", async () => {
    expect(await fixture.run("edit_file", { path: "big.log", old_text: "0", new_text: "1" })).toMatchObject({
      isError: true,
      error: { code: "too_large" },
    });
    const { size } = statSync(fixture.path("big.log"));
    fixture.answer("allow_once");
    const { outcome, megabytes } = await measured("delete_file", { path: "big.log" });
    expect(outcome.isError).toBe(false);
    expect(megabytes).toBeLessThan(120);
    await fixture.tools.checkpoints.restore({ questId: "q1" });
    expect(statSync(fixture.path("big.log")).size).toBe(size);
  });
});
