import { LancelotError } from "../../contract/errors.ts";
import type { PageAnswer } from "../../security/security.ts";
import type { PageReader } from "./page-reader.ts";

/** `page`: what a person would read of an HTML page, as Markdown. */
export type ReadableKind = "page" | "text" | "json" | "markdown";

const html = new Set(["text/html", "application/xhtml+xml"]);
const markdown = new Set(["text/markdown", "text/x-markdown"]);
const textual =
  /^(?:text\/|application\/(?:xml|yaml|x-yaml|toml|javascript|ecmascript|x-sh|sql|x-ndjson|jsonl|graphql)$)|[+/](?:json|xml|yaml)$/;

/** True for what is text by its content type. No type at all is looked at when the body is there. */
export function isReadableType(type: string): boolean {
  return type === "" || html.has(type) || textual.test(type);
}

/**
 * The text of an answer, by its byte order mark, its content type, what an HTML page says of itself, and else UTF-8.
 * @throws LancelotError `invalid_params` when it is no text.
 */
export function decodePage({ body, charset, type }: Pick<PageAnswer, "body" | "charset" | "type">): string {
  const named = bomOf(body) ?? charset ?? (html.has(type) || type === "" ? charsetWithin(body) : null) ?? "utf-8";
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(named);
  } catch {
    // A name nobody knows: most pages are UTF-8, whatever they call it.
    decoder = new TextDecoder("utf-8");
  }
  const text = decoder.decode(body);
  if (text.includes("\0")) throw new LancelotError("invalid_params", "What is at this address is no text. Use download to keep the file.");
  return text;
}

/** What is worth reading of an answer. @throws LancelotError `invalid_params`. */
export async function readPage(
  answer: Pick<PageAnswer, "body" | "charset" | "type" | "url">,
  read: PageReader,
  signal: AbortSignal,
): Promise<{ kind: ReadableKind; title: string | null; text: string }> {
  const text = decodePage(answer);
  if (html.has(answer.type) || (answer.type === "" && /^\s*(?:<!--[^]*?-->\s*)?<(?:!doctype\s+html|html)\b/i.test(text.slice(0, 2000)))) {
    return { kind: "page", ...(await read(text, answer.url, signal)) };
  }
  if (/[/+]json$/.test(answer.type)) return { kind: "json", title: null, text: indented(text) };
  return { kind: markdown.has(answer.type) ? "markdown" : "text", title: null, text };
}

function bomOf(body: Buffer): string | null {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return "utf-8";
  if (body[0] === 0xff && body[1] === 0xfe) return "utf-16le";
  if (body[0] === 0xfe && body[1] === 0xff) return "utf-16be";
  return null;
}

/** As browsers do: the first kilobyte may name it. */
function charsetWithin(body: Buffer): string | null {
  const head = body.subarray(0, 1024).toString("latin1");
  const named =
    /<meta\b[^>]*\bcharset\s*=\s*["']?\s*([a-z0-9_:-]+)/i.exec(head)?.[1] ??
    /^\s*<\?xml[^>]*\bencoding\s*=\s*["']([a-z0-9_:-]+)/i.exec(head)?.[1];
  // A page that could be read this far is not UTF-16, whatever it says.
  return named === undefined ? null : /^utf-?16/i.test(named) ? "utf-8" : named.toLowerCase();
}

/** JSON on one line cannot be read in part; what is no JSON stays as it is. */
function indented(text: string): string {
  if (text.includes("\n")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
