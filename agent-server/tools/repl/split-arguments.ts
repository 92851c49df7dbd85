import { LancelotError } from "../../contract/errors.ts";

const operators: Readonly<Record<string, string>> = {
  "|": "Pipes are",
  "&": "Background and further commands are",
  ";": "Further commands are",
  "<": "Redirects are",
  ">": "Redirects are",
  "(": "Subshells are",
  ")": "Subshells are",
  "`": "Command substitution is",
  "\n": "Further lines are",
  "\r": "Further lines are",
};

/**
 * Splits one command line into arguments. Quotes and backslashes work as in a shell, and nothing is expanded:
 * `$HOME`, `~` and `*` are literal.
 * @throws LancelotError `invalid_params` for other shell syntax.
 */
export function splitArguments(command: string): string[] {
  if (/[^\P{Cc}\t\n\r]/u.test(command)) throw refuse("It contains control characters.");
  const args: string[] = [];
  let word: string | null = null;
  let quote: "'" | '"' | null = null;
  const text = command.trim();
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charAt(index);
    const next = text.charAt(index + 1);
    if (quote === "'") {
      if (char === "'") quote = null;
      else word += char;
    } else if (char === "`" || (char === "$" && next === "(")) throw refuse("Command substitution is not supported.");
    else if (quote === '"') {
      if (char === '"') quote = null;
      else if (char === "\\" && /["\\$`]/.test(next)) {
        word += next;
        index += 1;
      } else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === "\\") {
      if (next === "" || next === "\n") throw refuse("It ends with a backslash.");
      word = (word ?? "") + next;
      index += 1;
    } else if (char === " " || char === "\t") {
      if (word !== null) args.push(word);
      word = null;
    } else if (Object.hasOwn(operators, char))
      throw refuse(`${operators[char] ?? ""} not supported. Quote ${JSON.stringify(char)} to use it as a character.`);
    else word = (word ?? "") + char;
  }
  if (quote !== null) throw refuse(`The quote ${quote} is not closed.`);
  if (word !== null) args.push(word);
  return args;
}

function refuse(why: string): LancelotError {
  return new LancelotError(
    "invalid_params",
    `This command cannot run. ${why} Commands run without a shell: enter one command with its options and paths.`,
  );
}
