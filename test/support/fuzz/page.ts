import { transformSync } from "esbuild";
import { readFileSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import type { FunctionComponent } from "preact";

export interface Page {
  /** Draws a component in place of what was drawn before. */
  show<P extends object>(component: FunctionComponent<P>, props: P): void;
}

/** A page in this thread, for parts of the views. Node does not load JSX itself. */
export async function openPage(): Promise<Page> {
  const { JSDOM } = createRequire(import.meta.url)("jsdom") as { JSDOM: new (html: string, options: object) => { window: Window } };
  const { window } = new JSDOM("<!doctype html><body></body>", { pretendToBeVisual: false, url: "https://views.example/" });
  const names = [
    "window",
    "document",
    "Node",
    "Element",
    "HTMLElement",
    "HTMLTemplateElement",
    "DocumentFragment",
    "NodeFilter",
    "DOMParser",
    "NamedNodeMap",
  ];
  for (const name of [
    ...names,
    "HTMLFormElement",
    "Text",
    "Comment",
    "IntersectionObserver",
    "getComputedStyle",
    "requestAnimationFrame",
    "cancelAnimationFrame",
  ])
    if (name in window || name === "window")
      Object.defineProperty(globalThis, name, { value: Reflect.get(window, name), configurable: true, writable: true });
  registerHooks({
    load: (url, context, next) => {
      if (!url.endsWith(".tsx")) return url.endsWith(".css") ? { format: "module", source: "", shortCircuit: true } : next(url, context);
      const source = readFileSync(fileURLToPath(url), "utf8");
      const { code } = transformSync(source, { loader: "tsx", jsx: "automatic", jsxImportSource: "preact", format: "esm" });
      return { format: "module", source: code, shortCircuit: true };
    },
  });
  const { h, render } = await import("preact");
  const body = window.document.body;
  return {
    show(component, props) {
      const root = window.document.createElement("div");
      body.append(root);
      try {
        render(h(component, props), root);
      } finally {
        render(null, root);
        root.remove();
      }
    },
  };
}
