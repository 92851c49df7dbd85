import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Dockerode from "dockerode";
import { openContainer, residentBytes, sandboxSettings } from "../support/engine/container-fixture.ts";
import { smallImage, startEngine } from "../support/engine/engine.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { createSandboxFixture } from "../support/sandbox/fixture.ts";
import { runIn } from "../support/sandbox/run.ts";
import type { BenchRow } from "./bench-row.ts";

const limits = { ...isolationLimits, cpus: 2, processes: 512 };
const atOnce = 50;

/**
 * Commands in the container sandbox against the engine's own exec of the same command in the same container (create, start, read to the
 * end, ask for the exit code), taking turns; then what is paid once: the container's start and the image's build, against the engine's.
 */
export async function run(): Promise<BenchRow[]> {
  const skipped = skippedWithout("engine");
  if (skipped !== null) {
    process.stderr.write(`sandbox: skipped. ${skipped}\n`);
    return [];
  }
  const engine = await startEngine();
  const fixture = createSandboxFixture();
  const docker = new Dockerode({ socketPath: engine.socket });
  const shell = openContainer(fixture, `unix://${engine.socket}`, limits);
  try {
    const ours = async () => {
      const { result } = await runIn(shell, fixture.workspace, "echo hi");
      if (result.exitCode !== 0) throw new Error(`The command ended with ${result.ended}.`);
    };
    await ours();
    const [warm] = await docker.listContainers();
    const container = docker.getContainer(warm?.Id ?? "");
    const bare = async () => {
      const exec = await container.exec({ Cmd: ["sh", "-c", "echo hi"], User: "1000:1000", AttachStdout: true, AttachStderr: true });
      await read(await exec.start({ hijack: true, stdin: false }));
      await exec.inspect();
    };
    const one = await takeTurns(40, ours, bare);
    const many = await takeTurns(
      3,
      () => Promise.all(Array.from({ length: atOnce }, ours)),
      () => Promise.all(Array.from({ length: atOnce }, bare)),
    );
    const cold = await takeTurns(
      5,
      async () => {
        await shell.restart();
      },
      async () => {
        const made = await docker.createContainer({
          Image: smallImage,
          Cmd: ["sleep", "600"],
          HostConfig: { NetworkMode: "none", Init: true },
        });
        await made.start();
        return async () => void (await made.remove({ force: true }));
      },
    );
    const before = residentBytes(process.pid);
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, residentBytes(process.pid))), 20);
    const flood = "dd if=/dev/zero bs=1M count=1024 2>/dev/null";
    const drained = await takeTurns(
      1,
      () => runIn(shell, fixture.workspace, flood, { timeoutMs: 120_000 }),
      async () => {
        const [id] = await docker.listContainers();
        const exec = await docker
          .getContainer(id?.Id ?? "")
          .exec({ Cmd: ["sh", "-c", flood], User: "1000:1000", AttachStdout: true, AttachStderr: true });
        await read(await exec.start({ hijack: true, stdin: false }));
      },
    );
    clearInterval(watch);
    const built = await image(fixture, `unix://${engine.socket}`, docker);
    const toRow = (name: string, { ours: mine, bare: its }: Times, note: string): BenchRow => ({
      name,
      ours: mine,
      bare: its,
      ratio: mine / its,
      unit: "ms",
      note,
    });
    return [
      toRow("sandbox: warm command, p50", one, "the engine's own exec in the same container"),
      toRow(`sandbox: ${atOnce} commands at once, all`, many, "the engine's own execs"),
      toRow("sandbox: container taken down and started", cold, "the engine's create and start of a plain one"),
      toRow("sandbox: image built, nothing cached", built, "the engine's own build"),
      toRow("sandbox: flood of 1 GB", drained, `read and thrown away; memory grew by ${Math.round((most - before) / 1e6)} MB`),
    ];
  } finally {
    await shell.close();
    fixture.close();
    await engine.stop();
  }
}

interface Times {
  readonly ours: number;
  readonly bare: number;
}

/** Medians, ms. What `bare` gives back is done outside its time. */
async function takeTurns(rounds: number, ours: () => Promise<unknown>, bare: () => Promise<unknown>): Promise<Times> {
  const times = { ours: [] as number[], bare: [] as number[] };
  for (let round = 0; round < rounds; round += 1)
    for (const [name, work] of [
      ["ours", ours],
      ["bare", bare],
    ] as const) {
      const start = performance.now();
      const after = await work();
      times[name].push(performance.now() - start);
      if (typeof after === "function") await (after as () => Promise<void>)();
    }
  return { ours: median(times.ours), bare: median(times.bare) };
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

async function read(stream: NodeJS.ReadableStream): Promise<void> {
  stream.resume();
  await new Promise<void>((resolve) => {
    stream.once("end", () => resolve());
    stream.once("close", () => resolve());
  });
}

async function image(fixture: ReturnType<typeof createSandboxFixture>, host: string, docker: Dockerode): Promise<Times> {
  const folder = join(fixture.dataDir, "config/sandbox");
  mkdirSync(folder, { recursive: true });
  const settings = { read: () => ({ value: sandboxSettings(limits, { image: "shipped" }), problem: null }) };
  let number = 0;
  const write = () => writeFileSync(join(folder, "Dockerfile"), `FROM ${smallImage}\nRUN echo ${(number += 1)} ${Date.now()} > /made\n`);
  const shell = openContainer(fixture, host, limits, { settings });
  try {
    return await takeTurns(
      3,
      async () => {
        write();
        await shell.build();
      },
      async () => {
        write();
        await read(await docker.buildImage({ context: folder, src: ["Dockerfile"] }, { t: "lancelot-bench:latest", rm: true }));
      },
    );
  } finally {
    await shell.close();
  }
}
