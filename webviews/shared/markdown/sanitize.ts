import DOMPurify from "dompurify";
import { Marked } from "marked";
import { t } from "../l10n.ts";
import { parseBounded } from "./bounded.ts";

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
  const html = markdownToHtml(source);
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: attributes,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    FORBID_TAGS: ["img", "style", "form", "iframe", "svg", "math", "script"],
    RETURN_DOM_FRAGMENT: true,
  });
}

/** Unsafe HTML of one block. A text that the parser fails on shows as it is. */
export function markdownToHtml(source: string): string {
  try {
    return markdown.parser(parseBounded(source, markdown.defaults));
  } catch {
    return `<p>${escape(source)}</p>`;
  }
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

/** Something in the text of a link that reads as the address of a page. */
// Labels of at most 63 characters and at most 127 of them, as in DNS.
const address =
  /(?:([a-z][a-z\d+.-]{0,30}):\/\/)?(?:[^\s/@]{0,500}@)?((?<![\p{L}\p{N}])(?:[\p{L}\p{N}][\p{L}\p{N}-]{0,62}\.){1,126}\p{L}{2,63})(?::\d+)?(?:[/?#]\S*)?/giu;

/**
 * Where a link leads, when its text shows another address; null when the text shows none or the same. A file name is no address
 * when the link leads to a file of that name.
 */
export function hiddenDestination(text: string, target: LinkTarget): string | null {
  const plain = text.normalize("NFKC").replaceAll(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, "");
  const url = target.kind === "web" ? new URL(target.url) : null;
  const path = target.kind === "web" ? (url?.pathname ?? "") : target.path;
  const destination = url === null ? path : url.host;
  // Credentials in front of a host make it look like another, and such a host imitates letters.
  if (url !== null && (url.username !== "" || url.password !== "" || url.hostname.split(".").some((label) => label.startsWith("xn--"))))
    return destination;
  for (const [whole, scheme, host = ""] of plain.matchAll(address)) {
    if (scheme === undefined && path.split("/").at(-1) === whole) continue;
    // Without a scheme, a name within a sentence is rarely meant as an address.
    if (scheme === undefined && whole !== plain.trim() && !/^www\./i.test(whole)) continue;
    if (url === null) {
      if (scheme !== undefined || whole !== plain.trim() || /^www\./i.test(whole)) return destination;
      continue;
    }
    if (bareHost(host) !== bareHost(url.hostname)) return destination;
  }
  return null;
}

function bareHost(host: string): string {
  const ascii = URL.canParse(`https://${host}`) ? new URL(`https://${host}`).hostname : host;
  return ascii.toLowerCase().replace(/^www\./, "");
}
