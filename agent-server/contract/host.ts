import * as z from "zod";
import { Timestamp } from "./common.ts";
import { Posture } from "./governance.ts";
import { method } from "./method.ts";

/** Flags by name, from the editor's settings. */
export const Features = z.record(z.string().max(100), z.boolean());

/** How many tasks may run at a time in one host (`lancelot.maxRunningTasks`). */
export const MaxRunningTasks = z.int().min(1).max(16);

/** A file of the owner's `config/` folder that is not used, or that has settings without effect. */
export const ConfigProblem = z.object({
  /** Such as `config/memory.yaml`. */
  file: z.string(),
  /** Names the file, the line, the fault and what it means, for the user. */
  message: z.string(),
});
export type ConfigProblem = z.infer<typeof ConfigProblem>;

export const HostInfo = z.object({
  name: z.literal("lancelot"),
  version: z.string(),
  protocolVersion: z.int(),
  pid: z.int(),
  /** Folder name of the workspace, not its path. */
  workspace: z.string().nullable(),
  /** Whether the owner trusts the workspace; nothing is written in an untrusted one. */
  trusted: z.boolean(),
  posture: Posture,
  /** Whether safe mode is on: only features that work on this machine are available. */
  safeMode: z.boolean(),
  /** Why Lancelot sleeps and starts no tasks, in the owner's words; null while it is awake. */
  sleeping: z.object({ reason: z.string(), since: Timestamp }).nullable(),
  /** How many tasks may run at a time in this host. */
  maxRunningTasks: z.int(),
  startedAt: Timestamp,
  /** Last event sequence number of this host. */
  lastEventSeq: z.int(),
});
export type HostInfo = z.infer<typeof HostInfo>;

export const hostMethods = {
  "host.info": method({
    summary: "Describes this host.",
    access: "any",
    params: z.object({}),
    result: HostInfo,
    route: { method: "GET", path: "/system/status" },
  }),
  "host.configure": method({
    summary: "Applies the owner's editor settings.",
    access: "owner",
    params: z.object({
      posture: Posture.optional(),
      approvalTimeoutSeconds: z.int().min(10).max(86_400).optional(),
      /** All flags set in the editor; other flags come from the owner's file and the environment. */
      features: Features.optional(),
      /** How many tasks may run at a time; further ones wait for their turn. */
      maxRunningTasks: MaxRunningTasks.optional(),
    }),
    result: HostInfo,
  }),
  "host.sleep": method({
    summary: "Starts no tasks in any window of the data folder until host.wake. What runs is completed.",
    access: "owner",
    params: z.object({ reason: z.string().trim().max(500).default("") }),
    result: HostInfo,
  }),
  "host.wake": method({
    summary: "Starts tasks again after host.sleep.",
    access: "owner",
    params: z.object({ reason: z.string().trim().max(500).default("") }),
    result: HostInfo,
  }),
  "health.live": method({
    summary: "Reports that the process is alive.",
    access: "any",
    params: z.object({}),
    result: z.object({ status: z.literal("alive") }),
    route: { method: "GET", path: "/health/live" },
  }),
  "health.ready": method({
    summary: "Reports readiness, with the reasons for degraded features. Never fails.",
    access: "any",
    params: z.object({}),
    result: z.object({
      ready: z.boolean(),
      onboardingState: z.string(),
      localLlmReady: z.boolean(),
      schedulerRunning: z.boolean(),
      lastHealthTickAt: Timestamp.nullable(),
      lastSchedulerTickAt: Timestamp.nullable(),
      degradedReasons: z.array(z.string()),
      /** Files of the owner's `config/` folder that are not used, or have settings without effect. */
      configProblems: z.array(ConfigProblem),
      timestamp: Timestamp,
    }),
    route: { method: "GET", path: "/health/ready" },
  }),
};
