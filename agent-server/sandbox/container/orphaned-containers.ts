import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ask } from "./engine-call.ts";
import type { Engine } from "./container-engine.ts";
import { removeContainer } from "./warm-container.ts";

/** Labels by which our containers are known: whose data folder, which host, which workspace. */
export const labels = { data: "lancelot.data", host: "lancelot.host", workspace: "lancelot.workspace" } as const;

export interface OrphanCleanupDeps {
  readonly engine: Engine;
  readonly hostId: string;
  /** Hosts of another data folder are not known here, so their containers are left alone. */
  readonly data: string;
  readonly hostAlive: (hostId: string) => boolean;
  /** Container ids that this host works with. */
  readonly mine: ReadonlySet<string>;
  /** Holds a folder for each host. */
  readonly folder: string;
}

/** Removes containers of hosts that are gone, and of this one that it knows no more. A container ends with its host by itself; this is for the case that its engine went first. Never throws. */
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
    // The engine will be asked again at its next connection.
  }
  try {
    for (const host of readdirSync(deps.folder)) if (gone(host)) rmSync(join(deps.folder, host), { recursive: true, force: true });
  } catch {
    // There is no such folder yet.
  }
}
