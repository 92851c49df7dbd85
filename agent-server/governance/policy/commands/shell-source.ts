import {
  type Command,
  type CompoundList,
  forEachChild,
  type HereDocDelimiter,
  type Script,
  type SyntaxNode,
  type Word,
  type WordPart,
} from "unbash";

// The parser is tolerant: it drops a token it cannot place and closes what is left open, where a shell refuses the whole line or
// reads it otherwise. What it made of a text is believed only when every character of the text has its place in the tree.

/**
 * True when something between the words of a command is neither space nor a continued line: the parser dropped it. True as well
 * for digits right before a redirection that were taken for the target of the one before it.
 */
export function dropsWords(node: Command, source: string): boolean {
  const children = [...(node.name === undefined ? [] : [node.name]), ...node.prefix, ...node.suffix].sort(
    (one, other) => one.pos - other.pos,
  );
  let at = node.pos;
  let digits = -1;
  for (const child of children) {
    if (child.type !== "Word" && child.type !== "Assignment" && child.pos === digits) return true;
    if (child.pos > at && !isBlank(source.slice(at, child.pos))) return true;
    at = Math.max(at, child.end);
    digits = "target" in child && /^\d+$/.test(child.target?.text ?? "") ? child.end : -1;
  }
  return at < node.end && !isBlank(source.slice(at, node.end));
}

function isBlank(gap: string): boolean {
  return /^(?:[ \t]|\\\n)*$/.test(gap);
}

/** True when something between or after the commands of a list is no separator, no comment and no heredoc's text. */
export function dropsCommands(list: Script | CompoundList, source: string): boolean {
  const text = source.slice(list.pos, list.end).includes("<<") ? withoutHeredocs(list, source) : source;
  let at = list.pos;
  for (const statement of list.commands) {
    if (!isSeparator(text.slice(at, statement.pos))) return true;
    at = Math.max(at, statement.end);
  }
  return !isSeparator(text.slice(at, list.end));
}

/** The source with spaces where texts of heredocs and the marks that end them stand. */
function withoutHeredocs(list: Script | CompoundList, source: string): string {
  let text = source;
  const visit = (node: SyntaxNode): void => {
    if (node.type === "HereDoc") {
      const lineEnd = source.indexOf("\n", node.body.end);
      const isMarked = source.slice(node.body.end, lineEnd < 0 ? undefined : lineEnd).trim() === node.delimiter?.value;
      const end = isMarked ? (lineEnd < 0 ? source.length : lineEnd) : node.body.end;
      if (end > node.body.pos) text = text.slice(0, node.body.pos) + " ".repeat(end - node.body.pos) + text.slice(end);
    }
    forEachChild(node, visit);
  };
  visit(list);
  return text;
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

/** True for a word with the old form of a sum, `$[1]`, left open: the parser takes it for text. */
export function hasOpenSum(word: Word): boolean {
  if (!word.text.includes("$[")) return false;
  const literals = word.parts?.flatMap((part) =>
    part.type === "Literal"
      ? [part.text]
      : part.type === "DoubleQuoted"
        ? part.parts.map((child) => (child.type === "Literal" ? child.text : ""))
        : [],
  );
  const bare = literals?.join(" ") ?? word.text.replaceAll(/\$?'[^']*'/g, "");
  return bare.replaceAll(/\\./gs, "").includes("$[");
}
