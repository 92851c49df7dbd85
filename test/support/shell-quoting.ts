import * as fc from "fast-check";

/** One word in single quotes, as any shell reads it. */
export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Ways to write one character of a word, each meaning that character alone. */
const styles: readonly ((char: string) => string)[] = [
  (char) => char,
  (char) => `'${char}'`,
  (char) => `"${char}"`,
  (char) => `\\${char}`,
  (char) => `''${char}`,
  (char) => `${char}""`,
  (char) => `$'${char}'`,
  (char) => `$'\\x${hex(char, 2)}'`,
  (char) => `$'\\${char.charCodeAt(0).toString(8).padStart(3, "0")}'`,
  (char) => `$'\\u${hex(char, 4)}'`,
  (char) => `\\\n${char}`,
];

function hex(char: string, digits: number): string {
  return char.charCodeAt(0).toString(16).padStart(digits, "0");
}

/** A word of plain ASCII characters in an equivalent spelling. */
export function spelled(word: string): fc.Arbitrary<string> {
  const whole = fc.constantFrom(
    word,
    singleQuoted(word),
    `"${word}"`,
    `$'${word}'`,
    `$'${word
      .split("")
      .map((char) => `\\x${hex(char, 2)}`)
      .join("")}'`,
    `${word}''`,
    `""${word}`,
    `${word.slice(0, 1)}''${word.slice(1)}`,
    `${word.slice(0, 1)}\\${word.slice(1)}`.replace(/\\$/, ""),
    word
      .split("")
      .map((char) => `\\${char}`)
      .join(""),
  );
  const perCharacter = fc.array(fc.constantFrom(...styles), { minLength: word.length, maxLength: word.length }).map((chosen) =>
    word
      .split("")
      .map((char, at) => chosen[at]?.(char) ?? char)
      .join(""),
  );
  return fc.oneof(whole, perCharacter);
}

/** Ways to run a command line so that it still runs; each takes a whole command line, of several lines too. */
export const wrappers: Readonly<Record<string, (line: string) => string>> = {
  "bash -c": (line) => `bash -c ${singleQuoted(line)}`,
  "sh -c": (line) => `sh -c ${singleQuoted(line)}`,
  "env bash -c": (line) => `env A=1 bash -c ${singleQuoted(line)}`,
  "env -S": (line) => `env -S bash -c ${singleQuoted(line)}`,
  "nohup bash -c": (line) => `nohup bash -c ${singleQuoted(line)}`,
  "timeout bash -c": (line) => `timeout 5 bash -c ${singleQuoted(line)}`,
  "xargs bash -c": (line) => `xargs -0 bash -c ${singleQuoted(line)} < files.txt`,
  eval: (line) => `eval ${singleQuoted(line)}`,
  "find -exec bash -c": (line) => `find . -exec bash -c ${singleQuoted(line)} \\;`,
  subshell: (line) => `(${line}\n)`,
  group: (line) => `{ ${line}\n}`,
  if: (line) => `if true; then\n${line}\nfi`,
  else: (line) => `if false; then ls; else\n${line}\nfi`,
  while: (line) => `while true; do\n${line}\ndone`,
  for: (line) => `for one in a b; do\n${line}\ndone`,
  case: (line) => `case a in\na)\n${line}\n;;\nesac`,
  "$(…)": (line) => `echo "$(${line}\n)"`,
  "$(…) in a value": (line) => `value=$(${line}\n)`,
  "$(…) in a test": (line) => `[[ -n "$(${line}\n)" ]]`,
  "$(…) in a default": (line) => `ls \${none:-$(${line}\n)}`,
  "<(…)": (line) => `cat <(${line}\n)`,
  pipe: (line) => `{ ${line}\n} | cat`,
  "end of a pipe": (line) => `ls | { ${line}\n}`,
  "&&": (line) => `ls && { ${line}\n}`,
  "||": (line) => `ls || { ${line}\n}`,
  background: (line) => `{ ${line}\n} &`,
  negated: (line) => `! { ${line}\n}`,
  time: (line) => `time { ${line}\n}`,
  "function called": (line) => `run_it() {\n${line}\n}\nrun_it`,
  "function with a redirect": (line) => `run_it() {\n${line}\n} 2>/dev/null; run_it`,
  "after harmless lines": (line) => `git status\nls -la\n${line}`,
  "before harmless lines": (line) => `${line}\ngit status\nls -la`,
  "heredoc to bash": (line) => `bash <<'${delimiter(line)}'\n${line}\n${delimiter(line)}`,
  "cat heredoc to bash": (line) => `cat <<'${delimiter(line)}' | bash\n${line}\n${delimiter(line)}`,
  "here-string to bash": (line) => `bash <<< ${singleQuoted(line)}`,
  "echo to sh": (line) => `printf '%s' ${singleQuoted(line)} | sh`,
};

/** A word that ends no heredoc inside the text. */
function delimiter(line: string): string {
  let name = "END_OF_TEXT";
  while (line.includes(name)) name += "_";
  return name;
}

/** Programs that run the words after them. */
export const prefixes: readonly string[] = [
  "env",
  "env -i",
  "env A=1",
  "env -u A",
  "nohup",
  "timeout 5",
  "timeout -s KILL 5",
  "nice",
  "nice -n 5",
  "stdbuf -oL",
  "setsid",
  "command",
  "exec",
  "time",
  "xargs",
  "xargs -0",
  "xargs -n 1 -P 2",
  "find . -exec",
  "sudo",
  "ionice -c 3",
];
