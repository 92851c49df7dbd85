import { LancelotError } from "../../contract/errors.ts";
import type { Tool } from "../tool.ts";
import { cat } from "./cat.ts";
import { cp, mv } from "./copy-move.ts";
import { find } from "./find.ts";
import { grep } from "./grep.ts";
import { ls } from "./ls.ts";
import { splitArguments } from "./split-arguments.ts";

/** The commands of the SafeREPL (requirement X3). They use the same pipeline as other tools, but models do not receive them. */
export const replCatalog: readonly Tool[] = [ls, cat, grep, find, cp, mv];

/**
 * Parses a command line into a call of one of the REPL tools.
 * @throws LancelotError `invalid_params` for any other command, and for shell syntax.
 */
export function parseCommand(command: string): { tool: string; args: { argv: string[] } } {
  const [name, ...argv] = splitArguments(command);
  if (name === undefined) throw new LancelotError("invalid_params", "Enter a command: ls, cat, grep, find, cp or mv.");
  const tool = replCatalog.find((candidate) => candidate.name === `repl.${name}`);
  if (tool === undefined)
    throw new LancelotError("invalid_params", `Unknown command ${name.slice(0, 100)}. Supported: ls, cat, grep, find, cp and mv.`);
  return { tool: tool.name, args: { argv } };
}
