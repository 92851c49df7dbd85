import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";

const Row = z.union([z.string(), z.strictObject({ run: z.string(), in: z.string() })]);
const Groups = z.record(z.string(), z.array(Row).min(1));

export interface Construct {
  readonly command: string;
  /** From the root of the workspace; undefined for the root itself. */
  readonly cwd: string | undefined;
}

const folder = join(import.meta.dirname, "../fixtures/commands/constructs");

/** Commands that differ in one thing at a time, by what they are about (`test/fixtures/commands/constructs`). */
export const constructs: ReadonlyMap<string, readonly Construct[]> = new Map(
  readdirSync(folder)
    .sort()
    .flatMap((name) => Object.entries(Groups.parse(parse(readFileSync(join(folder, name), "utf8")))))
    .map(([group, rows]) => [
      group,
      rows.map((row) => (typeof row === "string" ? { command: row, cwd: undefined } : { command: row.run, cwd: row.in })),
    ]),
);
