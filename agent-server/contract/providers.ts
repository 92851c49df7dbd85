import * as z from "zod";
import { Timestamp } from "./common.ts";
import { method } from "./method.ts";

export const HealthStatus = z.enum([
  "ok",
  "degraded", // works partially; the message has details
  "down", // does not work now
  "off", // switched off by a flag, safe mode or the owner
  "unknown", // not checked yet
]);
export type HealthStatus = z.infer<typeof HealthStatus>;

/** A provider's health, with a user-facing message. */
export const ProviderHealth = z.object({
  status: HealthStatus,
  /** One sentence. */
  message: z.string(),
  /** What the user can do about it; null when there is nothing to do. */
  nextStep: z.string().nullable(),
  checkedAt: Timestamp.nullable(),
});
export type ProviderHealth = z.infer<typeof ProviderHealth>;

/** An implementation of the actions of one or more capabilities. */
export const ProviderInfo = z.object({
  id: z.string(),
  title: z.string(),
  /** Null while unknown, before the engine was contacted. */
  version: z.string().nullable(),
  capabilities: z.array(z.object({ capability: z.string(), actions: z.array(z.string()) })),
  /** Lower is tried first. */
  priority: z.int(),
  /** True when it only works on this machine, so that it is available in safe mode. */
  local: z.boolean(),
  /** Required flag; null when there is none. */
  flag: z.string().nullable(),
  health: ProviderHealth,
});
export type ProviderInfo = z.infer<typeof ProviderInfo>;

/** The provider chosen for an action, and why others were not. */
export const RouteDecision = z.object({
  /** Null when none is available; `reason` says what to do. */
  provider: z.string().nullable(),
  reason: z.string(),
  /** Usable providers in order of preference, then unusable ones. */
  alternatives: z.array(z.object({ provider: z.string(), usable: z.boolean(), reason: z.string() })),
});
export type RouteDecision = z.infer<typeof RouteDecision>;

/** Where a command runs: in a container, in the sandbox of the operating system, or on this machine as the owner. */
export const CommandPlace = z.enum(["container", "os_sandbox", "host"]);
export type CommandPlace = z.infer<typeof CommandPlace>;

/**
 * What keeps the effects of a command from the workspace (design: levels of containment).
 * `transactional`: it works in a copy-on-write view, and what it writes is proposed. `copied`: the same with a copy.
 * `watched`: it works in the workspace, which is compared before and after. `host`: nothing.
 */
export const Containment = z.enum(["transactional", "copied", "watched", "host"]);
export type Containment = z.infer<typeof Containment>;

export const SandboxState = z.object({
  /** Where a command would run now; null when it cannot run. */
  place: CommandPlace.nullable(),
  /** The level of containment in effect there; absent while it is unknown. */
  containment: Containment.optional(),
  /** One sentence: where commands run, or why they cannot. */
  message: z.string(),
  nextStep: z.string().nullable(),
  engine: z
    .object({
      name: z.enum(["docker", "podman"]),
      version: z.string(),
      /** How it was detected: `DOCKER_HOST`, `context NAME`, the socket's name. */
      via: z.string(),
      remote: z.boolean(),
    })
    .nullable(),
  image: z.object({
    name: z.string(),
    /** The shipped Dockerfile, the workspace's dev container, or one the owner named. */
    source: z.enum(["shipped", "dev_container", "named"]),
    state: z.enum(["unknown", "missing", "building", "ready", "failed"]),
    bytes: z.int().nullable(),
    /** Last line of the build, or the reason for its failure. */
    message: z.string().nullable(),
  }),
  container: z.object({
    state: z.enum(["none", "starting", "running", "stopped"]),
    id: z.string().nullable(),
    since: Timestamp.nullable(),
  }),
  /** The operating system's sandbox: bubblewrap or Seatbelt; null when there is none. */
  osSandbox: z.object({ name: z.string(), version: z.string().nullable() }).nullable(),
  limits: z.object({
    memoryBytes: z.int(),
    cpus: z.number(),
    processes: z.int(),
    timeoutMs: z.int(),
    outputBytes: z.int(),
  }),
  /** `allowlist`: for permitted commands, through a proxy that enforces the network policy. */
  network: z.enum(["off", "allowlist"]),
});
export type SandboxState = z.infer<typeof SandboxState>;

/** One check of *Lancelot: Doctor* about the tools' requirements. */
export const DoctorLine = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(["ok", "warning", "missing"]),
  message: z.string(),
  nextStep: z.string().nullable(),
  /** Action of its button; null when there is none. */
  action: z.enum(["build_image", "restart_sandbox", "open_flags", "open_settings"]).nullable(),
});
export type DoctorLine = z.infer<typeof DoctorLine>;

export const providerMethods = {
  "tools.providers": method({
    summary: "Lists the providers of the tools' actions, with version and last known health.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(ProviderInfo) }),
  }),
  "tools.health": method({
    summary: "Checks the health of every provider.",
    access: "any",
    params: z.object({}),
    result: z.object({ ok: z.boolean(), items: z.array(ProviderInfo) }),
  }),
  "tools.route": method({
    summary: "Returns the provider that would execute an action, and why, without executing it.",
    access: "any",
    params: z.object({ capability: z.string().min(1).max(100), action: z.string().min(1).max(100).optional() }),
    result: RouteDecision,
  }),
  "tools.sandbox": method({
    summary: "Returns where commands run, and the state of the sandbox.",
    access: "any",
    params: z.object({}),
    result: SandboxState,
  }),
  "tools.sandbox.build": method({
    summary: "Rebuilds the sandbox's image. Returns immediately; progress is sent as `sandbox` events.",
    access: "owner",
    params: z.object({}),
    result: SandboxState,
  }),
  "tools.sandbox.cancelBuild": method({
    summary: "Cancels a build of the sandbox's image.",
    access: "owner",
    params: z.object({}),
    result: SandboxState,
  }),
  "tools.sandbox.restart": method({
    summary: "Stops all processes in the sandbox and restarts it.",
    access: "owner",
    params: z.object({}),
    result: SandboxState,
  }),
  "tools.doctor": method({
    summary: "Checks this machine's requirements for running commands and storing changes, with next steps.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(DoctorLine) }),
  }),
};
