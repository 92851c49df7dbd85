import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { OverlayLayer, OverlayView } from "../../workspace/workspace.ts";
import { pathOf } from "../command-environment.ts";
import { type OverlayOptions, overlaps, prepareFolders, releaseLayer, temporaryName } from "./overlay-folders.ts";

/** Where the task's temporary folder stands in the namespace: a path that always exists and that no command is shown. */
export const temporaryInView = "/sys";

/** How long (ms) mounting may take. */
const mountWithin = 10_000;
/** How long (ms) the process may take to end by itself. */
const endWithin = 2_000;
/** Maximum length of an error message that is kept. */
const maxProblem = 2_000;

/**
 * Runs in the task's folder, with the options of its mounts: mounts each layer, given as its name and the folder to show, and the temporary
 * folder; then waits until standard input ends. For each line it mounts the layers again, so that the system forgets which entries it knew.
 * Names are relative (`-c` keeps them so), because overlay options cannot contain every character and because the folders above may be
 * closed to the commands' user.
 */
const script = `
options=$1
shift
count=$(($# / 2))
while [ $count -gt 0 ]; do
  mount -c --rbind "$2" "$1/lower" || exit 1
  mount -c -t overlay overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work,$options" "$2" || exit 1
  set -- "$@" "$2"
  shift 2
  count=$((count - 1))
done
mount -c --bind ${temporaryName} ${temporaryInView} || exit 1
cd /
printf ready
while read -r line; do
  for lower; do mount -c -i -n -o remount "$lower" || exit 1; done
  printf done
done
exit 0`;

/**
 * Mounts layers in a mount namespace of its own: as an ordinary user by a user namespace; as root without one, so that files of all owners
 * can be copied, and programs that enter become the commands' user.
 * @throws LancelotError `unavailable`, with what the system said, where overlays cannot be mounted.
 */
export async function openOverlayView({ sandbox, folder, layers, env, owner, marks = "user" }: OverlayOptions): Promise<OverlayView> {
  if (overlaps(folder, layers))
    throw new LancelotError("unavailable", "Lancelot's data folder lies in the workspace, so the workspace cannot be shown copy-on-write.");
  const wasReset = prepareFolders({ folder, layers, owner, marks });
  const asRoot = process.getuid?.() === 0;
  const options = marks === "user" ? "userxattr,volatile" : "volatile";
  const words = layers.flatMap(({ name, lower }) => [name, lower]);
  const holder = spawn("unshare", [asRoot ? "-m" : "-Urm", "--", "sh", "-c", script, "lancelot", options, ...words], {
    cwd: folder,
    env: { PATH: pathOf(env) },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = new Promise<void>((resolve) => {
    holder.once("exit", () => resolve());
    holder.once("error", () => resolve());
  });
  holder.stdin.on("error", () => undefined);
  try {
    await mounted(holder);
  } catch (error) {
    holder.kill("SIGKILL");
    await exited;
    throw error;
  }
  const pid = String(holder.pid);
  const alive = () => holder.exitCode === null && holder.signalCode === null;
  return {
    sandbox,
    folder,
    layers,
    wasReset,
    upper: ({ name }) => join(folder, name, "upper"),
    merged: ({ lower }) => `/proc/${pid}/root${lower}`,
    enter: ["nsenter", "-t", pid, "-m", ...(asRoot ? becoming(owner) : ["-U", "--preserve-credentials"]), "--"],
    async refresh() {
      if (!alive()) return;
      const done = new Promise<void>((resolve) => holder.stdout.once("data", () => resolve()));
      holder.stdin.write("refresh\n");
      await Promise.race([done, exited]);
    },
    alive,
    async close() {
      holder.stdin.end();
      const late = setTimeout(() => holder.kill("SIGKILL"), endWithin);
      await exited;
      clearTimeout(late);
    },
  };
}

/**
 * Opens a view of a folder and closes it again, to learn whether the system supports it.
 * @param within a folder on the file system of the tasks' folders
 * @returns why not, or null
 */
export async function tryOverlayView(
  within: string,
  of: Omit<OverlayOptions, "folder" | "layers"> & { lower: string },
): Promise<string | null> {
  const { lower, ...options } = of;
  const layer: OverlayLayer = { name: "try", lower };
  mkdirSync(within, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(within, "view-"));
  try {
    await (await openOverlayView({ ...options, folder, layers: [layer] })).close();
    return null;
  } catch (error) {
    if (error instanceof LancelotError) return error.message;
    throw error;
  } finally {
    releaseLayer(join(folder, layer.name));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Words by which `nsenter` changes to a user and drops all groups. */
function becoming(owner: OverlayOptions["owner"]): string[] {
  return owner === undefined ? [] : ["-S", String(owner.uid), "-G", String(owner.gid)];
}

/** Resolves when the process reports that everything is mounted. */
function mounted(holder: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let problem = "";
  const fail = (cause?: unknown): void =>
    reject(
      new LancelotError("unavailable", `The workspace cannot be shown copy-on-write here. ${problem.trim()}`.trim(), {
        ...(cause === undefined ? {} : { cause }),
      }),
    );
  const late = setTimeout(fail, mountWithin);
  holder.stdout?.once("data", () => resolve());
  holder.stderr?.on("data", (bytes: Buffer) => (problem = `${problem}${bytes.toString("utf8")}`.slice(0, maxProblem)));
  holder.once("error", fail);
  holder.once("close", () => fail());
  return promise.finally(() => clearTimeout(late));
}
