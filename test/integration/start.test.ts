import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { finished, hostEnv, sampleWorkspace, temporaryFolder } from "../support/host/built-host.ts";
import { startFileServer } from "../support/models/file-server.ts";
import { localDataDir } from "../support/models/local-models.ts";
import { makeDataDir, offeredFile } from "../support/models/own-catalog.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { root } from "../support/setup/project.mjs";
import { itInSoak } from "../support/soak.ts";
import { said, task, twoFileScript, useModelServer } from "../support/tasks/two-file-change.ts";

/** `npm start -- …` as a user types it. */
function npmStart(args: readonly string[], env: Record<string, string> = {}) {
  return finished(spawn("npm", ["start", "--silent", "--", ...args], { cwd: root, env: hostEnv(env), stdio: ["ignore", "pipe", "pipe"] }));
}

it("npm start with a task does it on a copy of the sample project", async () => {
  using data = temporaryFolder("start");
  const server = await startModelServer({ script: twoFileScript() });
  try {
    useModelServer(data.path, server.url("openai_compatible"));
    const done = await npmStart([task, "--yes-tier", "T1", "--data", data.path]);
    expect(done.code, done.stderr).toBe(0);
    expect(done.stdout).toContain(said.after);
    const copy = /copy of the sample project: (\S+)/.exec(done.stderr)?.[1] ?? "";
    expect(readFileSync(join(copy, "src/duration.js"), "utf8")).toContain("(seconds % 3600) / 60");
    expect(existsSync(join(copy, ".git"))).toBe(true);
    rmSync(copy, { recursive: true, force: true });
  } finally {
    await server.close();
  }
});

const question = "From how many cents on does the cart give a discount?";

it("npm start with a question fetches the local model where there is no key, and it answers", async () => {
  using workspace = sampleWorkspace();
  using data = temporaryFolder("start");
  const server = await startFileServer();
  try {
    // A model of half a megabyte, which has nothing to say. The runtime is fetched too where no test has fetched it before.
    const runtime = existsSync(join(localDataDir, "runtime"));
    const { bytes } = makeDataDir(data.path, { url: `${server.url}/tiny.gguf`, runtime, context: 8_192 });
    server.files.set("/tiny.gguf", bytes);
    const done = await npmStart([question, "--download", "--workspace", workspace.path, "--data", data.path]);
    expect(done.code, `${done.stdout}${done.stderr}`).toBe(0);
    expect(done.stderr).toMatch(/Tiny: \d+ %/);
    expect(existsSync(join(data.path, "models", offeredFile))).toBe(true);
    expect(done.stdout).toContain("Read src/cart.js");
    expect(done.stdout).toMatch(/done: quest .*, local\/Tiny, [1-9][\d,]* tokens/);
  } finally {
    await server.close();
  }
});

itInSoak("npm start with a question answers it with no key, on a real local model, from what it read", async () => {
  using workspace = sampleWorkspace();
  // The model is fetched once; everything else of the data folder is new.
  const data = join(process.env["LANCELOT_TEST_CACHE"] ?? join(homedir(), ".cache/lancelot-test"), "start");
  mkdirSync(data, { recursive: true });
  for (const name of ["lancelot.sqlite", "lancelot.sqlite-wal", "lancelot.sqlite-shm"]) rmSync(join(data, name), { force: true });
  const done = await npmStart([question, "--download", "--workspace", workspace.path, "--data", data]);
  expect(done.code, done.stderr).toBe(0);
  expect(done.stdout).toContain("Read src/cart.js");
  expect(done.stdout).toContain("local/");
  expect(done.stdout).toMatch(/10[ ,.]?000/);
});
