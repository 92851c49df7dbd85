import { expect, test } from "vitest";
import { pageHtml } from "../../../extension/views/html.ts";

const facts = {
  view: "chat",
  title: "Chat",
  loading: "Loading…",
  lang: "de",
  texts: undefined,
  cspSource: "https://w.example",
  nonce: "n0nce",
  uris: { script: "https://w.example/chat.js", style: "https://w.example/chat.css", codicons: "https://w.example/codicon.css" },
} as const;

test("a view's page lets its own script and styles in and nothing else", () => {
  const html = pageHtml(facts);
  expect(html).toContain(
    `content="default-src 'none'; script-src 'nonce-n0nce'; style-src https://w.example 'unsafe-inline'; font-src https://w.example; img-src https://w.example data:"`,
  );
  expect(html.match(/<script\b[^>]*>/g)).toEqual(['<script nonce="n0nce" src="https://w.example/chat.js">']);
  expect(html).toContain('<link id="vscode-codicon-stylesheet" rel="stylesheet" href="https://w.example/codicon.css">');
  expect(html).toContain('<body data-view="chat"');
  expect(html).toContain('<div id="root"></div>');
});

test("texts cannot break out of the page", () => {
  const html = pageHtml({ ...facts, title: "</title><script>1</script>", loading: '"><img>' });
  expect(html).not.toContain("<script>1");
  expect(html).not.toContain("<img>");
});

test("translated texts are data of the page and cannot break out of it", () => {
  const texts = { Cancel: "Abbrechen", Save: "</script><script>1</script>" };
  const html = pageHtml({ ...facts, texts });
  const data = /<script id="l10n" type="application\/json">(.*?)<\/script>/.exec(html)?.[1] ?? "";
  expect(JSON.parse(data)).toEqual(texts);
  expect(html).not.toContain("<script>1");
});
