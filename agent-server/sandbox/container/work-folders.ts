import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Engine } from "./container-engine.ts";
import { ask } from "./engine-call.ts";
import { removeContainer } from "./warm-container.ts";

/**
 * Working folders of an engine's overlay mounts, one for each. The system creates folders of the mounting user there and does not remove
 * them, so an engine of root leaves what an ordinary user cannot remove. Therefore they are not in the folders of tasks.
 */
export interface WorkFolders {
  /** Creates one. @returns its path */
  make(): string;
  /** Removes the folders of mounts that are gone, at the latest with `close`. */
  remove(paths: readonly string[]): void;
  close(): Promise<void>;
}

/** Folders that wait for the engine, whose removal takes as long as a command. */
const maxWaiting = 100;
const emptyWithin = 30_000;

/**
 * @param folder absolute; on the file system of the layers
 * @param emptyByEngine removes everything in a folder
 */
export function createWorkFolders(folder: string, emptyByEngine: (folder: string) => Promise<void>): WorkFolders {
  const trash = join(folder, "trash");
  const state = { waiting: 0, emptying: Promise.resolve() };
  const empty = (): Promise<void> => {
    state.waiting = 0;
    state.emptying = state.emptying.then(() => emptyByEngine(trash)).catch(() => undefined);
    return state.emptying;
  };
  return {
    make() {
      const path = join(folder, randomBytes(8).toString("hex"));
      mkdirSync(path, { recursive: true, mode: 0o700 });
      return path;
    },
    remove(paths) {
      for (const path of paths) {
        if (removeOwn(path)) continue;
        mkdirSync(trash, { recursive: true, mode: 0o700 });
        renameSync(path, join(trash, basename(path)));
        state.waiting += 1;
      }
      if (state.waiting >= maxWaiting) void empty();
    },
    close: () => (state.waiting > 0 ? empty() : state.emptying),
  };
}

/** False where root owns its content and this process is not root. */
function removeOwn(path: string): boolean {
  const own = join(path, "work");
  try {
    // The system closes its folders there to everybody.
    for (const closed of [own, join(own, "incompat"), join(own, "incompat/volatile")]) if (existsSync(closed)) chmodSync(closed, 0o700);
    rmSync(path, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * Removes everything in a folder with a container that sees nothing else of this machine, as its engine's user.
 * @param image an image with `rm`
 */
export async function emptyByEngine(engine: Engine, image: string, folder: string, labels: Record<string, string>): Promise<void> {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return;
  const container = await ask(() =>
    engine.docker.createContainer({
      Image: image,
      Entrypoint: ["/bin/sh"],
      Cmd: ["-c", "rm -rf /work/*"],
      User: "0:0",
      WorkingDir: "/",
      Labels: labels,
      HostConfig: {
        NetworkMode: "none",
        Mounts: [{ Type: "bind", Source: folder, Target: "/work", BindOptions: { Propagation: "rprivate" } }],
        ReadonlyRootfs: true,
        CapDrop: ["ALL"],
        // Its folders are closed to their owner as well.
        CapAdd: ["DAC_OVERRIDE"],
        SecurityOpt: ["no-new-privileges"],
        LogConfig: { Type: "none", Config: {} },
      },
    }),
  );
  try {
    await ask((abortSignal) => container.start({ abortSignal }), emptyWithin);
    await ask((abortSignal) => container.wait({ abortSignal }), emptyWithin);
    if (readdirSync(folder).length === 0) rmdirSync(folder);
  } finally {
    await removeContainer(container);
  }
}
