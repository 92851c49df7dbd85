import { LancelotError } from "../../contract/errors.ts";

const operators: Readonly<Record<string, string>> = {
  "|": "no pipes",
  "&": "no second command and no background",
  ";": "no second command",
  "<": "no redirects",
  ">": "no redirects",
  "(": "no subshells",
  ")": "no subshells",
  "`": "no command substitution",
  "\n": "no second line",
  "\r": "no second line",
};

/**
 * The words of one command: single and double quotes and the backslash as in a shell, and nothing else. Nothing is expanded:
 * `$HOME`, `~` and `*` stay as they are written.
 * @throws LancelotError `invalid_params` for what a shell would do more with.
 */
export function splitWords(command: string): string[] {
  if (/[^\P{Cc}\t\n\r]/u.test(command)) throw refuse("There are control characters in it.");
  const words: string[] = [];
  let word: string | null = null;
  let quote: "'" | '"' | null = null;
  const text = command.trim();
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charAt(index);
    const next = text.charAt(index + 1);
    if (quote === "'") {
      if (char === "'") quote = null;
      else word += char;
    } else if (char === "`" || (char === "$" && next === "(")) throw refuse("There is no command substitution.");
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
      if (next === "" || next === "\n") throw refuse("It ends in a backslash.");
      word = (word ?? "") + next;
      index += 1;
    } else if (char === " " || char === "\t") {
      if (word !== null) words.push(word);
      word = null;
    } else if (Object.hasOwn(operators, char))
      throw refuse(`There are ${operators[char] ?? ""}: quote ${JSON.stringify(char)} if it is meant as a character.`);
    else word = (word ?? "") + char;
  }
  if (quote !== null) throw refuse(`The quote ${quote} is not closed.`);
  if (word !== null) words.push(word);
  return words;
}

function refuse(why: string): LancelotError {
  return new LancelotError(
    "invalid_params",
    `This command cannot be run here. ${why} It is run without a shell: one command, its options and its paths.`,
  );
}
