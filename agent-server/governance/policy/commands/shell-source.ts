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

// The parser is tolerant: it drops unexpected tokens and closes open constructs, where a shell would reject the line or read it
// differently. Its result is trusted only when every character of the text is in the syntax tree.

/**
 * True when text between the words of a command is neither space nor a line continuation, because the parser dropped it. Also
 * true for digits before a redirection that the parser read as the target of the previous one.
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

/** True when text between or after the commands of a list is not a separator, comment or heredoc. */
export function dropsCommands(list: Script | CompoundList, source: string): boolean {
  const text = source.slice(list.pos, list.end).includes("<<") ? withoutHeredocs(list, source) : source;
  let at = list.pos;
  for (const statement of list.commands) {
    if (!isSeparator(text.slice(at, statement.pos))) return true;
    at = Math.max(at, statement.end);
  }
  return !isSeparator(text.slice(at, list.end));
}

/** The source with heredoc texts and their end marks replaced by spaces. */
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
  return /^(?:[\s;&]|\\\n|#[^\n]*(?:\n|$))*$/.test(gap);
}

/** True for a heredoc delimiter that every shell reads the same way: plain characters and closed quotes on one line. */
export function isPlainMark(delimiter: HereDocDelimiter): boolean {
  return /^(?:[^\s'"`$\\<>|&;()]|'[^'\n]*'|"[^"`$\\\n]*"|\\[^\n])+$/.test(delimiter.text);
}

/** True for an unclosed expansion, or one that only some bash versions support (`${ command; }`). */
export function isOpenExpansion(part: Pick<WordPart, "type" | "text">): boolean {
  const { text } = part;
  if (text.startsWith("$((")) return !text.endsWith("))");
  if (text.startsWith("$(")) return !text.endsWith(")");
  if (text.startsWith("`")) return text.length < 2 || !text.endsWith("`");
  if (text.startsWith("${")) return part.type === "CommandExpansion" || !text.endsWith("}");
  return false;
}

/** True for an unclosed legacy arithmetic expansion (`$[1]`), which the parser reads as text. */
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
