import type { ProgramCall } from "./program-call.ts";
import { dropStart, type Field, joined, literal, startOf, unknown, valueOf } from "./shell-fields.ts";
import { asks, type Finding } from "./command-findings.ts";
import type { Scope } from "./command-scope.ts";
import { changesExecution, isHarmlessVariable, isPagerOff, isSensitiveVariable } from "./shell-variables.ts";

/** `env` and its options: variables, working folder and the command that follows. */
export function environment(call: ProgramCall): boolean {
  const words = [...call.args];
  let isCleared = false;
  let moved: Partial<Scope> = {};
  while (words.length > 0) {
    const [word] = words;
    const start = word === undefined ? "" : startOf(word);
    if (word === undefined) break;
    if (start === "--") {
      words.shift();
      continue;
    }
    if (start === "-" || start === "-i" || start === "--ignore-environment") {
      isCleared = true;
      words.shift();
    } else if (/^-[i0v]*[uCSP]$|^--(?:unset|chdir|split-string)$/.test(start)) {
      words.shift();
      const value = words.shift();
      if (value !== undefined && /S$|^--split/.test(start)) return splitString(value, words, call);
      if (/C$|^--chdir/.test(start)) moved = movedTo(value ?? unknown(start), call);
    } else if (/^--split-string=|^-[i0v]*S/.test(start)) {
      words.shift();
      return splitString(
        dropStart(word, start.indexOf("S") > 0 && !start.startsWith("--") ? start.indexOf("S") + 1 : "--split-string=".length),
        words,
        call,
      );
    } else if (start.startsWith("-")) {
      const folder = /^(?:--chdir=|-[i0v]*C)/.exec(start)?.[0];
      if (folder !== undefined) moved = movedTo(dropStart(word, folder.length), call);
      words.shift();
    } else if (start.includes("=")) {
      judgeSetting(word, call.findings, true);
      words.shift();
    } else break;
  }
  if (words.length === 0) {
    if (!isCleared)
      call.findings.push(
        asks(
          "environment-print",
          "Prints every environment variable, including passwords and keys.",
          ["Print the one variable you need, such as echo $PATH."],
          ["credentials", "read"],
        ),
      );
  } else call.judgeWords(words, "env", moved);
  return true;
}

/** Another working folder: requires approval, and the command is judged there. */
function movedTo(folder: Field, call: ProgramCall): Partial<Scope> {
  call.findings.push(asks("unknown-folder", "The program works in another folder.", ["Use cd before the command."]));
  const { cwds, variables } = call.scope.state;
  const path = valueOf(folder);
  if (path === null) return { state: { cwds: null, variables } };
  return { state: { cwds: path.startsWith("/") ? [path] : (cwds?.map((cwd) => `${cwd}/${path}`) ?? null), variables } };
}

function splitString(value: Field, rest: readonly Field[], call: ProgramCall): boolean {
  const text = valueOf(value);
  if (text === null) call.judgeShell(value, "env -S");
  else
    call.judgeShell(
      joined([
        literal(`env ${text}`),
        ...rest.map((field) => (field.kind === "static" ? literal(`'${field.value.replaceAll("'", "'\\''")}'`) : field)),
      ]),
      "env -S",
    );
  return true;
}

/** `NAME=value` as an argument. */
export function judgeSetting(word: Field, findings: Finding[], isPrefix: boolean): void {
  const start = startOf(word);
  const name = start.slice(0, start.indexOf("=")).replace(/\+$/, "");
  const value = word.kind === "static" ? word.value.slice(start.indexOf("=") + 1) : null;
  if (isSensitiveVariable(name) && !isPagerOff(name, value)) findings.push(changesExecution(name));
  else if (isPrefix && !isHarmlessVariable(name) && !isPagerOff(name, value)) {
    findings.push(
      asks("environment", `Sets the variable ${name} for the program, with unknown effect.`, ["Use the program's flags."], ["settings"]),
    );
  }
}
