import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { LancelotError } from "../../contract/errors.ts";

export interface ReadableText {
  readonly title: string | null;
  readonly text: string;
}

/** Extracts the readable content of an HTML page. @throws LancelotError `cancelled`. */
export type PageReader = (html: string, url: string, signal: AbortSignal) => Promise<ReadableText>;

const limitMs = 15_000;
const memoryMb = 512;

/**
 * Each page is parsed in its own worker thread with time and memory limits, because pages are untrusted and the host must not block.
 * If a page exceeds the limits, the result is the text between its tags.
 * @param of.distDir `dist/`; null when run from source.
 */
export function createPageReader(of: { distDir: string | null; limitMs?: number }): PageReader {
  const entry = of.distDir === null ? join(import.meta.dirname, "page-worker.ts") : join(of.distDir, "host", "page-worker.js");
  return async (html, url, signal) => {
    if (signal.aborted) throw new LancelotError("cancelled", "The request was stopped.");
    const worker = new Worker(entry, {
      workerData: { html, url },
      env: {},
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, stackSizeMb: 4 },
    });
    const { promise, resolve } = Promise.withResolvers<ReadableText | null>();
    const stop = (): void => resolve(null);
    const timer = setTimeout(stop, of.limitMs ?? limitMs);
    signal.addEventListener("abort", stop, { once: true });
    worker.once("message", resolve);
    worker.once("error", stop);
    worker.once("exit", stop);
    try {
      const read = await promise;
      if (signal.aborted) throw new LancelotError("cancelled", "The request was stopped.");
      return read ?? betweenTags(html);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      await worker.terminate();
    }
  };
}

const unread = ["script", "style", "noscript", "template", "svg"];
const named: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", nbsp: " " };

/** The text between the tags, in a single pass for any input. */
export function betweenTags(html: string): ReadableText {
  const lower = html.toLowerCase();
  const pieces: string[] = [];
  let title: string | null = null;
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open === -1) break;
    pieces.push(html.slice(at, open));
    const close = html.indexOf(">", open);
    if (close === -1) {
      at = html.length;
      break;
    }
    const name = /^<([a-z][a-z0-9]*)/.exec(lower.slice(open, open + 20))?.[1] ?? "";
    at = close + 1;
    if (name === "title" && title === null) {
      const end = lower.indexOf("</title", at);
      title = end === -1 ? null : letters(html.slice(at, end)).trim() || null;
      at = end === -1 ? html.length : end;
    } else if (unread.includes(name)) {
      const end = lower.indexOf(`</${name}`, at);
      at = end === -1 ? html.length : end;
    } else pieces.push(/^(?:p|div|br|li|tr|h[1-6]|section|article|pre|ul|ol|table|hr)$/.test(name) ? "\n" : " ");
  }
  pieces.push(html.slice(at));
  const lines = letters(pieces.join(""))
    .split("\n")
    .map((line) => line.replaceAll(/\s+/g, " ").trim());
  return {
    title,
    text: lines
      .filter((line, index) => line !== "" || lines[index - 1] !== "")
      .join("\n")
      .trim(),
  };
}

function letters(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : null;
    if (code === null) return named[name?.toLowerCase() ?? ""] ?? whole;
    return code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff) ? String.fromCodePoint(code) : whole;
  });
}
