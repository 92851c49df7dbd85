import { options } from "preact";
import * as z from "zod";
import type { ViewApi } from "./bridge.ts";
import { startClock } from "./components.tsx";
import { setTexts } from "./l10n.ts";

declare global {
  // Provided by VS Code; can be called only once.
  function acquireVsCodeApi(): ViewApi;
}

/** Reads the translated texts that the extension puts into the page (`<script id="l10n" type="application/json">`). */
function readTexts(): void {
  const source = document.getElementById("l10n")?.textContent;
  if (source === undefined || source === null || source.trim() === "") return;
  setTexts(z.record(z.string(), z.string()).parse(JSON.parse(source)));
}

export interface Page {
  readonly api: ViewApi;
  readonly root: Element;
}

/** Prepares the page of a view. */
export function startPage(): Page {
  const root = document.getElementById("root");
  if (root === null) throw new Error("The page has no element with the id root.");
  readTexts();
  startClock();
  // Draws at most once per frame, however fast text streams.
  options.debounceRendering = (draw) => {
    requestAnimationFrame(draw);
  };
  return { api: acquireVsCodeApi(), root };
}
