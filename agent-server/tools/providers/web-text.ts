import { LancelotError } from "../../contract/errors.ts";
import type { PageAnswer } from "../../security/security.ts";
import type { PageReader } from "./page-reader.ts";

/** `page`: the readable content of an HTML page, as Markdown. */
export type ReadableKind = "page" | "text" | "json" | "markdown";

const html = new Set(["text/html", "application/xhtml+xml"]);
const markdown = new Set(["text/markdown", "text/x-markdown"]);
const textual =
  /^(?:text\/|application\/(?:xml|yaml|x-yaml|toml|javascript|ecmascript|x-sh|sql|x-ndjson|jsonl|graphql)$)|[+/](?:json|xml|yaml)$/;

/** True for text content types. A missing type counts as text, and the body is checked later. */
export function isReadableType(type: string): boolean {
  return type === "" || html.has(type) || textual.test(type);
}

/**
 * Decodes a response by its byte order mark, its content type, the charset in the HTML, or else as UTF-8.
 * @throws LancelotError `invalid_params` for binary content.
 */
export function decodePage({ body, charset, type }: Pick<PageAnswer, "body" | "charset" | "type">): string {
  const named = bomOf(body) ?? charset ?? (html.has(type) || type === "" ? charsetWithin(body) : null) ?? "utf-8";
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(named);
  } catch {
    // An unknown charset name: most pages are UTF-8 anyway.
    decoder = new TextDecoder("utf-8");
  }
  const text = decoder.decode(body);
  if (text.includes("\0"))
    throw new LancelotError("invalid_params", "The content at this address is not text. Use download to save the file.");
  return text;
}

/** The readable content of a response. @throws LancelotError `invalid_params`. */
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

/** The charset in the first kilobyte of the HTML, as browsers look for it. */
function charsetWithin(body: Buffer): string | null {
  const head = body.subarray(0, 1024).toString("latin1");
  const named =
    /<meta\b[^>]*\bcharset\s*=\s*(?:["']\s*)?([a-z0-9_:-]+)/i.exec(head)?.[1] ??
    /^\s*<\?xml[^>]*\bencoding\s*=\s*["']([a-z0-9_:-]+)/i.exec(head)?.[1];
  // The declaration was read as ASCII, so the page cannot be UTF-16.
  return named === undefined ? null : /^utf-?16/i.test(named) ? "utf-8" : named.toLowerCase();
}

/** Indents JSON, because a single line cannot be read in part. Invalid JSON is unchanged. */
function indented(text: string): string {
  if (text.includes("\n")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
