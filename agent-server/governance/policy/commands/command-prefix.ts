import type { CommandTable } from "./command-table.ts";

/** Words without any meaning to a shell. */
const plainCommand = /^[\w@%+=:,./-]+(?: [\w@%+=:,./-]+)*$/;

/** Programs whose subcommand starts another program, so that their beginning says little. */
const plainSpecials: ReadonlySet<string | null> = new Set([null, "scripts", "git", "goals"]);

/** The words of a command that consists of plain words only, separated by single spaces; null for every other command. */
function plainWords(command: string): readonly string[] | null {
  if (!plainCommand.test(command)) return null;
  const words = command.split(" ");
  // It would be an assignment.
  return words[0]?.includes("=") === true ? null : words;
}

/** See `CommandPolicy.prefixes`. */
export function commandPrefixes(command: string, table: CommandTable): string[] {
  const [name, subcommand, operand] = plainWords(command) ?? [];
  const program = name === undefined ? undefined : table.programs.get(name);
  if (program?.subcommands !== true || !plainSpecials.has(program.special)) return [];
  if (subcommand === undefined || subcommand.startsWith("-")) return [];
  const short = `${name} ${subcommand}`;
  return operand === undefined || operand.startsWith("-") ? [short] : [short, `${short} ${operand}`];
}

/** True for a command of plain words that begins with the words of a prefix. */
export function startsWithWords(command: string, prefix: string): boolean {
  return plainWords(command) !== null && (command === prefix || command.startsWith(`${prefix} `));
}
