import * as z from "zod";
import { Timestamp } from "./common.ts";
import { method } from "./method.ts";

export const HealthStatus = z.enum([
  "ok",
  "degraded", // works, but not fully: the message says what is missing
  "down", // does not work now
  "off", // switched off by a flag, safe mode or the owner
  "unknown", // was not looked at yet
]);
export type HealthStatus = z.infer<typeof HealthStatus>;

/** How a provider is, in words for the owner. */
export const ProviderHealth = z.object({
  status: HealthStatus,
  /** One sentence. */
  message: z.string(),
  /** What the owner can do about it; null when there is nothing to do. */
  nextStep: z.string().nullable(),
  checkedAt: Timestamp.nullable(),
});
export type ProviderHealth = z.infer<typeof ProviderHealth>;

/** What carries out the actions of one or more capabilities. */
export const ProviderInfo = z.object({
  id: z.string(),
  title: z.string(),
  /** Null while it is not known: the engine was not reached yet. */
  version: z.string().nullable(),
  capabilities: z.array(z.object({ capability: z.string(), actions: z.array(z.string()) })),
  /** Lower is tried first. */
  priority: z.int(),
  /** Works on this machine alone, so safe mode leaves it. */
  local: z.boolean(),
  /** Flag that must be on; null when none. */
  flag: z.string().nullable(),
  health: ProviderHealth,
});
export type ProviderInfo = z.infer<typeof ProviderInfo>;

/** Which provider an action goes to, and why not to the others. */
export const RouteDecision = z.object({
  /** Null when none can do it now; `reason` says what to do. */
  provider: z.string().nullable(),
  reason: z.string(),
  /** In the order they would be tried, then those that cannot be used. */
  alternatives: z.array(z.object({ provider: z.string(), usable: z.boolean(), reason: z.string() })),
});
export type RouteDecision = z.infer<typeof RouteDecision>;

/** Where a command runs: in a container, in the sandbox of the operating system, or on this machine as the owner. */
export const CommandPlace = z.enum(["container", "os_sandbox", "host"]);
export type CommandPlace = z.infer<typeof CommandPlace>;

export const SandboxState = z.object({
  /** Where a command would run now; null when it cannot be run. */
  place: CommandPlace.nullable(),
  /** One sentence: where commands run, or why they cannot. */
  message: z.string(),
  nextStep: z.string().nullable(),
  engine: z
    .object({
      name: z.enum(["docker", "podman"]),
      version: z.string(),
      /** How it was found: `DOCKER_HOST`, `context NAME`, the socket's name. */
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
    /** Last line of a build, or why it failed. */
    message: z.string().nullable(),
  }),
  container: z.object({
    state: z.enum(["none", "starting", "running", "stopped"]),
    id: z.string().nullable(),
    since: Timestamp.nullable(),
  }),
  /** The sandbox of the operating system: bubblewrap, Seatbelt; null where there is none. */
  osSandbox: z.object({ name: z.string(), version: z.string().nullable() }).nullable(),
  limits: z.object({
    memoryBytes: z.int(),
    cpus: z.number(),
    processes: z.int(),
    timeoutMs: z.int(),
    outputBytes: z.int(),
  }),
  /** `allowlist`: through a proxy that applies the network policy, for commands that were allowed it. */
  network: z.enum(["off", "allowlist"]),
});
export type SandboxState = z.infer<typeof SandboxState>;

/** One line of *Lancelot: Doctor* on what tools need of the machine. */
export const DoctorLine = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(["ok", "warning", "missing"]),
  message: z.string(),
  nextStep: z.string().nullable(),
  /** What a button beside it does; null where only the owner can do it. */
  action: z.enum(["build_image", "restart_sandbox", "open_flags", "open_settings"]).nullable(),
});
export type DoctorLine = z.infer<typeof DoctorLine>;

export const providerMethods = {
  "tools.providers": method({
    summary: "What carries out the tools' actions, with its version and health as last seen.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(ProviderInfo) }),
  }),
  "tools.health": method({
    summary: "Looks at every provider now.",
    access: "any",
    params: z.object({}),
    result: z.object({ ok: z.boolean(), items: z.array(ProviderInfo) }),
  }),
  "tools.route": method({
    summary: "Which provider an action would go to now, and why; nothing is done.",
    access: "any",
    params: z.object({ capability: z.string().min(1).max(100), action: z.string().min(1).max(100).optional() }),
    result: RouteDecision,
  }),
  "tools.sandbox": method({
    summary: "Where commands run, and in what state that is.",
    access: "any",
    params: z.object({}),
    result: SandboxState,
  }),
  "tools.sandbox.build": method({
    summary: "Builds the sandbox's image anew. Answers at once; progress comes as `sandbox` events.",
    access: "owner",
    params: z.object({}),
    result: SandboxState,
  }),
  "tools.sandbox.cancelBuild": method({
    summary: "Stops a build of the sandbox's image.",
    access: "owner",
    params: z.object({}),
    result: SandboxState,
  }),
  "tools.sandbox.restart": method({
    summary: "Ends what runs in the sandbox and starts it anew.",
    access: "owner",
    params: z.object({}),
    result: SandboxState,
  }),
  "tools.doctor": method({
    summary: "What this machine has for running commands and keeping changes, and what to do about what it lacks.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(DoctorLine) }),
  }),
};
