// Writes the agent host in ASCII. One other character makes V8 keep a whole file as UTF-16: it takes twice the memory and is slower to
// decode at each start. esbuild escapes such characters in strings, but not in regular expressions and in `String.raw` templates.
import { parse } from "acorn";

const beyondAscii = /[\u0080-\uffff]/g;
const escapeUnit = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The source of an ordinary template with this text: what ended or divided it stays escaped. */
const cookedSource = (raw) => raw.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${");

/** The ranges of `code` to replace. A raw template becomes an ordinary one with the same value. */
function replacements(code) {
  const found = [];
  const visit = (node) => {
    if (node === null || typeof node !== "object") return;
    if (Array.isArray(node)) return node.forEach(visit);
    const { type, tag, quasi, regex } = node;
    if (type === "Literal" && regex !== undefined) found.push({ start: node.start, end: node.end, text: node.raw });
    else if (type === "TaggedTemplateExpression" && tag.object?.name === "String" && tag.property?.name === "raw") {
      found.push({ start: tag.start, end: tag.end, text: "" });
      for (const { start, end, value } of quasi.quasis) found.push({ start, end, text: cookedSource(value.raw) });
      return visit(quasi.expressions);
    }
    for (const value of Object.values(node)) visit(value);
  };
  visit(parse(code, { ecmaVersion: "latest", sourceType: "module" }));
  return found.toSorted((one, other) => one.start - other.start);
}

/**
 * The same program in ASCII.
 * @throws Error when characters remain elsewhere, such as in a template with another tag
 */
export function toAscii(code) {
  if (code.search(beyondAscii) === -1) return code;
  let text = "";
  let at = 0;
  for (const { start, end, text: replaced } of replacements(code)) {
    text += code.slice(at, start) + replaced.replace(beyondAscii, escapeUnit);
    at = end;
  }
  text += code.slice(at);
  const rest = beyondAscii.exec(text);
  if (rest !== null) throw new Error(`The build is not ASCII: ${text.slice(Math.max(0, rest.index - 40), rest.index + 40)}`);
  return text;
}
