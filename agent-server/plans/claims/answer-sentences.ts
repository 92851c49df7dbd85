import { trimEnd } from "../../contract/trim-end.ts";

/** One word of a sentence, or what stands in its place. */
export interface Token {
  readonly kind: "word" | "path" | "code" | "command" | "url" | "number" | "mark" | "quote" | "punctuation";
  /** In lower case; of paths, commands and addresses as written. */
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** A sentence of an answer, outside code blocks, quotations and tables. */
export interface Sentence {
  readonly tokens: readonly Token[];
  /** As written. */
  readonly text: string;
  /** True for an item of a list. */
  readonly item: boolean;
  /** The heading above it, in lower case; empty without one. */
  readonly heading: string;
  readonly isQuestion: boolean;
}

/** So much of an answer is read, from its end, where it sums up (characters). */
const readCharacters = 50_000;
/** Longer sentences are not read to their end (tokens). */
const maxTokens = 120;

/** Reads the prose of an answer in Markdown. Code blocks, quotations and tables are left out: they state nothing about the writer. */
export function sentencesOf(answer: string): Sentence[] {
  const text = answer
    .slice(-readCharacters)
    .normalize("NFC")
    .replaceAll(/[’‘ʼ´]/g, "'");
  const sentences: Sentence[] = [];
  let fence: string | null = null;
  let heading = "";
  for (const line of joinWrapped(text.split("\n"))) {
    const trimmed = line.trim();
    const opening = /^(?:```|~~~)/.exec(trimmed)?.[0];
    if (fence !== null) {
      if (opening === fence) fence = null;
      continue;
    }
    if (opening !== undefined) {
      fence = opening;
      continue;
    }
    if (trimmed === "" || trimmed.startsWith(">") || trimmed.startsWith("|") || /^(?:\t| {4,})(?![-*+\d])/.test(line)) continue;
    const marker = /^(?:[-*+•]|\d{1,3}[.)])\s/.exec(trimmed)?.[0];
    const body = (marker === undefined ? trimmed : trimmed.slice(marker.length)).replace(/^\[x\]/i, "✅").replace(/^\[ \]/, "❌");
    const plain = body
      .replaceAll(/\*\*|__|^#{1,6}/g, " ")
      .replaceAll(/\]\([^)\s]*\)/g, " ")
      .replaceAll("[", " ")
      .trim();
    if (marker === undefined && isHeading(trimmed, plain)) {
      heading = trimEnd(plain, ": ").toLowerCase();
      // "Done: I updated a.ts:" is a heading and a sentence at once.
      sentences.push(...split(plain, { item: false, heading: "" }));
      continue;
    }
    if (marker === undefined) heading = "";
    sentences.push(...split(plain, { item: marker !== undefined, heading }));
  }
  return sentences;
}

/** Joins the lines of a paragraph that was wrapped inside a sentence. Lines of code blocks may be joined, too: they are not read. */
function joinWrapped(lines: readonly string[]): string[] {
  const joined: string[] = [];
  for (const line of lines) {
    const previous = joined.at(-1);
    const continues =
      previous !== undefined &&
      /^\s{0,3}[\p{Ll}(`]/u.test(line) &&
      /[\p{L}\p{N},)`]$/u.test(previous) &&
      !/^\s*(?:```|~~~|#|>)/.test(previous) &&
      !/^\s*```/.test(line);
    if (continues) joined[joined.length - 1] = `${previous} ${line.trim()}`;
    else joined.push(line);
  }
  return joined;
}

function isHeading(raw: string, plain: string): boolean {
  return (
    /^#{1,6}\s/.test(raw) || (plain.length <= 120 && plain.endsWith(":")) || (/^\*\*[^*]{1,100}\*\*$/.test(raw) && plain.length <= 100)
  );
}

const token =
  /(?<code>`{1,2}[^`\n]{1,400}`{1,2})|(?<quote>["“„«][^"”“»]{0,400}["”“»])|(?<url>https?:\/\/[^\s)>\]]{1,500})|(?<mark>[✅✔☑❌✗✘])|(?<end>[.!?…;]{1,5}(?=\s|$))|(?<punct>[,:()–—]|-(?=\s))|(?<chunk>[\p{L}\p{N}_@~./\\'+%#-]{1,300})/gu;

function split(line: string, { item, heading }: Pick<Sentence, "item" | "heading">): Sentence[] {
  const found: Sentence[] = [];
  let tokens: Token[] = [];
  let start = 0;
  const finish = (end: number, isQuestion: boolean): void => {
    if (tokens.length > 0)
      found.push({ tokens: tokens.slice(0, maxTokens), text: line.slice(start, end).trim(), item, heading, isQuestion });
    tokens = [];
    start = end;
  };
  for (const match of line.matchAll(token)) {
    const groups = match.groups ?? {};
    const from = match.index;
    const raw = match[0];
    const add = (kind: Token["kind"], text: string, length = raw.length): void => void tokens.push({ kind, text, from, to: from + length });
    if (groups["end"] !== undefined) finish(from + raw.length, raw.includes("?"));
    else if (groups["code"] !== undefined) add(...codeKind(raw.replaceAll("`", "").trim()));
    else if (groups["quote"] !== undefined) add("quote", raw);
    else if (groups["url"] !== undefined) add("url", trimEnd(raw, ".,;:!?'"));
    else if (groups["mark"] !== undefined) add("mark", raw);
    else if (groups["punct"] !== undefined) add("punctuation", raw);
    else {
      const bare = trimEnd(raw, ".'-/");
      const elided = elision.exec(bare)?.[0] ?? "";
      if (elided !== "") add("word", elided.toLowerCase(), elided.length);
      if (bare !== elided) for (const [kind, text] of wordKinds(bare.slice(elided.length))) add(kind, text, bare.length);
      if (raw.endsWith(".")) finish(from + raw.length, false);
    }
  }
  finish(line.length, false);
  return found;
}

/** The article in front of a French or Italian word: `l'errore`. */
const elision = /^(?:l|dell|nell|all|dall|un)'/i;

const programs =
  /^(?:npm|npx|pnpm|yarn|bun|node|deno|python3?|pip3?|pytest|tox|go|cargo|make|cmake|mvn|gradle|\.\/\S+|git|docker|bash|sh|tsc|eslint|vitest|jest|mocha|ruff|mypy|rspec|phpunit|dotnet|composer|bundle|rake|uv|poetry|ls|cat|rm|mv|cp|mkdir|curl|kubectl|terraform)(?=\s|$)/;
const extension =
  /\.(?:tsx?|jsx?|[mc][jt]s|json[5c]?|mdx?|py|go|rs|java|kts?|[ch]|cpp|cc|hpp|cs|rb|php|css|s[ac]ss|less|html?|ya?ml|toml|txt|sh|bash|sql|xml|ini|lock|env|vue|svelte|swift|csv|ipynb|cfg|conf|gradle|rst|proto|scala|ex|exs|lua|dart|r|bat|ps1|log|svg|properties|tf|graphql)$/i;
const knownNames =
  /^(?:dockerfile|makefile|license|changelog|readme|\.gitignore|\.env|gemfile|rakefile|procfile|\.eslintrc|\.prettierrc|\.npmrc|\.editorconfig)$/i;
const products: ReadonlySet<string> = new Set([
  "node.js",
  "next.js",
  "vue.js",
  "nuxt.js",
  "three.js",
  "d3.js",
  "express.js",
  "react.js",
  "chart.js",
]);

/** Whether a word is the path or the name of a file. */
export function isPath(text: string): boolean {
  if (products.has(text.toLowerCase())) return false;
  return extension.test(text) || knownNames.test(text);
}

function codeKind(text: string): [Token["kind"], string] {
  if (isPath(text) && !/\s/.test(text)) return ["path", text];
  return programs.test(text) ? ["command", text] : ["code", text];
}

function wordKinds(text: string): [Token["kind"], string][] {
  const ratio = /^(\d{1,7})\/(\d{1,7})$/.exec(text);
  if (ratio !== null)
    return [
      ["number", ratio[1] ?? ""],
      ["word", "of"],
      ["number", ratio[2] ?? ""],
    ];
  if (/^\d{1,9}(?:[.,]\d{1,6})*%?$/.test(text)) return [["number", text]];
  if (isPath(text) && !/^(?:readme|changelog|license)$/.test(text)) return [["path", text]];
  return [["word", text.toLowerCase()]];
}
