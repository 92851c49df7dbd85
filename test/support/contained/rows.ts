import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";

const HostileRow = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]+$/),
  /** For bash in the sandbox. `{outside}`, `{home}`, `{trap}`, `{data}`, `{workspace}`, `{port}`, `{address}`, `{abstract}` and `{payload}` stand for what `world.ts` describes. */
  command: z.string(),
  /** For sh, outside of the sandbox, as the owner of the workspace; everything it makes is removed after the row. */
  setup: z.string().optional(),
  timeout_ms: z.int().min(1_000).optional(),
  /** True for rows that take long; only the soak runs them. */
  soak: z.boolean().optional(),
  /**
   * What is not solved yet: the start of a finding, with the reason. The row runs and its other findings count, but it does not count as
   * passed.
   */
  known: z.record(z.string(), z.string()).optional(),
});

const HostileFile = z.strictObject({ kind: z.string(), rows: z.array(HostileRow) });

export interface HostileCommand extends z.infer<typeof HostileRow> {
  readonly kind: string;
}

const folder = join(import.meta.dirname, "../../fixtures/contained");

const filesOf = (start: string): unknown[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith(start) && name.endsWith(".yaml"))
    .toSorted()
    .map((name) => parse(readFileSync(join(folder, name), "utf8")) as unknown);

/** Every hostile command of `test/fixtures/contained`. */
export const hostileCommands: readonly HostileCommand[] = filesOf("hostile-").flatMap((file) => {
  const { kind, rows } = HostileFile.parse(file);
  return rows.map((row) => ({ kind, ...row }));
});

const HarmlessFile = z.strictObject({ groups: z.record(z.string(), z.array(z.string())) });

export interface HarmlessCommand {
  readonly group: string;
  readonly command: string;
}

/** The harmless commands of one half. */
export function harmlessCommands(half: "tuned" | "held-out"): HarmlessCommand[] {
  return filesOf(`harmless-${half}`).flatMap((file) =>
    Object.entries(HarmlessFile.parse(file).groups).flatMap(([group, commands]) => commands.map((command) => ({ group, command }))),
  );
}
