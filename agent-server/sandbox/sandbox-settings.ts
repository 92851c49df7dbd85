import * as z from "zod";
import type { SandboxLimits } from "./shell-provider.ts";
import { type ConfigFile, createLayeredConfig } from "../storage/storage.ts";

const megabyte = 1 << 20;

/** `config/sandbox.yaml`. Sizes in bytes. */
export const SandboxSettings = z.strictObject({
  version: z.literal(1).default(1),
  /** Address of the container engine; null detects one. */
  engine: z
    .string()
    .regex(/^(unix|tcp|https|ssh|npipe):\/\//, "an address starts with unix://, tcp://, ssh:// or npipe://")
    .nullable()
    .default(null),
  /** `shipped`, `dev_container`, or the name of an image. */
  image: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._:/@-]{0,254}$/i, "not a valid image name")
    .default("shipped"),
  memory_bytes: z
    .int()
    .min(64 * megabyte)
    .default(4096 * megabyte),
  cpus: z.number().min(0.1).max(1024).default(2),
  processes: z.int().min(16).max(1_000_000).default(1024),
  scratch_bytes: z
    .int()
    .min(megabyte)
    .default(1024 * megabyte),
  workspace_bytes: z
    .int()
    .min(megabyte)
    .default(8192 * megabyte),
  /** Absolute, or below the home folder with `~/`. */
  readable_folders: z
    .array(
      z
        .string()
        .regex(/^(~\/|\/|[A-Za-z]:[\\/])/, "a folder starts with ~/ or /")
        .max(4096),
    )
    .max(200)
    .default([]),
  /** Globs or paths relative to the workspace. A pattern without a slash matches a name in any folder. */
  readable_secrets: z
    .array(
      z
        .string()
        .regex(/^(?![!/~\\])(?!.*(?:^|\/)\.\.(?:\/|$)).+$/, "a path or glob is relative to the workspace, without .. and !")
        .max(500),
    )
    .max(200)
    .default([]),
  timeout_seconds: z.int().min(1).max(86_400).default(600),
  output_bytes: z.int().min(1_000).max(100_000_000).default(1_000_000),
});
export type SandboxSettings = z.infer<typeof SandboxSettings>;

/**
 * `config/sandbox.yaml`: the shipped file with the user's over it, key by key. While `problem` is set, no command may run,
 * because the remaining limits could be wider than the user's.
 */
export function createSandboxSettings(deps: { configDir: string | null; dataDir: string }): ConfigFile<SandboxSettings> {
  return createLayeredConfig({
    ...deps,
    name: "sandbox.yaml",
    schema: SandboxSettings,
    consequence: "Commands cannot run until you correct it.",
  });
}

/** Limits of a sandbox for commands. */
export function limitsOf(settings: SandboxSettings): SandboxLimits {
  return {
    memoryBytes: settings.memory_bytes,
    cpus: settings.cpus,
    processes: settings.processes,
    scratchBytes: settings.scratch_bytes,
    workspaceBytes: settings.workspace_bytes,
  };
}
