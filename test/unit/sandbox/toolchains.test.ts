import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readableFolders, toolchainEnvironment, toolManagers } from "../../../agent-server/sandbox/toolchains.ts";

let base: string;
let of: { home: string; workspace: string; dataDir: string };
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-toolchains-")));
  of = { home: join(base, "home"), workspace: join(base, "home/work/project"), dataDir: join(base, "home/data") };
  for (const folder of [of.workspace, of.dataDir, join(of.home, ".nvm/versions"), join(of.home, ".rustup/toolchains"), join(base, "opt")])
    mkdirSync(folder, { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

describe("readable program folders", () => {
  it("are the existing ones, with links resolved, each once", () => {
    symlinkSync(join(base, "opt"), join(of.home, ".sdk"));
    expect(readableFolders(["~/.nvm/versions", "~/.gone", "~/.sdk", join(base, "opt"), "relative"], of)).toEqual([
      join(of.home, ".nvm/versions"),
      join(base, "opt"),
    ]);
  });

  it.each(["~/", "~/work", "~/work/project", "~/data", "/", "~/../home"])(
    "never include %s, which exposes more than programs",
    (folder) => {
      expect(readableFolders([folder], of)).toEqual([]);
    },
  );

  it("never include a link to the home folder", () => {
    symlinkSync(of.home, join(base, "link"));
    expect(readableFolders([join(base, "link")], of)).toEqual([]);
  });
});

describe("environment variables of tool managers", () => {
  it("contain only readable folders", () => {
    const readable = readableFolders(["~/.rustup", "~/.nvm/versions"], of);
    mkdirSync(join(of.home, ".pyenv"));
    expect(toolchainEnvironment({}, of.home, readable)).toEqual({ RUSTUP_HOME: join(of.home, ".rustup") });
  });

  it("use the user's own locations", () => {
    const mine = join(base, "opt");
    expect(toolchainEnvironment({ RUSTUP_HOME: mine }, of.home, [mine])).toEqual({ RUSTUP_HOME: mine });
    expect(toolchainEnvironment({ RUSTUP_HOME: mine }, of.home, [join(of.home, ".rustup")])).toEqual({});
  });

  it("name the managers", () => {
    const mine = join(base, "opt");
    expect(toolManagers(toolchainEnvironment({ RUSTUP_HOME: mine, PYENV_ROOT: mine }, of.home, [mine]))).toEqual(["rustup", "pyenv"]);
    expect(toolManagers({ PATH: "/bin" })).toEqual([]);
  });
});
