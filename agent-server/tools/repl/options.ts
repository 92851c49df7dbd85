import { LancelotError } from "../../contract/errors.ts";

/** The options of a command: letters without a value, letters with a value, and their long names. */
export interface OptionTable {
  readonly name: string;
  readonly flags: string;
  readonly valued?: string;
  /** `--recursive` → `r`; options with a value take `=value` or the next argument. */
  readonly long?: Readonly<Record<string, string>>;
  /** Messages for options that are refused. */
  readonly refused?: Readonly<Record<string, string>>;
}

export interface Options {
  /** The given letters. */
  readonly on: ReadonlySet<string>;
  /** The values in the given order. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly operands: readonly string[];
}

/** Splits arguments into options and operands as POSIX tools do: `-la`, `-n5`, `-n 5`, `--name=value`, `--`. @throws LancelotError `invalid_params`. */
export function parseOptions(args: readonly string[], table: OptionTable): Options {
  const on = new Set<string>();
  const values = new Map<string, string[]>();
  const operands: string[] = [];
  const take = (letter: string, value: string | undefined): void => {
    if (value === undefined) throw wrong(table, `-${letter} needs a value.`);
    values.set(letter, [...(values.get(letter) ?? []), value]);
  };
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] ?? "";
    if (word === "--") {
      operands.push(...args.slice(index + 1));
      break;
    }
    if (word.startsWith("--")) {
      const [name, value] = splitOnce(word.slice(2), "=");
      const letter = table.long?.[name];
      if (letter === undefined) throw unknown(table, `--${name}`);
      if (table.valued?.includes(letter) === true) {
        take(letter, value ?? args[index + 1]);
        if (value === undefined) index += 1;
      } else if (value !== undefined) throw wrong(table, `--${name} takes no value.`);
      else on.add(letter);
    } else if (word.startsWith("-") && word !== "-") {
      for (let at = 1; at < word.length; at += 1) {
        const letter = word.charAt(at);
        if (table.valued?.includes(letter) === true) {
          const rest = word.slice(at + 1);
          take(letter, rest === "" ? args[index + 1] : rest);
          if (rest === "") index += 1;
          break;
        }
        if (!table.flags.includes(letter)) throw unknown(table, `-${letter}`);
        on.add(letter);
      }
    } else operands.push(word);
  }
  return { on, values, operands };
}

/** The last value of an option as a whole number. @throws LancelotError `invalid_params`. */
export function numberOf(options: Options, letter: string, name: string): number | null {
  const text = options.values.get(letter)?.at(-1);
  if (text === undefined) return null;
  if (!/^\d{1,6}$/.test(text)) throw new LancelotError("invalid_params", `${name}: -${letter} takes a number, not ${text}.`);
  return Number(text);
}

function unknown(table: OptionTable, option: string): LancelotError {
  const refused = table.refused?.[option];
  if (refused !== undefined) return wrong(table, refused);
  const known = Array.from(`${table.flags}${table.valued ?? ""}`).map((letter) => `-${letter}`);
  const long = Object.keys(table.long ?? {}).map((name) => `--${name}`);
  return wrong(table, `Unknown option ${option}. Supported: ${[...known, ...long].join(" ")}.`);
}

export function wrong(table: Pick<OptionTable, "name">, why: string): LancelotError {
  return new LancelotError("invalid_params", `${table.name}: ${why}`);
}

function splitOnce(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at);
  return index === -1 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}
