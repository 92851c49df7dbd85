import { existsSync, readdirSync, readFileSync, renameSync, type Stats, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { permissionBits } from "./folder-descriptors.ts";

/** Recognizes an entry again after a crash or later. */
const Identity = z.strictObject({
  ino: z.number(),
  mode: z.number(),
  folder: z.boolean(),
  size: z.number(),
  mtimeMs: z.number(),
});
export type Identity = z.infer<typeof Identity>;

const Attributes = z.strictObject({ mode: z.number(), uid: z.number(), gid: z.number() });

/** One change of the workspace. Paths are below the workspace, of any bytes (byte-path.ts). */
const Step = z.discriminatedUnion("kind", [
  /** Creates a folder above others, or removes it if it is empty. */
  z.strictObject({ kind: z.literal("folder"), path: z.string(), attributes: Attributes, remove: z.boolean() }),
  /** Moves the entry `source` of the source folder to `path`; the entry that it replaces is kept in the journal. */
  z.strictObject({ kind: z.literal("put"), path: z.string(), source: z.string(), put: Identity, had: Identity.nullable() }),
  z.strictObject({ kind: z.literal("remove"), path: z.string(), had: Identity }),
  /** Changes permissions (and the owner, as root) of a folder. */
  z.strictObject({ kind: z.literal("attributes"), path: z.string(), from: Attributes, to: Attributes }),
]);
export type Step = z.infer<typeof Step>;

const Plan = z.strictObject({
  version: z.literal(1),
  /** The workspace. */
  lower: z.string(),
  /** Contains the entries that are put: the upper layer, or the journal that this one reverts. */
  source: z.string(),
  steps: z.array(Step),
  /** True when renaming does not work between the folders, so that entries are copied next to their place first. */
  copies: z.boolean(),
  /** Deletion marks and merged folders of the layer, which mean nothing once the workspace has the same. Folders before their content. */
  settled: z.array(z.string()),
  /** Read-only folders of the workspace that are writable meanwhile. */
  locked: z.array(z.strictObject({ path: z.string(), mode: z.number() })),
  /** The journal that this one reverts; null otherwise. */
  reverts: z.string().nullable(),
});
export type Plan = z.infer<typeof Plan>;

const State = z.strictObject({
  /** `preparing`: only copies are made. `applied`: only the layer is still cleaned up. `reverted`: the workspace is as it was before. */
  status: z.enum(["preparing", "applying", "applied", "done", "reverted"]),
  /** In a plan of copies, the entries that are put, by step; null for other steps. Empty before `applying`. */
  placed: z.array(Identity.nullable()),
});
export type State = z.infer<typeof State>;

/** Folder of a task's journals. Each has the folder `kept`, with what the workspace had, by the number of the step. */
const folderName = "generated";
const [planFile, stateFile] = ["plan.json", "state.json"];
export const keptFolder = "kept";

export function journalFolder(taskFolder: string, id: string): string {
  return join(taskFolder, folderName, id);
}

/** Writes the state after the plan; without a state, nothing was changed yet. */
export function writePlan(journal: string, plan: Plan): void {
  writeDurably(journal, planFile, JSON.stringify(plan));
}

export function writeState(journal: string, state: State): void {
  writeDurably(journal, stateFile, JSON.stringify(state));
}

export function readPlan(journal: string): Plan {
  return Plan.parse(JSON.parse(readFileSync(join(journal, planFile), "utf8")));
}

/** What a plan puts into the workspace, by step; null for other steps. */
export function placedBy(plan: Plan, state: State): (Identity | null)[] {
  return plan.copies ? state.placed : plan.steps.map((step) => (step.kind === "put" ? step.put : null));
}

/** Null when nothing was changed. */
export function readState(journal: string): State | null {
  if (!existsSync(join(journal, stateFile))) return null;
  return State.parse(JSON.parse(readFileSync(join(journal, stateFile), "utf8")));
}

/** Journals that a host left unfinished when it died, or that a living one works on. */
export function unfinishedJournals(taskFolder: string): string[] {
  const folder = join(taskFolder, folderName);
  if (!existsSync(folder)) return [];
  const all = readdirSync(folder).map((id) => join(folder, id));
  return all.filter((journal) => !["done", "reverted"].includes(readState(journal)?.status ?? ""));
}

export function identityOf(stats: Stats): Identity {
  const { ino, mode, size, mtimeMs } = stats;
  return { ino, mode: mode & permissionBits, folder: stats.isDirectory(), size, mtimeMs };
}

/** True when the same file is unchanged, or the same folder, whatever it contains. */
export function isSame(stats: Stats, known: Identity): boolean {
  return stats.ino === known.ino && (known.folder ? stats.isDirectory() : stats.size === known.size && stats.mtimeMs === known.mtimeMs);
}

function writeDurably(folder: string, name: string, text: string): void {
  const temporary = join(folder, `${name}.tmp`);
  writeFileSync(temporary, text, { mode: 0o600, flush: true });
  renameSync(temporary, join(folder, name));
}
