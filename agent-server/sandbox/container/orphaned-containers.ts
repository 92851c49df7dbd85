import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeMaskFolder } from "../secret-masks.ts";
import { ask } from "./engine-call.ts";
import type { Engine } from "./container-engine.ts";
import { removeContainer } from "./warm-container.ts";

/** Labels of Lancelot's containers: data folder, host and workspace, and the folder of the task that it shows. */
export const labels = {
  data: "lancelot.data",
  host: "lancelot.host",
  workspace: "lancelot.workspace",
  task: "lancelot.task",
} as const;

export interface OrphanCleanupDeps {
  readonly engine: Engine;
  readonly hostId: string;
  /** Containers of other data folders are never removed, because their hosts are unknown here. */
  readonly data: string;
  readonly hostAlive: (hostId: string) => boolean;
  /** Ids of the containers this host uses. */
  readonly mine: ReadonlySet<string>;
  /** Contains one folder per host. */
  readonly folder: string;
  /** Removes everything in a folder, also what belongs to root. */
  readonly empty: (folder: string) => Promise<void>;
}

/** Contains, in a host's folder, the working folders of its mounts. */
export const workName = "work";

/**
 * Removes containers of dead hosts, and unknown ones of this host. Containers normally end with their host; this covers an engine that
 * stopped first. Never throws.
 */
export async function removeOrphanedContainers(deps: OrphanCleanupDeps, signal?: AbortSignal): Promise<void> {
  const gone = (host: string | undefined) => host !== undefined && host !== deps.hostId && !deps.hostAlive(host);
  try {
    const filters = { label: [`${labels.data}=${deps.data}`] };
    const found = await ask((abortSignal) => deps.engine.docker.listContainers({ all: true, filters, abortSignal }), undefined, signal);
    await Promise.all(
      found
        .filter(({ Id, Labels }) => gone(Labels[labels.host]) || (Labels[labels.host] === deps.hostId && !deps.mine.has(Id)))
        .map(({ Id }) => removeContainer(deps.engine.docker.getContainer(Id))),
    );
  } catch {
    // The next connection to the engine retries this.
  }
  try {
    for (const host of readdirSync(deps.folder)) {
      if (!gone(host)) continue;
      const left = join(deps.folder, host);
      removeMaskFolder(left);
      try {
        rmSync(left, { recursive: true, force: true });
      } catch {
        await deps.empty(join(left, workName));
        rmSync(left, { recursive: true, force: true });
      }
    }
  } catch {
    // The folder does not exist yet.
  }
}
