import * as z from "zod";
import { Timestamp } from "./common.ts";
import { Posture } from "./governance.ts";
import { method } from "./method.ts";

/** Flags by name, as the editor's settings have them. */
export const Features = z.record(z.string().max(100), z.boolean());

export const HostInfo = z.object({
  name: z.literal("lancelot"),
  version: z.string(),
  protocolVersion: z.int(),
  pid: z.int(),
  /** Folder name of the workspace, not its path. */
  workspace: z.string().nullable(),
  /** The owner trusts the workspace; in another one nothing is written. */
  trusted: z.boolean(),
  posture: Posture,
  /** Only what works on this machine is left. */
  safeMode: z.boolean(),
  startedAt: Timestamp,
  /** Last event sequence number of this host. */
  lastEventSeq: z.int(),
});
export type HostInfo = z.infer<typeof HostInfo>;

export const hostMethods = {
  "host.info": method({
    summary: "What this host is.",
    access: "any",
    params: z.object({}),
    result: HostInfo,
    route: { method: "GET", path: "/system/status" },
  }),
  "host.configure": method({
    summary: "Sets what the owner's editor settings decide.",
    access: "owner",
    params: z.object({
      posture: Posture.optional(),
      approvalTimeoutSeconds: z.int().min(10).max(86_400).optional(),
      /** Flags the owner set in the editor, all of them; what is not named is left to the owner's file and the environment. */
      features: Features.optional(),
    }),
    result: HostInfo,
  }),
  "health.live": method({
    summary: "Says that the process is alive.",
    access: "any",
    params: z.object({}),
    result: z.object({ status: z.literal("alive") }),
    route: { method: "GET", path: "/health/live" },
  }),
  "health.ready": method({
    summary: "What works now, and what does not and why. Never an error.",
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
      timestamp: Timestamp,
    }),
    route: { method: "GET", path: "/health/ready" },
  }),
};
