import type { CommandPlace } from "../contract/providers.ts";
import type { FlagName } from "../flags/flags.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log } from "../security/security.ts";
import type { SandboxControl } from "./sandbox-control.ts";
import { createContainerShell } from "./container.ts";
import { createEgressProxy, type EgressConnection } from "./egress.ts";
import { createHostShell } from "./host-shell.ts";
import { createOsShell } from "./os-sandbox.ts";
import { createSecretFiles } from "./secret-masks.ts";
import { createSandboxSettings, limitsOf } from "./sandbox-settings.ts";
import { readableFolders, toolchainEnvironment, toolManagers } from "./toolchains.ts";
import type { ShellProvider } from "./shell-provider.ts";

export type { EgressConnection } from "./egress.ts";
export type { SandboxControl } from "./sandbox-control.ts";
export { createSandboxSettings } from "./sandbox-settings.ts";
export type { BackgroundProcess, ShellCommand, ShellProvider, ShellResult } from "./shell-provider.ts";

export interface SandboxDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  readonly dataDir: string;
  readonly configDir: string;
  readonly hostId: string;
  readonly hostAlive: (hostId: string) => boolean;
  readonly governance: Pick<Governance, "isSecretFile" | "judgeName" | "judgeUrl" | "resolvePath">;
  /** Receives the secret files of the workspace before a command runs; redaction then finds their values. */
  readonly learnSecrets: (path: string, bytes: Uint8Array) => void;
  readonly ledger: Pick<Ledger, "record">;
  readonly flag: (name: FlagName) => boolean;
  /** The user's environment, which names an engine and the language. Commands receive nothing else of it. */
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly log: Log;
}

/** Usual locations of files that control programs; those that policy protects are read-only for commands. */
const decisive = [
  ".git/hooks",
  ".git/config",
  ".git/config.worktree",
  ".git/info/attributes",
  ".vscode/settings.json",
  ".vscode/tasks.json",
  ".vscode/launch.json",
  ".vscode/extensions.json",
  ".vscode/mcp.json",
  ".mcp.json",
  ".cursor/mcp.json",
  ".devcontainer/devcontainer.json",
  ".devcontainer.json",
];

export interface Sandbox {
  readonly shells: readonly ShellProvider[];
  readonly control: SandboxControl;
  /** Makes the values of the workspace's secret files known to redaction. */
  readonly learnSecrets: () => Promise<void>;
  /** What is known about the programs of a place without looking for it: packages of the image, tool managers. */
  programs(place: CommandPlace): readonly string[];
  /** Why the user's config/sandbox.yaml is not used; null when it is, or there is none. */
  configProblem(): string | null;
  close(): Promise<void>;
}

/** The sandboxes for one workspace's commands in order of preference, and the user's controls (requirement T2). */
export function createSandbox(deps: SandboxDeps): Sandbox {
  const { workspace, dataDir, configDir, env, log, governance, ledger } = deps;
  const settings = createSandboxSettings({ configDir, dataDir });
  const protectedPaths = () => decisive.filter((path) => [path, `${path}/x`].some((name) => governance.judgeName(name) === "protected"));
  /** Records the connections of a command. */
  const onConnection = ({ host, allowed, bytes, reason }: EgressConnection): void => {
    ledger.record(
      { actionType: "system", actionName: "network.connection", inputs: { title: host, host }, riskTier: "T2" },
      { status: allowed ? "success" : "failure", outputs: { bytes }, ...(reason === null ? {} : { errorMessage: reason }) },
    );
  };
  const egress = createEgressProxy({ judge: governance.judgeUrl, onConnection, log });
  const secrets = createSecretFiles({ workspace, dataDir, governance, settings, learn: deps.learnSecrets, log });
  const container = createContainerShell({
    ...{ workspace, dataDir, configDir, env, log, settings, protectedPaths, masked: secrets.mask, egress },
    hostId: deps.hostId,
    hostAlive: deps.hostAlive,
    home: deps.home,
    platform: process.platform,
  });
  const readable = () => readableFolders(settings.read().value.readable_folders, { home: deps.home, workspace, dataDir });
  const toolchains = () => toolchainEnvironment(env, deps.home, readable());
  const os = createOsShell({
    ...{ workspace, dataDir, env, log, protectedPaths, masked: secrets.mask, egress, readable },
    limits: () => limitsOf(settings.read().value),
    problem: () => settings.read().problem,
    toolchains,
  });
  const host = createHostShell({ workspace, dataDir, env, learnSecrets: secrets.learn, enabled: () => deps.flag("TOOLS_HOST_EXECUTION") });

  return {
    shells: [container, os, host],
    control: {
      state: () => ({ ...container.state(), network: deps.flag("TOOLS_NETWORK") ? "allowlist" : "off" }),
      // Returns when the build has started; its progress arrives as state changes.
      async build() {
        container.build().catch((error: unknown) => log("the sandbox's image was not built", error));
        await Promise.resolve();
      },
      async cancelBuild() {
        container.cancelBuild();
        await Promise.resolve();
      },
      restart: () => container.restart(),
      onChange: container.onChange,
    },
    learnSecrets: secrets.learn,
    programs: (place) => (place === "container" ? container.packages() : place === "os_sandbox" ? toolManagers(toolchains()) : []),
    configProblem: () => settings.read().problem,
    close: () => egress.close(),
  };
}
