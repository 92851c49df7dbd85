import { count, t } from "../l10n.ts";
import { markdownToTree } from "./sanitize.ts";

/** Elements that are read as sentences of their own. */
const sentences = "p, li, h1, h2, h3, h4, h5, h6, pre, table, hr, dt, dd";

/** Markdown as a screen reader should announce it: sentences without marks. A code block and a table are named by their size, not read. */
export function spokenText(markdown: string): string {
  const tree = markdownToTree(markdown);
  const said: string[] = [];
  for (const element of tree.querySelectorAll(sentences)) {
    const outer = element.parentElement?.closest("pre, table");
    if (outer instanceof Element) continue;
    const text = sentenceOf(element);
    if (text !== "") said.push(text);
  }
  return said.join(" ");
}

function sentenceOf(element: Element): string {
  if (element.matches("pre")) {
    const lines = element.textContent.trimEnd().split("\n").length;
    return count(lines, "Code, {0} line.", "Code, {0} lines.");
  }
  if (element.matches("table")) {
    const rows = element.querySelectorAll("tbody tr").length;
    return count(rows, "Table, {0} row.", "Table, {0} rows.");
  }
  // What an inner block says is read with that block.
  const own = element.cloneNode(true) as Element;
  for (const inner of own.querySelectorAll(`${sentences}, ul, ol`)) inner.remove();
  const text = own.textContent.replace(/\s+/g, " ").trim();
  if (text === "" || /[.!?:;…]["')\]]?$/u.test(text)) return text;
  return t("{0}.", text);
}
