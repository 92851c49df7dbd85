import { signal } from "@preact/signals";

/** A stretch of code of one kind: keyword, string, comment, … (`""` for plain text). */
export interface CodeToken {
  readonly text: string;
  readonly kind: string;
}

/** Lines of tokens; null for a language that is not known. */
export type Highlight = (code: string, language: string) => readonly (readonly CodeToken[])[] | null;

declare global {
  interface Window {
    lancelotHighlight?: Highlight;
  }
}

/** The highlighter once it is here; code shows plain until then, and stays so if it never comes. */
export const highlighter = signal<Highlight | null>(null);

/** The script of this view: its nonce lets another script in, and its address says where that one is. */
const viewScript = typeof document === "undefined" ? null : (document.currentScript as HTMLScriptElement | null);
let asked = false;

/** Fetches the grammars, which are larger than the view itself, when the first code is shown. */
export function loadHighlighter(): void {
  if (asked || viewScript === null || viewScript.src === "") return;
  asked = true;
  const script = document.createElement("script");
  script.nonce = viewScript.nonce;
  script.src = new URL("highlight.js", viewScript.src).href;
  script.addEventListener("load", () => {
    highlighter.value = window.lancelotHighlight ?? null;
  });
  document.head.append(script);
}
