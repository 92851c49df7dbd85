import { readFileSync } from "node:fs";
import { type ContainerShell, createContainerShell } from "../../../agent-server/sandbox/container.ts";
import { type ContainerDeps } from "../../../agent-server/sandbox/container/container-deps.ts";
import { SandboxSettings } from "../../../agent-server/sandbox/sandbox-settings.ts";
import type { SandboxLimits } from "../../../agent-server/sandbox/shell-provider.ts";
import type { SandboxFixture } from "../sandbox/fixture.ts";
import { masksOf } from "../sandbox/masks.ts";
import { smallImage } from "../setup/engine.mjs";

/** Settings of `config/sandbox.yaml` as they would be read, with small limits. */
export function sandboxSettings(limits: SandboxLimits, more: Partial<SandboxSettings> = {}): SandboxSettings {
  return SandboxSettings.parse({
    image: smallImage,
    memory_bytes: limits.memoryBytes,
    cpus: limits.cpus,
    processes: limits.processes,
    scratch_bytes: limits.scratchBytes,
    workspace_bytes: limits.workspaceBytes,
    ...more,
  });
}

/** The container sandbox on a folder of the tests, with an engine at `host` (`unix:///…`). */
export function openContainer(
  fixture: Pick<SandboxFixture, "workspace" | "dataDir" | "protectedPaths">,
  host: string,
  limits: SandboxLimits,
  more: Partial<ContainerDeps> = {},
): ContainerShell {
  return createContainerShell({
    workspace: fixture.workspace,
    dataDir: fixture.dataDir,
    configDir: null,
    hostId: "host_tests",
    hostAlive: (hostId) => hostId === "host_tests",
    protectedPaths: () => fixture.protectedPaths,
    masked: masksOf(fixture),
    env: { DOCKER_HOST: host },
    home: "/nonexistent",
    platform: process.platform,
    settings: { read: () => ({ value: sandboxSettings(limits), problem: null }) },
    log: () => {},
    ...more,
  });
}

/** Resident memory of a process, bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}
