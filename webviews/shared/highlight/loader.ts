import { signal } from "@preact/signals";

/** A span of code of one kind, such as keyword, string or comment (`""` for plain text). */
export interface CodeToken {
  readonly text: string;
  readonly kind: string;
}

/** Returns lines of tokens, or null for an unknown language. */
export type Highlight = (code: string, language: string) => readonly (readonly CodeToken[])[] | null;

declare global {
  interface Window {
    lancelotHighlight?: Highlight;
  }
}

/** The highlighter after it has loaded; code stays plain until then. */
export const highlighter = signal<Highlight | null>(null);

/** The script of this view. Its nonce permits a second script, and its URL locates it. */
const viewScript = typeof document === "undefined" ? null : (document.currentScript as HTMLScriptElement | null);
let requested = false;

/** Loads the grammars when the first code block appears, because they are larger than the view itself. */
export function loadHighlighter(): void {
  if (requested || viewScript === null || viewScript.src === "") return;
  requested = true;
  const script = document.createElement("script");
  script.nonce = viewScript.nonce;
  script.src = new URL("highlight.js", viewScript.src).href;
  script.addEventListener("load", () => {
    highlighter.value = window.lancelotHighlight ?? null;
  });
  document.head.append(script);
}
