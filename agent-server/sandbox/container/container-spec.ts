import type Dockerode from "dockerode";
import { gitWithMasks } from "../secret-masks.ts";
import type { SandboxLimits } from "../shell-provider.ts";
import type { Engine } from "./container-engine.ts";
import { egressPath, supervisor, supervisorScript, noncePath } from "./container-scripts.ts";

export interface SpecDeps {
  readonly engine: Engine;
  readonly image: string;
  readonly limits: SandboxLimits;
  readonly mounts: readonly Dockerode.MountSettings[];
  readonly binds: readonly string[];
  /** One of the mounts is /tmp. */
  readonly hasTemporaryFolder: boolean;
  readonly labels: Record<string, string>;
  /** A file of this machine with a random value, which proves whose files the engine mounts; null where it mounts none. */
  readonly nonceFile: string | null;
  /** Socket of the egress proxy; null for a container without network. */
  readonly egressSocket: string | null;
}

/** The complete environment of every command; PATH comes from the image. */
const environment = [
  "HOME=/tmp/home",
  "LANG=C.UTF-8",
  "TERM=xterm-256color",
  // Nobody can answer a prompt or use a pager.
  "GIT_TERMINAL_PROMPT=0",
  "GIT_PAGER=cat",
  "PAGER=cat",
  "DEBIAN_FRONTEND=noninteractive",
  ...Object.entries(gitWithMasks).map(([name, value]) => `${name}=${value}`),
];

/** Permissions of a container: only access to its mounts, within its limits. */
export function containerSpec(deps: SpecDeps): Dockerode.ContainerCreateOptions {
  const { engine, limits } = deps;
  const file = (Source: string, Target: string): Dockerode.MountSettings => ({ Type: "bind", Source, Target, ReadOnly: true });
  return {
    Image: deps.image,
    // Replaces the image's own entry point, which could run anything.
    Entrypoint: ["/bin/sh"],
    Cmd: ["-c", supervisorScript(deps.egressSocket !== null)],
    Healthcheck: { Test: ["NONE"] },
    User: `${supervisor}:${supervisor}`,
    WorkingDir: "/",
    Env: environment,
    Labels: deps.labels,
    Hostname: "lancelot",
    OpenStdin: true,
    // Standard input ends with the only connection to the container.
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: false,
    HostConfig: {
      AutoRemove: true,
      Init: true,
      NetworkMode: "none",
      Mounts: [
        ...deps.mounts,
        ...(deps.nonceFile === null ? [] : [file(deps.nonceFile, noncePath)]),
        ...(deps.egressSocket === null ? [] : [file(deps.egressSocket, egressPath)]),
      ],
      Binds: [...deps.binds],
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      NanoCpus: Math.round(Math.min(limits.cpus, engine.cpus) * 1e9),
      PidsLimit: limits.processes,
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      Privileged: false,
      // Allows execution, because commands build and run programs here. Its content counts as memory.
      ...(deps.hasTemporaryFolder
        ? {}
        : { Tmpfs: { "/tmp": `rw,exec,nosuid,nodev,size=${Math.min(limits.scratchBytes, limits.memoryBytes)},mode=1777` } }),
      IpcMode: "private",
      ShmSize: Math.min(64 << 20, limits.scratchBytes),
      OomScoreAdj: 500,
      Ulimits: [
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "fsize", Soft: limits.workspaceBytes, Hard: limits.workspaceBytes },
        ...systemLimits(engine),
      ],
      // The output of this process consists of responses to this host.
      LogConfig: { Type: "none", Config: {} },
      ...(engine.remapped ? { UsernsMode: "host" } : {}),
    },
  };
}

/** Limits that an engine would choose itself, possibly ones that its machine does not grant. */
export function systemLimits({ name, rootless }: Engine): { Name: string; Soft: number; Hard: number }[] {
  // A rootless engine cannot raise limits above those of its own process.
  if (rootless) return [];
  // Podman would request four million processes. The limit also counts the user's other processes.
  const processes = name === "podman" ? [{ Name: "nproc", Soft: 32_768, Hard: 32_768 }] : [];
  return [{ Name: "nofile", Soft: 16_384, Hard: 16_384 }, ...processes];
}
