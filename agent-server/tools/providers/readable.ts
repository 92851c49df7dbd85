import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import TurndownService from "turndown";

/** Most elements of a page that is parsed, because the time to parse grows with them. */
const maxElements = 50_000;
/** Deepest nesting at which the article is searched for: the time of the search grows with the cube of the depth. */
const maxDepth = 150;

/**
 * The readable content of an HTML page as Markdown, without menus, scripts and forms. Links are absolute, images are
 * replaced by their descriptions. For a page without an article, the result is all of its text.
 */
export function readable(html: string, url: string): { title: string | null; text: string } {
  const { document } = parseHTML(whole(html));
  for (const element of document.querySelectorAll("script, style, noscript, template, iframe, object, embed, svg, canvas"))
    element.remove();
  const title = document.querySelector("title")?.textContent?.trim().replaceAll(/\s+/g, " ") || null;
  for (const element of document.body.querySelectorAll("title, meta, link, base")) element.remove();
  for (const [selector, name] of [
    ["a[href]", "href"],
    ["img[src]", "src"],
  ] as const) {
    for (const element of document.querySelectorAll(selector)) absolute(element, name, url);
  }
  const body = document.body.cloneNode(true);
  const few = document.querySelectorAll("*").length <= maxElements;
  const article =
    few && !isDeeperThan(document.documentElement, maxDepth)
      ? new Readability(document, { maxElemsToParse: maxElements, charThreshold: 200 }).parse()
      : null;
  const main = article?.content ? markdownOf(parseHTML(`<!doctype html><html><body>${article.content}</body></html>`).document.body) : "";
  const everything = few ? markdownOf(body) : (body.textContent ?? "").replaceAll(/[ \t]+/g, " ").replaceAll(/\n\s*\n+/g, "\n\n");
  // A short article was probably detected wrongly. Extra menus are better than missing content.
  const text = main.length >= everything.length / 4 ? main : everything;
  return { title: article?.title?.trim() || title, text: text.trim() };
}

function isDeeperThan(root: Element, depth: number): boolean {
  let [level, within] = [[root], 0];
  while (level.length > 0 && within <= depth) {
    level = level.flatMap((element) => [...element.children]);
    within += 1;
  }
  return within > depth;
}

/** Browsers move content before or without a body into it, but this parser does not. */
function whole(html: string): string {
  if (/<body[\s>]/i.test(html)) return html;
  const content = html.replaceAll(/<!doctype[^>]*>|<\/?(?:html|head|body)(?:\s[^>]*)?>/gi, "");
  return `<!doctype html><html><head></head><body>${content}</body></html>`;
}

function absolute(element: Element, name: "href" | "src", url: string): void {
  const value = element.getAttribute(name) ?? "";
  if (!URL.canParse(value, url)) return element.removeAttribute(name);
  const target = new URL(value, url);
  if (target.protocol === "https:" || target.protocol === "http:") element.setAttribute(name, target.href);
  else element.removeAttribute(name);
}

function markdownOf(root: Node): string {
  const service = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-", emDelimiter: "*" });
  service.remove(["form", "button", "input", "select", "textarea", "nav", "script", "style", "noscript", "template"] as never);
  service.addRule("picture", {
    filter: "img",
    replacement: (_content, node) => {
      const shows = (node as Element).getAttribute("alt")?.trim() ?? "";
      return shows === "" ? "" : `[picture: ${shows}]`;
    },
  });
  service.addRule("table", { filter: "table", replacement: (_content, node) => `\n\n${tableOf(node)}\n\n` });
  return service.turndown(root as never);
}

/** Table rows as lines; nested tables become plain text. */
function tableOf(table: Element): string {
  const rows = [...table.querySelectorAll("tr")].map((row) =>
    [...row.querySelectorAll("th, td")].map((cell) => (cell.textContent ?? "").trim().replaceAll(/\s+/g, " ").replaceAll("|", "\\|")),
  );
  const filled = rows.filter((cells) => cells.some((cell) => cell !== ""));
  return filled
    .map((cells, index) => `| ${cells.join(" | ")} |${index === 0 && filled.length > 1 ? `\n|${cells.map(() => " --- ").join("|")}|` : ""}`)
    .join("\n");
}
