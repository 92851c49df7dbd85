import { createOsShell } from "../../../agent-server/sandbox/os-sandbox.ts";
import { type OsShellDeps } from "../../../agent-server/sandbox/os/os-shell-deps.ts";
import type { ShellProvider } from "../../../agent-server/sandbox/shell-provider.ts";
import { isolationLimits } from "./limits.ts";
import type { SandboxFixture } from "./fixture.ts";
import { masksOf } from "./masks.ts";

/** The sandbox of the operating system on a room's workspace, small, without network unless given. */
export function openOsShell(
  fixture: Pick<SandboxFixture, "workspace" | "dataDir" | "protectedPaths">,
  more: Partial<OsShellDeps> = {},
): ShellProvider {
  return createOsShell({
    workspace: fixture.workspace,
    dataDir: fixture.dataDir,
    masked: masksOf({ workspace: fixture.workspace, dataDir: fixture.dataDir, ...more }),
    limits: () => isolationLimits,
    protectedPaths: () => fixture.protectedPaths,
    egress: null,
    log: () => {},
    ...more,
  });
}
