// @module-tag processes
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { inUntrustedFolder, type UntrustedFolder } from "../../../agent-server/workspace/tasks/untrusted-folder.ts";

let base = "";
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-untrusted-")));
  for (const [folder, text] of [
    ["task/inner", "of the task"],
    ["outside", "private"],
  ] as const) {
    mkdirSync(join(base, folder), { recursive: true });
    writeFileSync(join(base, folder, "file"), text);
  }
  symlinkSync(join(base, "outside"), join(base, "task/folder-link"));
  symlinkSync(join(base, "outside/file"), join(base, "task/file-link"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const at = (path: string): string => join(base, path);
const inTask = <T>(work: (folder: UntrustedFolder) => Promise<T>): Promise<T | null> => inUntrustedFolder(at("task"), work);
const read = (folder: UntrustedFolder): Promise<string | undefined> => Promise.resolve(folder.read("file", 100)?.toString());

/** Only Linux has views of tasks. */
describe.runIf(process.platform === "linux")("a folder that a command may be changing", () => {
  it("has no link followed", async () => {
    await inTask(async (folder) => {
      expect(folder.read("file-link", 100)).toBeNull();
      expect(folder.copy("file-link", at("copy"), 100)).toBeNull();
      expect(await folder.within("folder-link", read)).toBeNull();
      expect(await folder.within("inner", read)).toBe("of the task");
      expect(folder.entries(10).map(({ name, kind }) => `${name} ${kind}`)).toEqual([
        "file-link other",
        "folder-link other",
        "inner folder",
      ]);
    });
    expect(await inUntrustedFolder(at("task/folder-link"), read)).toBeNull();
  });

  it("is still the same one when a link has taken its place, or that of the folder above it", async () => {
    await inTask(async (folder) => {
      await folder.within("inner", async (inner) => {
        renameSync(at("task/inner"), at("task/moved"));
        symlinkSync(at("outside"), at("task/inner"));
        expect(await read(inner)).toBe("of the task");
        expect(inner.entries(10)).toEqual([{ name: "file", kind: "file" }]);
      });
      expect(await folder.within("inner", read)).toBeNull();
      renameSync(at("task"), at("other"));
      symlinkSync(base, at("task"));
      expect(await folder.within("outside", read)).toBeNull();
      expect(await folder.within("moved", read)).toBe("of the task");
    });
  });

  it("waits for no pipe and is read within limits", async () => {
    execFileSync("mkfifo", [at("task/pipe")]);
    await inTask((folder) => {
      expect(folder.read("pipe", 100)).toBeNull();
      expect(folder.kind("pipe")).toBe("other");
      expect(folder.read("missing", 100)).toBeNull();
      expect(folder.kind("missing")).toBeNull();
      expect(() => folder.entries(2)).toThrow(expect.objectContaining({ code: "too_large" }));
      for (const name of ["..", ".", "", "inner/file", "a\0b"]) expect(() => folder.read(name, 100)).toThrow();
      return Promise.resolve();
    });
    await inTask((folder) =>
      folder.within("inner", (inner) => {
        expect(() => inner.read("file", 5)).toThrow(expect.objectContaining({ code: "too_large" }));
        expect(inner.copy("file", at("copy"), 11)).toBe(11);
        expect(readFileSync(at("copy"), "utf8")).toBe("of the task");
        return Promise.resolve();
      }),
    );
  });
});
