import type { SandboxLimits } from "../../../agent-server/sandbox/shell-provider.ts";

export const megabyte = 1 << 20;

/** What every place of the suite is opened with: small, so that reaching a limit is quick. */
export const isolationLimits: SandboxLimits = {
  memoryBytes: 192 * megabyte,
  cpus: 1,
  processes: 96,
  scratchBytes: 24 * megabyte,
  workspaceBytes: 48 * megabyte,
};
