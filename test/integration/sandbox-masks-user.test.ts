// @module-tag ordinary-user
// @module-tag sandbox
import { chmodSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { maskCases, put } from "../support/sandbox/mask-cases.ts";
import { masksOf } from "../support/sandbox/masks.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { runIn } from "../support/sandbox/run.ts";

const { ripgrepPath } = productPaths();

it("is an ordinary user who runs this", () => {
  expect(ordinary).toBe(true);
});

maskCases("secret files in bubblewrap as an ordinary user", {
  open: (fixture) => Promise.resolve(openOsShell(fixture, { readable: () => [dirname(ripgrepPath)] })),
  tools: { ripgrep: ripgrepPath },
});

describe("a folder that its owner cannot read", () => {
  let fixture: SandboxFixture;
  const at = (path: string) => join(fixture.workspace, path);
  beforeEach(() => {
    fixture = createSandboxFixture();
    put(fixture, "closed/in/.env", fixture.canary);
    put(fixture, "open/.env", fixture.canary);
  });
  afterEach(() => fixture.close());

  it.each([0o000, 0o300, 0o600])("is hidden as a whole, until it can be read again: mode %o", async (mode) => {
    const find = masksOf(fixture);
    const files = [at("closed/in/.env"), at("open/.env")];
    expect(await find([])).toEqual({ files, folders: [] });
    chmodSync(at("closed"), mode);
    expect(await find([])).toEqual({ files: [at("open/.env")], folders: [at("closed")] });
    const shell = openOsShell(fixture);
    const ran = await runIn(shell, fixture.workspace, "cat README.md; chmod 755 closed; cat closed/in/.env open/.env");
    expect(ran.stdout).toBe("hello\n");
    await shell.close();
    chmodSync(at("closed"), 0o755);
    expect(await find([])).toEqual({ files, folders: [] });
  });

  it("is a reason to run nothing when it is the workspace itself", async () => {
    const find = masksOf(fixture);
    chmodSync(fixture.workspace, 0o000);
    await expect(find([])).rejects.toMatchObject({ code: "unavailable" });
    chmodSync(fixture.workspace, 0o755);
    expect((await find([])).files).toHaveLength(2);
  });
});
