import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";

/**
 * What a row of `test/fixtures/commands` expects of the default posture: `not_deny` is ordinary work that changes something, which
 * is asked or allowed; `not_allow` is dangerous, and whether it is asked or refused is the table's choice.
 */
const Expectation = z.enum(["allow", "not_allow", "deny", "ask", "not_deny"]);

const Row = z.strictObject({
  command: z.string(),
  cwd: z.string().optional(),
  expect: Expectation,
  tier: z.enum(["T2", "T3"]).optional(),
  why: z.string().min(2),
});
export type CommandRow = z.infer<typeof Row>;

export interface CommandCase extends CommandRow {
  readonly file: string;
}

const folder = join(import.meta.dirname, "../fixtures/commands");

/** Every row, by file. `{workspace}`, `{base}`, `{home}`, `{data}`, `{config}` stand for folders of the test's workspace. */
export const commandCases: readonly CommandCase[] = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml"))
  .sort()
  .flatMap((name) =>
    z
      .array(Row)
      .parse(parse(readFileSync(join(folder, name), "utf8")))
      .map((row) => ({ ...row, file: name.replace(/\.yaml$/, "") })),
  );

/** Rows that must never run unasked. */
export const dangerousCases: readonly CommandCase[] = commandCases.filter(
  (one) => one.expect === "not_allow" || one.expect === "deny" || one.expect === "ask",
);

/** A row's title in a test's name: short, on one line. */
export function titleOf(one: CommandCase): string {
  return `${JSON.stringify(one.command).slice(0, 80)}${one.cwd === undefined ? "" : ` in ${one.cwd}`}`;
}
