import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSandboxSettings, limitsOf } from "../../../agent-server/sandbox/sandbox-settings.ts";
import { root } from "../../support/setup/project.mjs";

const configDir = join(root, "config");
let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-settings-"));
  mkdirSync(join(dataDir, "config"));
});
afterEach(() => rmSync(dataDir, { recursive: true }));
const writeSettings = (text: string) => writeFileSync(join(dataDir, "config/sandbox.yaml"), text);

describe("config/sandbox.yaml", () => {
  it("as shipped applies without any file", () => {
    // The folders that programs are read from are listed in the file alone.
    const own = (from: string | null) => {
      const { value: settings, problem } = createSandboxSettings({ configDir: from, dataDir }).read();
      return { settings: { ...settings, readable_folders: [] }, problem };
    };
    expect(own(configDir)).toEqual(own(null));
    expect(own(null)).toMatchObject({ settings: { image: "shipped", engine: null, cpus: 2 }, problem: null });
  });

  it("merges the user's file, key by key", () => {
    writeSettings("memory_bytes: 268435456\nimage: debian:bookworm\n");
    const { value: settings, problem } = createSandboxSettings({ configDir, dataDir }).read();
    expect(problem).toBeNull();
    expect(settings).toMatchObject({ image: "debian:bookworm", cpus: 2 });
    expect(limitsOf(settings).memoryBytes).toBe(268_435_456);
  });

  it("names secret files that commands may read, none as shipped", () => {
    expect(createSandboxSettings({ configDir, dataDir }).read().value.readable_secrets).toEqual([]);
    const patterns = [".env.test", "test/fixtures/*.key", ".env/**", "a..b/.env"];
    writeSettings(`readable_secrets: ${JSON.stringify(patterns)}\n`);
    expect(createSandboxSettings({ configDir, dataDir }).read()).toMatchObject({ value: { readable_secrets: patterns }, problem: null });
  });

  it("keeps a shipped limit that the user's file does not name", () => {
    const shipped = join(dataDir, "shipped");
    mkdirSync(shipped);
    writeFileSync(join(shipped, "sandbox.yaml"), "processes: 64\ncpus: 1\n");
    writeSettings("cpus: 1.5\n");
    expect(createSandboxSettings({ configDir: shipped, dataDir }).read().value).toMatchObject({ processes: 64, cpus: 1.5 });
  });

  it.each([
    ["no YAML", "image: [", "sandbox.yaml"],
    ["a list", "- image\n", "list"],
    ["an unknown key", "imgae: x\n", "imgae"],
    ["no name of an image", "image: --privileged\n", "image"],
    ["an engine that is none", "engine: docker.sock\n", "engine"],
    ["a limit that is none", "memory_bytes: 0\n", "memory_bytes"],
    ["a limit as text", 'cpus: "all"\n', "cpus"],
    ["everything but one secret", "readable_secrets: ['!.env']\n", "readable_secrets"],
    ["a secret above the workspace", "readable_secrets: ['a/../../x']\n", "readable_secrets"],
    ["a secret of the home folder", "readable_secrets: ['~/.ssh/id']\n", "readable_secrets"],
    ["a secret of the machine", "readable_secrets: [/etc/shadow]\n", "readable_secrets"],
    ["anchors that grow", "a: &a [x]\nb: [*a, *a]\n", "sandbox.yaml"],
  ])("of the user with %s blocks commands and names the error", (_name, text, where) => {
    writeSettings(text);
    expect(createSandboxSettings({ configDir, dataDir }).read().problem).toMatch(
      new RegExp(`sandbox\\.yaml.*${where === "sandbox.yaml" ? "" : where}`, "s"),
    );
  });

  it("is read again only when it changes", () => {
    const { read } = createSandboxSettings({ configDir, dataDir });
    const first = read();
    expect(read()).toBe(first);
    writeSettings("cpus: 1\n");
    expect(read().value.cpus).toBe(1);
    // An edit of the same length shows in the time alone.
    writeSettings("cpus: 3\n");
    utimesSync(join(dataDir, "config/sandbox.yaml"), 1, 1);
    expect(read().value.cpus).toBe(3);
    rmSync(join(dataDir, "config/sandbox.yaml"));
    expect(read().value.cpus).toBe(2);
  });
});
