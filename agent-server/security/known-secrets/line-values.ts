/** A value as a file writes it, with its name there. */
export interface NamedValue {
  readonly key: string | null;
  readonly value: string;
}

/** Most lines of a file that are read. */
const maxLines = 10_000;
/** Most lines of a quoted value. */
const maxQuotedLines = 200;
/** Longest line that is read; the rest of a longer one is dropped. */
const maxLine = 16_384;
/** Files with at most this many lines are read line by line as values, even where a line has several words. */
const fewLines = 20;

const assignment =
  /^(?:(?:export|set|setx|ENV|ARG|const|let|var)\s+|\$env:|-\s+|[{,]\s*)?["']?([A-Za-z_/@$.[][\w.$/:@[\]-]{0,200}?)["']?\s*(?:=>|:=|\+=|=|:(?=\s|$))(.*)$/s;
const comment = /^(?:#+|\/\/|;+|--)\s*/;
/** Files whose lines are fields between colons, with the secret last or second. */
const secretLast = /pgpass|htdigest|htpasswd/;
const secretSecond = /shadow|passwd/;

/**
 * Reads the values of a text line by line, in the formats of environment files, INI, TOML, properties, YAML, `.npmrc`, `.netrc`,
 * `.pgpass`, XML and source code. Gives several readings of a line where they differ.
 * @param name the file's name in lower case
 */
export function lineValues(text: string, name: string): NamedValue[] {
  const values: NamedValue[] = [];
  const lines = text
    .split(/\r\n|[\r\n]/)
    .slice(0, maxLines)
    .map((line) => line.slice(0, maxLine).trim());
  const hasFewLines = lines.filter((line) => line !== "").length <= fewLines;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (line === "") continue;
    const isComment = comment.test(line);
    // The item of a list in YAML.
    const content = line.replace(comment, "").replace(/^-\s+/, "");
    const found = assignment.exec(content);
    if (isComment && (found === null || /\s/.test(content.slice(0, content.indexOf(found[1] ?? "") + (found[1]?.length ?? 0))))) continue;
    readMarkup(content, values);
    if (found === null) {
      const fields = content.split(/(?<!\\):/);
      if (fields.length > 1 && secretLast.test(name))
        values.push({ key: "password", value: (fields.at(-1) ?? "").replace(/\\(.)/g, "$1") });
      else if (fields.length > 1 && secretSecond.test(name)) values.push({ key: "password", value: fields[1] ?? "" });
      else if (/\bmachine\b|\bdefault\b|\bpassword\b|\blogin\b/.test(content) && name.includes("netrc")) readNetrc(content, values);
      else if (hasFewLines || !/\s/.test(content)) values.push({ key: null, value: content });
      readQuoted(content, null, values);
      continue;
    }
    const [, key = ""] = found;
    const right = (found[2] ?? "").trimStart();
    readQuoted(content, key, values);
    const opened = /^(["'`]|"""|''')/.exec(right)?.[1];
    if (opened !== undefined && !right.slice(opened.length).includes(opened)) {
      const end = lines.findIndex((other, index) => index > at && index <= at + maxQuotedLines && other.includes(opened));
      if (end !== -1) {
        const body = [right.slice(opened.length), ...lines.slice(at + 1, end), (lines[end] ?? "").split(opened)[0] ?? ""].join("\n");
        values.push({ key, value: body });
        at = end;
        continue;
      }
    }
    readBare(right, key, values);
  }
  return values;
}

/** The value as it is, and without a comment or separator behind it. */
function readBare(right: string, key: string, values: NamedValue[]): void {
  if (right === "" || /^(["'`]).*\1[,;]?$/.test(right)) return;
  values.push({ key, value: right });
  const shorter = right.replace(/(?<!\s)\s+(?:#|;|\/\/).*/, "").replace(/[,;]$/, "");
  if (shorter !== right) values.push({ key, value: shorter });
}

/**
 * Quoted strings, as written and without their escapes. A string before a colon is a name. None begins at an escaped quote, so that each
 * character is looked at once per kind of quote.
 */
function readQuoted(content: string, key: string | null, values: NamedValue[]): void {
  for (const match of content.matchAll(/(?<!\\)(["'`])((?:\\.|(?!\1)[^\\]){4,4096})\1(\s*:)?/g)) {
    const [, , inner = "", colon] = match;
    if (colon !== undefined) continue;
    values.push({ key: nameBefore(content.slice(Math.max(0, match.index - nameReach), match.index)) ?? key, value: inner });
    const plain = inner.replace(/\\n/g, "\n").replace(/\\(.)/g, "$1");
    if (plain !== inner) values.push({ key, value: plain });
  }
}

/** Characters before a string in which its name is looked for. */
const nameReach = 200;

function nameBefore(text: string): string | null {
  return /([\w.-]{1,100})["']?\s*[=:]\s*$/.exec(text)?.[1] ?? null;
}

function readMarkup(content: string, values: NamedValue[]): void {
  for (const [, key = "", inner = ""] of content.matchAll(/<([\w:.-]{1,100})[^<>]{0,500}>([^<>]{4,4096})<\//g))
    values.push({ key, value: inner });
}

function readNetrc(content: string, values: NamedValue[]): void {
  for (const [, key = "", value = ""] of content.matchAll(/\b(password|passwd|login|account)\s+("[^"]*"|\S+)/g))
    values.push({ key: key === "login" ? null : "password", value: value.replace(/^"|"$/g, "") });
}
