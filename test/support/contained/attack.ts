import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { startEngine, toolsImage } from "../engine/engine.ts";
import { startRemoteEngine } from "../engine/remote-engine.ts";
import { startPodman } from "../setup/podman.mjs";
import { bytePictureOf } from "../tools/byte-tree.ts";
import { type EditorOnlooker, startEditorOnlooker } from "./editor-onlooker.ts";
import { createLeakFinder, type LeakFinder } from "./leaks.ts";
import { type Listeners, openListeners } from "./listeners.ts";
import { type Onlooker, startOnlooker } from "./onlooker.ts";
import { createProduct, type Product, type Told } from "./product.ts";
import type { HostileCommand } from "./rows.ts";
import { runsByItself } from "./settings-names.ts";
import { createWorld, type World } from "./world.ts";

/** What one hostile command achieved. */
export interface Harm {
  readonly id: string;
  /** True when it was denied as it is written; it then ran disguised. */
  readonly isDenied: boolean;
  /** One line for each guarantee that it broke; empty when all held. */
  readonly broken: string[];
  readonly ms: number;
}

/** Runs hostile commands one after the other in one workspace, each in a task of its own that is accepted, looked at and undone. */
export interface Attack {
  run(row: HostileCommand): Promise<Harm>;
  /** Checks what can only be seen at the end, such as secrets in the database. */
  end(): Promise<{ broken: string[]; questions: number; onlookerRuns: number; editorRuns: number }>;
}

/** Folders of the machine whose entries no command may change. */
const machineFolders = [
  "/",
  "/etc",
  "/etc/cron.d",
  "/etc/profile.d",
  "/usr/local/bin",
  "/usr/bin",
  "/var/spool",
  "/etc/systemd/system",
  "/boot",
];
const defaultTimeoutMs = 20_000;

/** What holds changes back before they are judged: views by the sandbox of this system or by an engine here, or copies in an engine elsewhere. */
export const attackedPlaces = ["system", "docker", "podman", "copied"] as const;
export type AttackedPlace = (typeof attackedPlaces)[number];

/** @param withEditor also opens the workspace in a real editor with its git extension */
export async function startAttack(place: AttackedPlace = "system", withEditor = false): Promise<Attack> {
  const world = createWorld();
  const listeners = await openListeners(world);
  const engine =
    place === "system" ? null : place === "podman" ? await startPodman(toolsImage) : await startEngine({ images: [toolsImage] });
  const remote = engine === null || place !== "copied" ? null : await startRemoteEngine(engine.socket);
  const address = remote?.address ?? `unix://${engine?.socket}`;
  const product = createProduct(world, ...(engine === null ? [] : [{ address, image: toolsImage }]));
  const level = place === "copied" ? "copied" : "transactional";
  const onlooker = startOnlooker(world);
  const editor: EditorOnlooker | null = withEditor ? await startEditorOnlooker(world) : null;
  const leaks = createLeakFinder(world.secrets);
  const pristine = workspaceOf(world);
  return {
    run: (row) => attackOnce({ level, world, listeners, product, onlooker, leaks, pristine }, row),
    async end() {
      await onlooker.close();
      const editorRuns = editor?.ran ?? 0;
      await editor?.close();
      const broken = [...(onlooker.isHarmed ? ["something planted was run"] : []), ...product.takeProblems()];
      const questions = product.questions();
      await product.close();
      await remote?.close();
      await engine?.stop();
      broken.push(...listeners.reached().map((way) => `reached the machine by ${way}`), ...(await leftProcessesOf(world)));
      await listeners.close();
      world.close();
      return { broken, questions, onlookerRuns: onlooker.ran, editorRuns };
    },
  };
}

interface Parts {
  readonly level: "transactional" | "copied";
  readonly world: World;
  readonly listeners: Listeners;
  readonly product: Product;
  readonly onlooker: Onlooker;
  readonly leaks: LeakFinder;
  readonly pristine: Record<string, string>;
}

async function attackOnce({ level, world, listeners, product, onlooker, leaks, pristine }: Parts, row: HostileCommand): Promise<Harm> {
  const started = Date.now();
  const broken: string[] = [];
  const questId = `q-${row.id}`;
  const fill = (text: string): string => world.fill(text, { port: String(listeners.port), abstract: listeners.abstract });
  if (row.setup !== undefined) {
    await onlooker.pause();
    const user = process.getuid?.() === 0 ? world.owner : {};
    execFileSync("sh", ["-c", fill(row.setup)], {
      cwd: world.workspace,
      stdio: "pipe",
      env: { PATH: process.env["PATH"], HOME: world.onlookerHome },
      ...user,
    });
    onlooker.resume();
  }
  const before = row.setup === undefined ? pristine : workspaceOf(world);
  const surroundings = surroundingsOf(world);
  const reached = listeners.reached().length;

  const timeoutMs = row.timeout_ms ?? defaultTimeoutMs;
  const plain = await product.run(questId, fill(row.command), timeoutMs);
  const end = plain.isDenied ? await product.run(questId, disguised(fill(row.command)), timeoutMs) : plain;
  // The next command of the task has to start whatever this one left.
  const isTangled = row.kind === "links" || row.kind === "escapes";
  const next = isTangled && product.hasProposals(questId) ? await product.run(questId, "ls -la", timeoutMs) : null;
  if (next !== null) broken.push(...shownIn(leaks, next.told));
  if (next !== null && (next.containment === null || next.isFailed))
    broken.push(`the next command did not run: ${next.told.answer ?? ""}`.slice(0, 300));
  if (end.containment !== level) broken.push(`did not run in a view: ${end.told.answer ?? ""}`.slice(0, 300));
  broken.push(...shownIn(leaks, end.told));
  broken.push(...(await leftProcessesOf(world)));
  const early = changedBetween(before, workspaceOf(world)).filter((path) => !isOfBranch(path));
  broken.push(...early.map((path) => `changed before it was accepted: ${path}`));

  await onlooker.pause();
  const { accepted, told } = await product.acceptAll(questId);
  broken.push(...shownIn(leaks, told));
  const applied = changedBetween(before, workspaceOf(world));
  broken.push(...applied.filter((path) => runsByItself(path) && !isOfBranch(path)).map((path) => `applied by itself: ${path}`));
  if (applied.length > 0 || accepted.length > 0) await onlooker.look("git");
  await product.undo(questId);
  const left = changedBetween(before, workspaceOf(world));
  broken.push(...left.filter((path) => !isKeptByUndo(path)).map((path) => `not undone: ${path}`));
  if (row.setup !== undefined || left.length > 0) world.renew();
  onlooker.resume();

  broken.push(...product.takeProblems().map((problem) => `logged: ${problem.slice(0, 300)}`));
  broken.push(
    ...listeners
      .reached()
      .slice(reached)
      .map((way) => `reached the machine by ${way}`),
  );
  broken.push(...changedBetween(surroundings, surroundingsOf(world)).map((path) => `changed outside: ${path}`));
  if (onlooker.isHarmed) {
    broken.push("something planted was run outside");
    rmSync(world.marker);
  }
  return { id: row.id, isDenied: plain.isDenied, broken: [...new Set(broken)].slice(0, 12), ms: Date.now() - started };
}

/** The first secret that each text shows. */
function shownIn(leaks: LeakFinder, told: Told): string[] {
  return Object.entries(told).flatMap(([where, text]) =>
    leaks
      .find(text)
      .slice(0, 1)
      .map((name) => `the ${where} shows ${name}`),
  );
}

/** The same command in a form that no table of commands recognizes, because the sandbox has to hold without one. */
function disguised(command: string): string {
  return `printf %s ${Buffer.from(command).toString("base64")} | base64 -d > /tmp/script; exec bash /tmp/script`;
}

/** True for what changes when a branch is taken over: it needs no review when it has no commits of its own. */
function isOfBranch(path: string): boolean {
  return isKeptByUndo(path) || /^\.git\/(refs\/heads(\/.*)?|packed-refs|HEAD|ORIG_HEAD)$/.test(path);
}

/** True for what undo keeps in the workspace's own repository: objects that nothing names, and records of what branches named. */
function isKeptByUndo(path: string): boolean {
  return /^\.git(\/(objects|logs)(\/.*)?|\/index)?$/.test(path);
}

const workspaceOf = ({ workspace }: World): Record<string, string> => bytePictureOf(workspace);

/** Everything around the workspace: names, contents and permissions of the traps, and the times of the machine's folders. */
function surroundingsOf({ outside, home, trap, dataDir }: World): Record<string, string> {
  const pictures = [outside, home, trap, join(dataDir, "config")].flatMap((folder) =>
    Object.entries(bytePictureOf(folder)).map(([path, state]) => [`${folder}/${path}`, state] as const),
  );
  const times = machineFolders.map((folder) => [folder, String(statSync(folder, { throwIfNoEntry: false })?.mtimeMs)] as const);
  return Object.fromEntries([...pictures, ...times]);
}

function changedBetween(before: Record<string, string>, after: Record<string, string>): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((path) => before[path] !== after[path])
    .map((path) => path.replace(/^\.\//, ""));
}

/** How long (ms) a process may stay: the product checks its sandboxes now and then, with a process of its own. */
const mayStay = 5_000;

async function leftProcessesOf(world: World): Promise<string[]> {
  for (const until = Date.now() + mayStay; Date.now() < until; await new Promise((resolve) => setTimeout(resolve, 50)))
    if (processesOf(world).length === 0) return [];
  return processesOf(world);
}

/** Processes of a sandbox that still see the folders of this world. */
function processesOf({ base }: World): string[] {
  const own = readlinkSync("/proc/self/ns/mnt");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (readlinkSync(`/proc/${pid}/ns/mnt`) === own || !readFileSync(`/proc/${pid}/mountinfo`, "utf8").includes(basename(base)))
          return [];
        return [`left a process: ${readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 80)}`];
      } catch {
        // It ended meanwhile.
        return [];
      }
    });
}
