import * as z from "zod";

/** What every command of the REPL takes: its words without its name. */
export const Argv = z.strictObject({ argv: z.array(z.string().max(10_000)).max(1_000) });

/** How to see more when an output was cut. */
export const hint = "Narrow it with a path or an option.";

/** One line for the card and the receipt: the command as words that read the same. */
export function titleOf(name: string): (args: { argv: readonly string[] }) => string {
  return ({ argv }) => {
    const words = argv.map((word) => (/^[\w./@%+=:,-]+$/.test(word) ? word : JSON.stringify(word)));
    const line = [name, ...words].join(" ");
    return line.length > 200 ? `${line.slice(0, 200)}…` : line;
  };
}
