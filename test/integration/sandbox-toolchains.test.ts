// @module-tag sandbox
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createSandbox } from "../../agent-server/sandbox/sandbox.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";

let fixture: SandboxFixture;
beforeEach(() => {
  fixture = createSandboxFixture();
});
afterEach(() => fixture.close());

it("a program that a tool manager keeps in the home folder runs in the OS sandbox; what lies beside it is not seen", async () => {
  const home = fixture.outside;
  const programs = join(home, ".nvm/versions/node/v99/bin");
  mkdirSync(programs, { recursive: true });
  writeFileSync(join(programs, "newer"), "#!/bin/sh\necho version 99 rust at $RUSTUP_HOME\n");
  chmodSync(join(programs, "newer"), 0o755);
  mkdirSync(join(home, ".rustup"));
  const sandbox = createSandbox({
    workspace: fixture.workspace,
    dataDir: fixture.dataDir,
    configDir: productPaths().configDir,
    hostId: "host_tests",
    hostAlive: () => true,
    governance: {
      judgeName: () => null,
      isSecretFile: () => false,
      resolvePath: () => ({ ok: false, rule: "x", message: "No." }),
      judgeUrl: () => ({ verdict: "deny", host: "", rule: { id: "x", source: "policy", message: "No." }, alternatives: [] }),
    },
    ledger: { record: () => "r" },
    learnSecrets: () => undefined,
    flag: () => false,
    env: { PATH: `${programs}:/usr/bin:/bin`, DOCKER_HOST: "unix:///nonexistent" },
    home,
    log: () => undefined,
  });
  const os = sandbox.shells.find(({ place }) => place === "os_sandbox");
  let said = "";
  const result = await os?.run({
    command: `newer; cat '${join(fixture.outside, "secret.txt")}' 2>&1; echo x > '${join(programs, "newer")}'; echo end`,
    cwd: fixture.workspace,
    timeoutMs: 30_000,
    outputBytes: 10_000,
    network: false,
    signal: new AbortController().signal,
    onStarted: () => undefined,
    onOutput: (_stream, bytes) => {
      said += Buffer.from(bytes).toString();
    },
  });
  expect(result).toMatchObject({ exitCode: 0, ended: "exit" });
  expect(said).toContain(`version 99 rust at ${join(home, ".rustup")}\n`);
  expect(said).not.toContain(fixture.canary);
  expect(said).toMatch(/Read-only file system/);
  for (const shell of sandbox.shells) await shell.close();
  await sandbox.close();
});
