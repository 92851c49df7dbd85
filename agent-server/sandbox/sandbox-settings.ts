import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { SandboxLimits } from "./shell-provider.ts";
import { parseShipped } from "../shipped-yaml.ts";

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
  timeout_seconds: z.int().min(1).max(86_400).default(600),
  output_bytes: z.int().min(1_000).max(100_000_000).default(1_000_000),
});
export type SandboxSettings = z.infer<typeof SandboxSettings>;

export interface SandboxSettingsRead {
  readonly settings: SandboxSettings;
  /** One sentence. While it is set, no command may run, because the fallback limits could be wider than the user's. */
  readonly problem: string | null;
}

/** Reads `config/sandbox.yaml`: the shipped file, merged with the user's from the data folder, key by key. */
export function readSandboxSettings(deps: { configDir: string | null; dataDir: string }): SandboxSettingsRead {
  let laid: Record<string, unknown> = {};
  for (const folder of [...(deps.configDir === null ? [] : [deps.configDir]), join(deps.dataDir, "config")]) {
    try {
      const found: unknown = parseShipped(readFileSync(join(folder, "sandbox.yaml"), "utf8")).value ?? {};
      if (typeof found !== "object" || Array.isArray(found)) throw new Error("it is not a list of settings");
      laid = SandboxSettings.parse({ ...laid, ...found });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
      return {
        settings: SandboxSettings.parse(laid),
        problem: `Commands cannot run until config/sandbox.yaml is corrected: ${sentence(error)}`,
      };
    }
  }
  return { settings: SandboxSettings.parse(laid), problem: null };
}

/** The same with a cache that is reset when one of the files changes. */
export function createSandboxSettings(deps: { configDir: string | null; dataDir: string }): () => SandboxSettingsRead {
  const files = [...(deps.configDir === null ? [] : [deps.configDir]), join(deps.dataDir, "config")].map((folder) =>
    join(folder, "sandbox.yaml"),
  );
  let seen = "";
  let known: SandboxSettingsRead | null = null;
  return () => {
    const stamp = files
      .map((file) => {
        const stats = statSync(file, { throwIfNoEntry: false });
        return stats === undefined ? "none" : `${stats.mtimeMs}:${stats.size}:${stats.ino}`;
      })
      .join(" ");
    if (known === null || stamp !== seen) known = readSandboxSettings(deps);
    seen = stamp;
    return known;
  };
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

function sentence(error: unknown): string {
  if (error instanceof z.ZodError) {
    const issue = error.issues[0];
    return `${issue?.path.join(".") || "it"}: ${issue?.message ?? "is invalid"}.`;
  }
  return `${(error instanceof Error ? error.message : "it cannot be read").split("\n")[0]}.`;
}
