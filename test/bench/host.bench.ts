import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMessageConnection, IPCMessageReader, IPCMessageWriter, type MessageConnection } from "vscode-languageserver/node";
import { hostAllocator, hostFlags } from "../../extension/host/host-flags.ts";
import { projectNode, root } from "../support/setup/project.mjs";
import { type BenchRow, quick } from "./bench-row.ts";

const rounds = 7;
/** Until a host that nobody asks for anything is idle. */
const restMs = 65_000;

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Resident memory in MB (Linux). */
function residentMegabytes(pid: number): number {
  return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}

interface Started {
  child: ChildProcess;
  connection: MessageConnection;
  readyMs: number;
}

async function start(script: string, dataDir: string, workspace: string): Promise<Started> {
  const from = performance.now();
  const child = fork(script, ["--node-ipc"], {
    execPath: projectNode(),
    execArgv: [...hostFlags],
    env: { ...process.env, ...hostAllocator },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const connection = createMessageConnection(new IPCMessageReader(child), new IPCMessageWriter(child));
  connection.listen();
  await connection.sendRequest("initialize", {
    processId: process.pid,
    rootUri: null,
    capabilities: {},
    initializationOptions: {
      protocolVersion: 1,
      ownerToken: "b".repeat(43),
      workspace,
      dataDir,
      trusted: true,
      posture: "supervised",
      approvalTimeoutSeconds: 60,
    },
  });
  return { child, connection, readyMs: performance.now() - from };
}

async function stop({ child }: Started): Promise<void> {
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}

/** Host ready, a round trip and idle memory, beside a bare language server on the same library that does nothing. */
export async function run(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-bench-"));
  mkdirSync(join(root, "test-output"), { recursive: true });
  // In the checkout, for its packages.
  const bare = join(root, "test-output", `bare-server-${process.pid}.mjs`);
  writeFileSync(
    bare,
    `import { createConnection, ProposedFeatures } from "vscode-languageserver/node";
     const connection = createConnection(ProposedFeatures.all);
     connection.onInitialize(() => ({ capabilities: {} }));
     connection.onRequest("lancelot/health.live", () => ({ status: "alive" }));
     process.on("disconnect", () => process.exit(0));
     connection.listen();`,
  );
  try {
    const measure = async (script: string) => {
      const ready: number[] = [];
      let last: Started | undefined;
      for (let round = 0; round < rounds; round += 1) {
        if (last) await stop(last);
        last = await start(script, folder, join(root, "media/sample"));
        ready.push(last.readyMs);
      }
      if (!last) throw new Error("nothing was started");
      const trips: number[] = [];
      for (let trip = 0; trip < 500; trip += 1) {
        const from = performance.now();
        await last.connection.sendRequest("lancelot/health.live", {});
        trips.push(performance.now() - from);
      }
      const memory = residentMegabytes(last.child.pid ?? 0);
      if (!quick) await new Promise((resolve) => setTimeout(resolve, restMs));
      const atRest = residentMegabytes(last.child.pid ?? 0);
      await stop(last);
      return { ready: median(ready), trip: median(trips), memory, atRest };
    };
    const ours = await measure(join(root, "dist/host/main.js"));
    const theirs = await measure(bare);
    const row = (name: string, key: keyof typeof ours, unit: string, note: string): BenchRow => ({
      name,
      ours: ours[key],
      bare: theirs[key],
      ratio: ours[key] / theirs[key],
      unit,
      note,
    });
    return [
      row("host ready", "ready", "ms", "fork to handshake, beside an empty language server"),
      row("round trip", "trip", "ms", "health.live through dispatch and schemas"),
      row("memory after 500 calls", "memory", "MB", "resident, two seconds after the start"),
      ...(quick ? [] : [row("idle memory", "atRest", "MB", "resident, a minute later")]),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(bare, { force: true });
  }
}
