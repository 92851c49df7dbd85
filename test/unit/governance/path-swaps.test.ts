import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createPathPolicy } from "../../../agent-server/governance/policy/path-policy.ts";

const configDir = join(import.meta.dirname, "../../../config");
let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-swaps-")));
  mkdirSync(join(base, "proj/src"), { recursive: true });
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "proj/src/a.ts"), "a");
  writeFileSync(join(base, "outside/a.ts"), "x");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const policyOf = (workspace: string | null, more: { dataDir?: string; home?: string; configDir?: string } = {}) =>
  createPathPolicy({ workspace, dataDir: join(base, "data"), configDir, home: join(base, "home"), ...more });

describe("what changes between the decision and the effect", () => {
  it("a file replaced by a link is noticed", () => {
    const policy = policyOf(join(base, "proj"));
    const before = policy.resolve("src/a.ts");
    expect(policy.stillSame(before)).toBe(true);
    rmSync(join(base, "proj/src/a.ts"));
    symlinkSync(join(base, "outside/a.ts"), join(base, "proj/src/a.ts"));
    expect(policy.stillSame(before)).toBe(false);
  });

  it("a folder on the way replaced by a link is noticed", () => {
    const policy = policyOf(join(base, "proj"));
    const before = policy.resolve("src/new.ts");
    renameSync(join(base, "proj/src"), join(base, "proj/src-old"));
    symlinkSync(join(base, "outside"), join(base, "proj/src"));
    expect(policy.stillSame(before)).toBe(false);
    expect(policy.resolve("src/new.ts")).toMatchObject({ inside: false });
  });

  it("a file that appears where none was is noticed", () => {
    const policy = policyOf(join(base, "proj"));
    const before = policy.resolve("src/new.ts");
    writeFileSync(join(base, "proj/src/new.ts"), "");
    expect(policy.stillSame(before)).toBe(false);
  });

  it("a certificate that becomes a key is noticed", () => {
    writeFileSync(join(base, "proj/a.pem"), "-----BEGIN CERTIFICATE-----");
    const policy = policyOf(join(base, "proj"));
    const before = policy.resolve("a.pem");
    expect(before).toMatchObject({ sensitive: null });
    writeFileSync(join(base, "proj/a.pem"), "-----BEGIN RSA PRIVATE KEY-----");
    expect(policy.stillSame(before)).toBe(false);
  });

  it("a workspace replaced by a link no longer contains anything", () => {
    const policy = policyOf(join(base, "proj"));
    renameSync(join(base, "proj"), join(base, "moved"));
    symlinkSync(join(base, "moved"), join(base, "proj"));
    expect(policy.resolve("src/a.ts")).toMatchObject({ ok: true, inside: false });
  });
});

describe("unusual workspaces", () => {
  it("without a workspace only absolute paths lead anywhere, and they are outside", () => {
    const policy = policyOf(null);
    expect(policy.resolve("src/a.ts")).toMatchObject({ ok: false, rule: "path.no-workspace" });
    expect(policy.resolve(join(base, "outside/a.ts"))).toMatchObject({ ok: true, inside: false });
  });

  it.each([
    ["/", "/", false],
    ["the home folder", "home", true],
    ["a folder that holds the home folder", ".", true],
  ])("%s is too wide", (_what, workspace, relative) => {
    mkdirSync(join(base, "home"));
    const policy = policyOf(relative ? join(base, workspace) : workspace);
    expect(policy.broad).toEqual(expect.any(String));
    expect(policyOf(join(base, "proj")).broad).toBeNull();
  });

  it("in a workspace that is the whole disk, secrets and devices stay what they are", () => {
    const policy = policyOf("/", { home: homedir() });
    expect(policy.resolve("/etc/shadow")).toMatchObject({ sensitive: "secret", inside: true });
    expect(policy.resolve("/dev/null")).toMatchObject({ ok: false, rule: "path.system" });
    expect(policy.resolve(join(base, "data/vault.json"))).toMatchObject({ rule: "own.secret" });
  });

  it("a workspace inside the data folder is the owner's; the rest of the data folder is not", () => {
    mkdirSync(join(base, "data/sample/src"), { recursive: true });
    const policy = policyOf(join(base, "data/sample"));
    expect(policy.resolve("src/a.ts")).toMatchObject({ inside: true, sensitive: null });
    expect(policy.resolve("../lancelot.sqlite")).toMatchObject({ inside: false, rule: "own.secret" });
  });

  it("a data folder inside the workspace stays closed", () => {
    const policy = policyOf(join(base, "proj"), { dataDir: join(base, "proj/.data") });
    expect(policy.resolve(".data/lancelot.sqlite")).toMatchObject({ inside: true, rule: "own.secret" });
    expect(policy.resolve(".DATA/lancelot.sqlite")).toMatchObject({ rule: "own.secret" });
    expect(policy.resolve(".data-2/x")).toMatchObject({ rule: null });
  });

  it("a workspace below a folder called .git or .vscode is not protected as a whole; below .ssh all is secret", () => {
    for (const [folder, sensitive] of [
      [".git/worktrees/one", null],
      [".vscode/extensions/one", null],
      [".ssh/one", "secret"],
    ] as const) {
      mkdirSync(join(base, folder), { recursive: true });
      expect(policyOf(join(base, folder)).resolve("a.ts")).toMatchObject({ inside: true, sensitive });
    }
  });

  it("a workspace whose own name looks encoded or foreign is an ordinary one", () => {
    for (const name of ["a%2eb", "a\\b", "C:"]) {
      mkdirSync(join(base, name));
      const policy = policyOf(join(base, name));
      const fresh = policy.resolve("new.ts");
      expect(fresh).toMatchObject({ ok: true, inside: true, type: "missing", sensitive: null });
      expect(policy.stillSame(fresh)).toBe(true);
    }
  });

  it.runIf(process.platform === "linux")("a workspace on a memory disk under /dev is an ordinary one, and the rest of /dev is not", () => {
    const memory = mkdtempSync("/dev/shm/lancelot-");
    try {
      const policy = policyOf(memory);
      expect(policy.resolve("new.ts")).toMatchObject({ ok: true, inside: true });
      expect(policy.resolve(join(memory, "new.ts"))).toMatchObject({ ok: true, inside: true });
      expect(policy.resolve("../x")).toMatchObject({ ok: false, rule: "path.system" });
      expect(policy.resolve("/dev/null")).toMatchObject({ ok: false, rule: "path.system" });
    } finally {
      rmSync(memory, { recursive: true });
    }
  });

  it("in a workspace that is the whole disk, a link into a process is seen through", () => {
    symlinkSync("/proc/self", join(base, "me"));
    expect(policyOf("/").resolve(join(base, "me/environ"))).toMatchObject({ ok: false, rule: "path.system" });
  });

  it("judges names alone for walks", () => {
    const policy = policyOf(join(base, "proj"));
    expect(policy.judgeName("src/a.ts")).toBeNull();
    expect(policy.judgeName("app/.env")).toBe("secret");
    expect(policy.judgeName("a.pem")).toBe("secret");
    expect(policy.judgeName(".git/config")).toBe("protected");
  });

  it("with a rule table that cannot be read, refuses every path and says so", () => {
    const policy = policyOf(join(base, "proj"), { configDir: join(base, "nowhere") });
    const resolved = policy.resolve("src/a.ts");
    expect(resolved).toMatchObject({ ok: false, rule: "path.table" });
    expect(policy.judgeName("src/a.ts")).toBe("secret");
    expect(policy.stillSame(resolved)).toBe(false);
  });
});
