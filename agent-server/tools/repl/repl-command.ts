import * as z from "zod";

/** The arguments of every REPL command: its command line without its name. */
export const Argv = z.strictObject({ argv: z.array(z.string().max(10_000)).max(1_000) });

/** How to see the rest of a truncated output. */
export const hint = "Narrow it with a path or an option.";

/** The command line for the card and the receipt, with quotes where needed. */
export function titleOf(name: string): (args: { argv: readonly string[] }) => string {
  return ({ argv }) => {
    const words = argv.map((word) => (/^[\w./@%+=:,-]+$/.test(word) ? word : JSON.stringify(word)));
    const line = [name, ...words].join(" ");
    return line.length > 200 ? `${line.slice(0, 200)}…` : line;
  };
}
