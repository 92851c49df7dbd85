import type { Command, CompoundList, HereDocDelimiter, Script, WordPart } from "unbash";

// The parser is tolerant: it drops a token it cannot place and closes what is left open, where a shell refuses the whole line or
// reads it otherwise. What it made of a text is believed only when every character of the text has its place in the tree.

/** True when something between the words of a command is neither space nor a continued line: the parser dropped it. */
export function dropsWords(node: Command, source: string): boolean {
  const children = [...(node.name === undefined ? [] : [node.name]), ...node.prefix, ...node.suffix].sort(
    (one, other) => one.pos - other.pos,
  );
  let at = node.pos;
  for (const child of children) {
    if (child.pos > at && !isBlank(source.slice(at, child.pos))) return true;
    at = Math.max(at, child.end);
  }
  return at < node.end && !isBlank(source.slice(at, node.end));
}

function isBlank(gap: string): boolean {
  return /^(?:[ \t]|\\\n)*$/.test(gap);
}

/**
 * True when something between or after the commands of a list is no separator and no comment. Lists with heredocs are not looked
 * at: their texts stand there.
 */
export function dropsCommands(list: Script | CompoundList, source: string): boolean {
  const text = source.slice(list.pos, list.end);
  if (text.includes("<<")) return false;
  let at = list.pos;
  for (const statement of list.commands) {
    if (!isSeparator(source.slice(at, statement.pos))) return true;
    at = statement.end;
  }
  return !isSeparator(source.slice(at, list.end));
}

function isSeparator(gap: string): boolean {
  return /^(?:[\s;&]|\\\n|#[^\n]*)*$/.test(gap);
}

/** True for a heredoc's mark that every shell reads alike: plain characters and closed quotes on one line. */
export function isPlainMark(delimiter: HereDocDelimiter): boolean {
  return /^(?:[^\s'"`$\\<>|&;()]|'[^'\n]*'|"[^"`$\\\n]*"|\\[^\n])+$/.test(delimiter.text);
}

/** True for an expansion that is left open, or that only some versions of bash know (`${ command; }`). */
export function isOpenExpansion(part: Pick<WordPart, "type" | "text">): boolean {
  const { text } = part;
  if (text.startsWith("$((")) return !text.endsWith("))");
  if (text.startsWith("$(")) return !text.endsWith(")");
  if (text.startsWith("`")) return text.length < 2 || !text.endsWith("`");
  if (text.startsWith("${")) return part.type === "CommandExpansion" || !text.endsWith("}");
  return false;
}
