import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { ask, statusOf } from "./engine-call.ts";
import type { Engine } from "./container-engine.ts";
import { labels } from "./orphaned-containers.ts";
import type { TaskContainers } from "./container-pool.ts";

/** The volumes with the copy of a task: the workspace's files, and /tmp. */
export interface CopyVolumes {
  readonly files: string;
  readonly temporary: string;
}

const prefix = "lancelot-";
/** How often the removal of a volume that is in use is tried, and how long (ms) in between. */
const inUseLooks = 10;
const inUseMs = 200;

/** Creates the volumes of a task, which may exist. */
export async function makeVolumes(engine: Engine, { id, labels: own }: TaskContainers): Promise<CopyVolumes> {
  const volumes = volumesOf(id);
  const { [labels.data]: data, [labels.task]: task } = own;
  const Labels = { [labels.data]: data ?? "", [labels.task]: task ?? "" };
  for (const Name of [volumes.files, volumes.temporary]) {
    try {
      await ask((abortSignal) => engine.docker.createVolume({ Name, Labels, abortSignal }));
    } catch (error) {
      // Podman does not take a name twice, Docker does.
      if (statusOf(error) === null || !(await isThere(engine, Name))) throw error;
    }
  }
  return volumes;
}

function volumesOf(id: string): CopyVolumes {
  return { files: `${prefix}${id}-files`, temporary: `${prefix}${id}-tmp` };
}

async function isThere(engine: Engine, name: string): Promise<boolean> {
  return ask((abortSignal) => engine.docker.getVolume(name).inspect({ abortSignal })).then(
    () => true,
    () => false,
  );
}

/** Removes the volumes of a task. Those that stay in use are removed by the next cleanup. */
export async function removeVolumes(engine: Engine, { id }: TaskContainers): Promise<void> {
  const { files, temporary } = volumesOf(id);
  for (const name of [files, temporary]) await removeVolume(engine, name);
}

/** A busy engine says for a moment after a container's end that its volumes are in use (409). */
async function removeVolume(engine: Engine, name: string): Promise<void> {
  for (let left = inUseLooks; left > 0; left -= 1) {
    try {
      return await ask((abortSignal) => engine.docker.getVolume(name).remove({ abortSignal }));
    } catch (error) {
      if (statusOf(error) !== 409) return;
      await wait(inUseMs);
    }
  }
}

/**
 * Removes the volumes of tasks whose folders are gone. Never throws.
 * @param nameOf names a task by its folder, as in the labels @param folder contains the folders of tasks, by workspace
 */
export async function removeOrphanedVolumes(
  engine: Engine,
  { data, nameOf, folder }: { data: string; nameOf: (folder: string) => string; folder: string },
): Promise<void> {
  try {
    const filters = JSON.stringify({ label: [`${labels.data}=${data}`] });
    const { Volumes } = await ask((abortSignal) => engine.docker.listVolumes({ filters, abortSignal }));
    const kept = new Set(foldersBelow(folder, 2).map(nameOf));
    for (const { Name, Labels } of Volumes ?? []) {
      const task = Labels?.[labels.task];
      if (!Name.startsWith(prefix) || task === undefined || kept.has(task)) continue;
      // It may be in use: another window of the data folder tries out the engine.
      await ask((abortSignal) => engine.docker.getVolume(Name).remove({ abortSignal })).catch(() => undefined);
    }
  } catch {
    // The next view tries again.
  }
}

function foldersBelow(folder: string, depth: number): string[] {
  try {
    const inner = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(folder, name));
    return depth === 1 ? inner : [...inner, ...inner.flatMap((each) => foldersBelow(each, depth - 1))];
  } catch {
    return [];
  }
}
