import { LancelotError } from "../../contract/errors.ts";
import type { Tool } from "../tool.ts";
import { cat } from "./cat.ts";
import { cp, mv } from "./copy-move.ts";
import { find } from "./find.ts";
import { grep } from "./grep.ts";
import { ls } from "./ls.ts";
import { splitWords } from "./split-words.ts";

/** The commands of the SafeREPL (requirement X3): tools like any other, on the same road, that no model is offered. */
export const replCatalog: readonly Tool[] = [ls, cat, grep, find, cp, mv];

/**
 * A command line as a call of one of them.
 * @throws LancelotError `invalid_params`, in words, for anything else than one of the six commands with words.
 */
export function parseCommand(command: string): { tool: string; args: { argv: string[] } } {
  const [name, ...argv] = splitWords(command);
  if (name === undefined) throw new LancelotError("invalid_params", "Write a command: ls, cat, grep, find, cp or mv.");
  const tool = replCatalog.find((candidate) => candidate.name === `repl.${name}`);
  if (tool === undefined)
    throw new LancelotError("invalid_params", `There is no command ${name.slice(0, 100)} here. There are ls, cat, grep, find, cp and mv.`);
  return { tool: tool.name, args: { argv } };
}
