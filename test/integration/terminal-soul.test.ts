import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lancelot as runLancelot } from "../support/host/terminal.ts";
import { shippedSoul } from "../support/soul-fixture.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lancelot-soul-cli-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const cli = join(import.meta.dirname, "../../agent-server/cli.ts");
const lancelot = (...words: string[]) =>
  runLancelot(words, { cwd: folder, env: { LANCELOT_DATA: join(folder, "data"), LANCELOT_OWNER_TOKEN: "t".repeat(40) } });
const call = (method: string, params: unknown) => lancelot("call", method, JSON.stringify(params));

describe("lancelot soul lint", () => {
  it("accepts a valid soul, and reports issues as file:line:column", async () => {
    writeFileSync(join(folder, "mine.yaml"), shippedSoul);
    expect(await lancelot("soul", "lint", "mine.yaml")).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^mine\.yaml: /) as string,
      stderr: "",
    });
    writeFileSync(
      join(folder, "bad.yaml"),
      shippedSoul
        .replace("channels: [war_room, chat, notification, terminal]", "channels: []")
        .replace("    - plan\n", "    - plans_of_mine\n"),
    );
    const bad = await lancelot("soul", "lint", "bad.yaml");
    expect(bad.status).toBe(1);
    const at = (text: string) => shippedSoul.split("\n").findIndex((line) => line.includes(text)) + 1;
    expect(bad.stdout.trim().split("\n")).toEqual([
      expect.stringMatching(`^bad\\.yaml:${at("channels: [")}:13: critical approval_channels_required: `),
      expect.stringMatching(`^bad\\.yaml:${at("    - plan")}:7: warning unknown_term: "plans_of_mine"`),
    ]);
    expect(JSON.parse((await lancelot("soul", "lint", "bad.yaml", "--json")).stdout)).toMatchObject({
      valid: false,
      issues: [{ rule: "approval_channels_required" }, {}],
    });
  });

  it.each<[string, () => string[], number, RegExp]>([
    ["a file that is not there", () => ["lint", "nowhere.yaml"], 1, /nowhere\.yaml/],
    ["a folder", () => ["lint", "."], 1, /file/],
    ["no file", () => ["lint"], 1, /lancelot soul status/],
    ["another word", () => ["bless"], 1, /lancelot soul status/],
  ])("says so of %s", async (_name, words, status, said) => {
    const done = await lancelot("soul", ...words());
    expect(done.status).toBe(status);
    expect(done.stderr).toMatch(said);
  });

  it("refuses bytes that are no text", async () => {
    writeFileSync(join(folder, "x.yaml"), Buffer.from([0xff, 0xfe, 0x00]));
    expect(await lancelot("soul", "lint", "x.yaml")).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("x.yaml:1:1: critical schema: The file is not UTF-8") as string,
    });
  });
});

describe("hosts that start at once on a new data folder", () => {
  it("are ruled by the same soul, which was copied once", async () => {
    const starts = Array.from({ length: 4 }, () => {
      const child = spawn(process.execPath, [cli, "soul", "status"], {
        cwd: folder,
        env: { ...process.env, LANCELOT_DATA: join(folder, "data") },
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      child.stdout.on("data", (chunk: Buffer) => {
        said += chunk.toString();
      });
      return once(child, "close").then(() => said);
    });
    for (const said of await Promise.all(starts)) expect(said).toMatch(/v1.*\n.*: v1\n$/);
    expect(readdirSync(join(folder, "data/soul")).sort()).toEqual(["ACTIVE", "soul_versions"]);
    expect(readdirSync(join(folder, "data/soul/soul_versions"))).toEqual(["soul_v1.yaml"]);
  });
});

describe("lancelot soul status and diff", () => {
  it("show the active soul, open proposals and diffs", async () => {
    expect((await lancelot("soul", "status")).stdout).toMatch(/v1.*\n.*: v1\n$/);
    expect(await lancelot("soul", "diff")).toMatchObject({ status: 0, stdout: expect.not.stringContaining("---") as string });
    const yaml = shippedSoul.replace("    - push\n", "");
    const { id } = JSON.parse((await call("soul.propose", { yaml, reason: "Pushing is fine." })).stdout) as { id: string };
    expect((await lancelot("soul")).stdout).toContain(`${id}  pending by owner, from v1: Pushing is fine.`);
    const shown = (await lancelot("soul", "diff", id.slice(0, 8))).stdout;
    expect(shown).toContain("--- soul_v1.yaml\n+++ soul_v2.yaml\n");
    expect(shown).toContain("\n-    - push\n");
    for (const step of ["soul.approve", "soul.activate"]) expect((await call(step, { id })).status).toBe(0);
    expect((await lancelot("soul", "status")).stdout).toMatch(/v2.*\n.*: v1, v2\n$/);
    expect((await lancelot("soul", "diff")).stdout).toContain("\n-    - push\n");
    expect((await lancelot("soul", "diff", "v2", "v1")).stdout).toContain("\n+    - push\n");
    expect(await lancelot("soul", "diff", "v7")).toMatchObject({ status: 1, stderr: expect.stringContaining("v7") as string });
    expect(await lancelot("soul", "diff", "zzz")).toMatchObject({ status: 1, stderr: expect.stringContaining("zzz") as string });
    writeFileSync(join(folder, "data/soul/ACTIVE"), "nonsense");
    expect(await lancelot("soul", "status")).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("Soul v2 stays active") as string,
    });
  });
});
