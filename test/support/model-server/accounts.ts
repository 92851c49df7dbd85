import { createHash } from "node:crypto";
import { list, text, type SeenRequest } from "./turn.ts";

/**
 * Counts input and keeps caches as each provider documents it, so that what a client's caching is worth can be measured. Tokens are
 * four letters of the request's parts. Documented rules that are kept: Anthropic reads the longest beginning that ends at one of at
 * most four marks, or up to twenty blocks before one, and writes up to the last mark, both from a least size on; OpenAI (GPT-5.6 and
 * later) reads and writes at breakpoints alone, of which the end of the prompt is one by itself, by the cache key; xAI reads the
 * longest beginning it has seen in the same conversation; Gemini reads what an explicit cache holds.
 */
export interface Accounts {
  count(request: SeenRequest): { inputTokens: number; cachedInputTokens: number; cacheWriteTokens: number } | { refused: string };
  /** The calls about explicit caches. */
  keep(method: string, path: string, body: Record<string, unknown>): { status: number; body: Record<string, unknown> };
  /** `POST`, `PATCH` and `DELETE` of explicit caches, in their order, and what they held in tokens. */
  readonly kept: readonly { method: string; name: string; tokens: number }[];
  /** Forgets every cache, as time does. */
  expire(): void;
}

const leastTokens = 1024;

interface Segment {
  content: unknown;
  mark: boolean;
}

export function createAccounts(options: { geminiCachesByItself?: boolean } = {}): Accounts {
  const stored = new Set<string>();
  const explicit = new Map<string, number>();
  const kept: { method: string; name: string; tokens: number }[] = [];
  let named = 0;

  function count(request: SeenRequest): ReturnType<Accounts["count"]> {
    if (request.format === "gemini") return countGemini(request);
    const { segments, scope } = readRequest(request);
    const ends = prefixesOf(scope, segments);
    const total = ends.at(-1)?.tokens ?? 0;
    const marks = segments.flatMap(({ mark }, index) => (mark ? [index] : []));
    const isKnown = (index: number): boolean => stored.has(ends[index]?.hash ?? "") && (ends[index]?.tokens ?? 0) >= leastTokens;
    const looked =
      request.format === "anthropic"
        ? marks.flatMap((mark) => Array.from({ length: 20 }, (_, back) => mark - back))
        : segments.map((_, index) => index);
    const read = Math.max(0, ...looked.filter((index) => index >= 0 && isKnown(index)).map((index) => ends[index]?.tokens ?? 0));
    const written = Math.max(0, ...marks.map((index) => ends[index]?.tokens ?? 0).filter((tokens) => tokens >= leastTokens));
    const writes = request.provider === "xai" || request.format === "openai_chat" ? segments.map((_, index) => index) : marks;
    for (const index of writes) stored.add(ends[index]?.hash ?? "");
    const isFree = request.provider === "xai" || request.format === "openai_chat";
    return { inputTokens: total, cachedInputTokens: read, cacheWriteTokens: isFree ? 0 : Math.max(0, written - read) };
  }

  function countGemini({ raw }: SeenRequest): ReturnType<Accounts["count"]> {
    const contents = list(raw["contents"]).map((content) => ({ content, mark: false }));
    const name = text(raw["cachedContent"]);
    if (name !== "") {
      const held = explicit.get(name);
      if (held === undefined) return { refused: "CachedContent not found (or permission denied)" };
      return { inputTokens: held + tokensOf(raw["contents"]), cachedInputTokens: held, cacheWriteTokens: 0 };
    }
    const segments = [
      { content: raw["systemInstruction"] ?? null, mark: false },
      { content: raw["tools"] ?? null, mark: false },
      ...contents,
    ];
    const ends = prefixesOf("gemini", segments);
    const read =
      options.geminiCachesByItself === true
        ? Math.max(0, ...ends.filter(({ hash, tokens }) => stored.has(hash) && tokens >= leastTokens).map(({ tokens }) => tokens))
        : 0;
    for (const { hash } of ends) stored.add(hash);
    return { inputTokens: ends.at(-1)?.tokens ?? 0, cachedInputTokens: read, cacheWriteTokens: 0 };
  }

  return {
    count,
    kept,
    keep(method, path, body) {
      const name = path.slice(path.indexOf("cachedContents"));
      if (method === "POST") {
        const tokens = tokensOf(body["systemInstruction"] ?? null) + tokensOf(body["tools"] ?? null) + tokensOf(body["contents"] ?? null);
        if (tokens < leastTokens)
          return refusal(400, `Cached content is too small. total_token_count=${tokens}, min_total_token_count=${leastTokens}`);
        const made = `cachedContents/c${++named}`;
        explicit.set(made, tokens);
        kept.push({ method, name: made, tokens });
        return { status: 200, body: { name: made, model: body["model"], usageMetadata: { totalTokenCount: tokens } } };
      }
      const tokens = explicit.get(name);
      if (tokens === undefined) return refusal(403, "CachedContent not found (or permission denied)");
      kept.push({ method, name, tokens });
      if (method === "DELETE") explicit.delete(name);
      return { status: 200, body: method === "DELETE" ? {} : { name } };
    },
    expire() {
      stored.clear();
      explicit.clear();
    },
  };
}

function refusal(status: number, message: string): { status: number; body: Record<string, unknown> } {
  return { status, body: { error: { code: status, message, status: status === 400 ? "INVALID_ARGUMENT" : "PERMISSION_DENIED" } } };
}

function readRequest({ format, raw, headers, provider }: SeenRequest): { segments: Segment[]; scope: string } {
  if (format === "anthropic") {
    const blocks = [...list(raw["tools"]), ...list(raw["system"])].map((block) => toSegment(block, "cache_control"));
    const said = list(raw["messages"]).flatMap((message) =>
      list(message["content"]).map((block) => {
        const segment = toSegment(block, "cache_control");
        return { ...segment, content: [message["role"], segment.content] };
      }),
    );
    return { segments: [...blocks, ...said], scope: `anthropic ${text(raw["model"])}` };
  }
  const items = format === "openai_responses" ? list(raw["input"]) : list(raw["messages"]);
  const key = text(raw["prompt_cache_key"]) || text(headers["x-grok-conv-id"]);
  const segments: Segment[] = [
    { content: raw["tools"] ?? null, mark: false },
    { content: raw["instructions"] ?? null, mark: false },
    ...items.map((item) => ({
      content: withoutKey(item, "prompt_cache_breakpoint"),
      mark: JSON.stringify(item).includes('"prompt_cache_breakpoint"'),
    })),
  ];
  const last = segments.at(-1);
  if (last !== undefined && format === "openai_responses" && provider === "openai") last.mark = true;
  return { segments, scope: `${provider} ${text(raw["model"])} ${key}` };
}

function toSegment(block: Record<string, unknown>, mark: string): Segment {
  return { content: withoutKey(block, mark), mark: mark in block };
}

/** Marks are no part of what is cached. */
function withoutKey(value: unknown, key: string): unknown {
  return JSON.parse(JSON.stringify(value, (name, inner: unknown) => (name === key ? undefined : inner)));
}

function prefixesOf(scope: string, segments: readonly Segment[]): { hash: string; tokens: number }[] {
  let tokens = 0;
  let hash = scope;
  return segments.map(({ content }) => {
    tokens += tokensOf(content);
    hash = createHash("sha256").update(hash).update(JSON.stringify(content)).digest("hex");
    return { hash, tokens };
  });
}

function tokensOf(content: unknown): number {
  if (content === null || content === undefined) return 0;
  return Math.ceil((typeof content === "string" ? content : JSON.stringify(content)).length / 4);
}
