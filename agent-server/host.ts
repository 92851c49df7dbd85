import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { protocolVersion } from "./contract/common.ts";
import { LancelotError } from "./contract/errors.ts";
import type { HostInfo } from "./contract/host.ts";
import type { Handlers } from "./contract/table.ts";
import { createHandlers } from "./host-handlers.ts";
import type { HostOptions } from "./host-options.ts";
import { afterLock } from "./host-lock.ts";
import { createHostServices } from "./host-services.ts";
import type { Audit } from "./receipts/receipts.ts";
import type { Redactor } from "./security/security.ts";

export type { HostOptions } from "./host-options.ts";

export interface Host {
  readonly handlers: Handlers;
  readonly redactor: Redactor;
  /** Records requests that a gateway rejects. */
  readonly audit: Pick<Audit, "note">;
  info(): HostInfo;
  /** True when a model can answer now. `health.ready` reports the reason. */
  hasModel(): Promise<boolean>;
  /** Stops quests, closes streams and processes, and writes pending data. */
  close(): Promise<void>;
}

/**
 * Opens a host on a data folder and a workspace. The composition root: only the `host-*.ts` files next to it know every module.
 * @throws LancelotError with a message for the user when the data folder or the workspace cannot be used.
 */
export async function createHost(options: HostOptions): Promise<Host> {
  const { workspace, emit } = options;
  if (workspace !== null && !(existsSync(workspace) && statSync(workspace).isDirectory()))
    throw new LancelotError("not_found", `The workspace ${workspace} is not a folder.`);
  const startedAt = new Date().toISOString();
  const version = readVersion(options.paths.root);
  const services = createHostServices(options, version);
  services.tools.routing.start();
  const info = (): HostInfo => ({
    name: "lancelot",
    version,
    protocolVersion,
    pid: process.pid,
    workspace: workspace === null ? null : basename(workspace),
    trusted: options.trusted,
    posture: services.governance.posture(),
    safeMode: services.safeMode.enabled(),
    sleeping: services.sleep.current(),
    maxRunningTasks: services.maxRunningTasks(),
    startedAt,
    lastEventSeq: options.lastEventSeq(),
  });

  return {
    handlers: afterLock(createHandlers(services, { info, workspace, emit }), services.storage),
    redactor: services.redactor,
    audit: services.audit,
    info,
    hasModel: async () => (await services.models.active().catch(() => null)) !== null,
    close: services.close,
  };
}

function readVersion(root: string): string {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  return manifest.version;
}
