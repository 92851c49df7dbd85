import DOMPurify from "dompurify";
import { Marked } from "marked";
import { t } from "../l10n.ts";

const tags = [
  ...["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "strong", "em", "del", "code", "pre", "a"],
  ...["table", "thead", "tbody", "tr", "th", "td", "input"],
];
const attributes = ["href", "title", "class", "align", "start", "type", "checked", "disabled"];

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

const markdown = new Marked({
  gfm: true,
  renderer: {
    // Raw HTML renders as text.
    html: ({ text }) => escape(text),
    // Loading an image would tell its server what the user reads.
    image: ({ href, text }) => `<a href="${escape(href)}">${escape(t("image: {0}", text === "" ? href : text))}</a>`,
  },
});

/**
 * Converts Markdown to a tree of safe elements. The renderer emits no raw HTML, DOMPurify permits only listed elements and attributes, and
 * the component that reads the tree has an allowlist of its own.
 */
export function markdownToTree(source: string): ParentNode {
  const html = markdown.parse(source, { async: false });
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: attributes,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    FORBID_TAGS: ["img", "style", "form", "iframe", "svg", "math", "script"],
    RETURN_DOM_FRAGMENT: true,
  });
}

export type LinkTarget = { kind: "web"; url: string } | { kind: "file"; path: string; line?: number };

/** Returns the target of a link: an https page, or a workspace file with an optional line. Null for anything else. */
export function linkTarget(href: string): LinkTarget | null {
  const trimmed = href.trim();
  if (/^https:\/\//i.test(trimmed)) {
    return URL.canParse(trimmed) ? { kind: "web", url: trimmed } : null;
  }
  let path: string;
  try {
    path = decodeURIComponent(trimmed);
  } catch {
    return null;
  }
  const line = /(?::|#L)(\d{1,7})(?:[-:]L?\d+)?$/.exec(path);
  if (line !== null) path = path.slice(0, line.index);
  path = path.replace(/^\.\//, "");
  if (path === "" || /^[/#?~]|[\p{Cc}:\\?#]/u.test(path)) return null;
  if (path.split("/").includes("..")) return null;
  return line === null ? { kind: "file", path } : { kind: "file", path, line: Number(line[1]) };
}
