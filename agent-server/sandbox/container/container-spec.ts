import type Dockerode from "dockerode";
import type { SandboxLimits } from "../shell-provider.ts";
import type { Engine } from "./container-engine.ts";
import { egressPath, supervisor, supervisorScript, noncePath } from "./container-scripts.ts";

export interface SpecDeps {
  readonly engine: Engine;
  readonly image: string;
  readonly limits: SandboxLimits;
  readonly mounts: readonly Dockerode.MountSettings[];
  readonly labels: Record<string, string>;
  /** A file of this machine with a word in it, by which it is known whose files the engine mounts. */
  readonly nonceFile: string;
  /** Socket of the egress proxy; null for a container without any network. */
  readonly egressSocket: string | null;
}

/** The environment of every command: said here and nowhere else. PATH is the image's. */
const environment = [
  "HOME=/tmp/home",
  "LANG=C.UTF-8",
  "TERM=xterm-256color",
  // Nobody is there to answer, or to page.
  "GIT_TERMINAL_PROMPT=0",
  "GIT_PAGER=cat",
  "PAGER=cat",
  "DEBIAN_FRONTEND=noninteractive",
];

/** What a container of ours may do: nothing but use what is mounted, within its limits. */
export function containerSpec(deps: SpecDeps): Dockerode.ContainerCreateOptions {
  const { engine, limits } = deps;
  const file = (Source: string, Target: string): Dockerode.MountSettings => ({ Type: "bind", Source, Target, ReadOnly: true });
  return {
    Image: deps.image,
    // Not the image's own: what it would start is nobody's choice here.
    Entrypoint: ["/bin/sh"],
    Cmd: ["-c", supervisorScript(deps.egressSocket !== null)],
    Healthcheck: { Test: ["NONE"] },
    User: `${supervisor}:${supervisor}`,
    WorkingDir: "/",
    Env: environment,
    Labels: deps.labels,
    Hostname: "lancelot",
    OpenStdin: true,
    // The end of the one connection that holds it is the end of its input.
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
        file(deps.nonceFile, noncePath),
        ...(deps.egressSocket === null ? [] : [file(deps.egressSocket, egressPath)]),
      ],
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      NanoCpus: Math.round(Math.min(limits.cpus, engine.cpus) * 1e9),
      PidsLimit: limits.processes,
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      Privileged: false,
      // Programs are built and run in there. What it holds counts as memory.
      Tmpfs: { "/tmp": `rw,exec,nosuid,nodev,size=${Math.min(limits.scratchBytes, limits.memoryBytes)},mode=1777` },
      IpcMode: "private",
      ShmSize: Math.min(64 << 20, limits.scratchBytes),
      OomScoreAdj: 500,
      Ulimits: [
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "fsize", Soft: limits.workspaceBytes, Hard: limits.workspaceBytes },
        // Without root an engine cannot give more than its own process may have.
        ...(engine.rootless ? [] : [{ Name: "nofile", Soft: 16_384, Hard: 16_384 }]),
        // Podman would ask for four millions, which not every machine grants. It counts what the owner runs elsewhere too.
        ...(engine.name === "podman" && !engine.rootless ? [{ Name: "nproc", Soft: 32_768, Hard: 32_768 }] : []),
      ],
      // What its own process says is answers for this host.
      LogConfig: { Type: "none", Config: {} },
      ...(engine.remapped ? { UsernsMode: "host" } : {}),
    },
  };
}
