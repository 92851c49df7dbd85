import { wildcard } from "../../../security/security.ts";

/** True for the names of files that a glob matches, or for more of them. */
export type NamePattern = (name: string) => boolean;

export const anyName: NamePattern = () => true;

/** A word after expansion, as the program gets it. */
export type Field = { readonly text: string } & (
  | { readonly kind: "static"; readonly value: string; readonly quoted?: boolean }
  /** A glob in shell syntax, with quoted characters escaped by a backslash. */
  | { readonly kind: "glob"; readonly value: string }
  /** Unknown before run time; `prefix` precedes the unknown part. `number`: only digits and a sign. */
  | { readonly kind: "dynamic"; readonly prefix: string; readonly number?: boolean }
  /** Every matching file below a folder, as passed on by `find`. */
  | { readonly kind: "tree"; readonly root: Field; readonly name: NamePattern | null; readonly skipsHidden?: boolean }
);

export function literal(value: string, text: string = value): Field {
  return { kind: "static", value, text };
}

export function unknown(text: string, prefix = ""): Field {
  return { kind: "dynamic", prefix, text };
}

/** The static value, or null. */
export function valueOf(field: Field | undefined): string | null {
  return field?.kind === "static" ? field.value : null;
}

/** The same field without its first characters, as the value of `--flag=value` and `-fvalue`. */
export function dropStart(field: Field, count: number): Field {
  switch (field.kind) {
    case "static":
      return { ...field, value: field.value.slice(count) };
    case "glob":
      return { ...field, value: field.value.slice(count) };
    case "dynamic":
      return { ...field, prefix: field.prefix.slice(count) };
    case "tree":
    default:
      return field;
  }
}

/** The certain prefix of the field. */
export function startOf(field: Field): string {
  switch (field.kind) {
    case "static":
      return field.value;
    case "glob":
      return /^[^*?[\\({]*/.exec(field.value)?.[0] ?? "";
    case "dynamic":
      return field.prefix;
    case "tree":
    default:
      return startOf(field.root);
  }
}

/** From the first opening brace to behind the last closing one; an empty span without them. A pattern `\{.*\}` would take quadratic time. */
export function bracesOf(text: string): [from: number, to: number] {
  const open = text.indexOf("{");
  const close = text.lastIndexOf("}");
  return open === -1 || close < open ? [0, 0] : [open, close + 1];
}

/** What one name must be to match a glob, in any case of its letters; null when the glob is invalid. */
export function patternOf(glob: string): NamePattern | null {
  let pattern = "";
  for (let index = 0; index < glob.length; index += 1) {
    const char = glob.charAt(index);
    if (char === "\\") {
      index += 1;
      if (index < glob.length) pattern += `\\${glob.charAt(index)}`;
    } else if (char === "[") {
      const end = bracketEnd(glob, index);
      // Any single character, whatever the brackets contain: this can only match more.
      pattern += end < 0 ? "\\[" : "?";
      if (end >= 0) index = end;
    } else if ("@+!(".includes(char) && (char === "(" || glob.charAt(index + 1) === "(")) return null;
    else pattern += char;
  }
  return wildcard(pattern, { ignoreCase: true });
}

/** The index of the bracket that closes `open`, as in `[]a]`, `[!]]` and `[[:alpha:]_]`; -1 without one. */
function bracketEnd(glob: string, open: number): number {
  let at = open + 1;
  if (/[!^]/.test(glob.charAt(at))) at += 1;
  if (glob.charAt(at) === "]") at += 1;
  for (; at < glob.length; at += 1) {
    const char = glob.charAt(at);
    if (char === "]") return at;
    if (char === "\\") at += 1;
    else if (char === "[" && /[:.=]/.test(glob.charAt(at + 1))) {
      const close = glob.indexOf(`${glob.charAt(at + 1)}]`, at + 2);
      if (close >= 0) at = close + 1;
    }
  }
  return -1;
}

/** Joins words as a program does before it passes them to a shell. */
export function joined(words: readonly Field[]): Field {
  const values = words.map(valueOf);
  const text = words.map((word) => word.text).join(" ");
  if (values.every((value) => value !== null)) return literal(values.join(" "), text);
  return { kind: "dynamic", prefix: words.map(startOf).join(" "), text };
}
