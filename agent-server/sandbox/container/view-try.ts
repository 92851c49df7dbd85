import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { OverlayLayer, OverlayView } from "../../workspace/workspace.ts";
import { releaseLayer } from "../overlay/overlay-folders.ts";
import type { ShellCommand, ShellResult } from "../shell-provider.ts";
import { engineMessage } from "./engine-call.ts";

/** How a command is tried in a view of a small tree. */
export interface ViewTry {
  readonly dataDir: string;
  readonly workspace: string;
  /** Timeout of the command. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly runCommand: (command: ShellCommand) => Promise<ShellResult>;
  /** The path of the tree in a temporary folder. */
  lowerIn(folder: string): string;
  /** The layers of the view; the first one shows the tree. */
  layersOf(lower: string): readonly [OverlayLayer, ...OverlayLayer[]];
  open(task: { readonly folder: string; readonly layers: readonly OverlayLayer[] }): Promise<OverlayView>;
  cleanup?(task: string): Promise<void>;
}

/**
 * Runs a command that replaces a folder in a view, to learn whether the engine supports it.
 * @returns why not, for the user, or null
 */
export async function tryView(how: ViewTry): Promise<string | null> {
  const within = join(how.dataDir, "sandbox");
  mkdirSync(within, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(within, "try-"));
  const [lower, task] = [how.lowerIn(folder), join(folder, "task")];
  const layers = how.layersOf(lower);
  const [layer] = layers;
  let view: OverlayView | null = null;
  try {
    makeTree(lower, statSync(how.workspace));
    view = await how.open({ folder: task, layers });
    let said = "";
    const result = await how.runCommand({
      ...{ command: "rm -r sub && mkdir sub && echo new > sub/new", cwd: lower, view, network: false },
      ...{ timeoutMs: how.timeoutMs, outputBytes: 1_000, signal: how.signal ?? AbortSignal.timeout(2 * how.timeoutMs) },
      onOutput: (_stream, bytes) => (said += Buffer.from(bytes).toString("utf8")),
      onStarted: () => undefined,
    });
    if (result.exitCode !== 0) return `A command could not change files in it (${said.trim() || result.ended}).`;
    const isHeldBack = existsSync(join(lower, "sub/old")) && !existsSync(join(lower, "sub/new"));
    const isStored = existsSync(join(view.upper(layer), "sub/new")) && readdirSync(join(view.merged(layer), "sub")).join() === "new";
    return isHeldBack && isStored ? null : "The engine runs on another machine, or stores the changes in another way.";
  } catch (error) {
    return error instanceof LancelotError ? error.message : engineMessage(error);
  } finally {
    await view?.close();
    for (const { name } of layers) releaseLayer(join(task, name));
    await how.cleanup?.(task);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates a small tree that belongs to the commands' user. */
function makeTree(folder: string, { uid, gid }: { uid: number; gid: number }): void {
  const sub = join(folder, "sub");
  const old = join(sub, "old");
  mkdirSync(sub, { recursive: true });
  writeFileSync(old, "old\n");
  if (process.getuid?.() === 0) for (const path of [folder, sub, old]) chownSync(path, uid, gid);
}
