import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connectEngine } from "../../../agent-server/sandbox/container/container-engine.ts";

it.each([
  ["Docker of root", { SecurityOptions: ["name=seccomp,profile=default"] }, false],
  ["rootless Docker", { SecurityOptions: ["name=seccomp,profile=default", "name=rootless"] }, true],
  ["Podman of root", { SecurityOptions: [], Rootless: false }, false],
  ["rootless Podman", { SecurityOptions: ["name=seccomp,profile=default"], Rootless: true }, true],
])("%s is recognized", async (_name, info, rootless) => {
  const folder = mkdtempSync(join(tmpdir(), "engine-"));
  const socket = join(folder, "engine.sock");
  const server = createServer((request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(request.url?.endsWith("/version") === true ? { Version: "1.0" } : { OSType: "linux", NCPU: 2, ...info }));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  try {
    const engine = await connectEngine({
      env: { DOCKER_HOST: `unix://${socket}` },
      home: "/nonexistent",
      platform: "linux",
      owners: null,
      answerMs: 10_000,
    });
    expect(engine.rootless).toBe(rootless);
    engine.close();
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
