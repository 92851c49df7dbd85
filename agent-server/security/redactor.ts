import { type KnownSecrets, replaceKnown } from "./known-secrets/known-secrets.ts";
import { looksHidden } from "./placeholders/placeholder-format.ts";
import { replaceSecrets } from "./find-secrets.ts";
import { secretKeyKind } from "./secret-names.ts";
import type { Finding, Inspection, Redactor } from "./types.ts";

/** Values nested deeper are replaced with a note, so that the walk always ends. */
const maxDepth = 64;

/** Maximum total length of the cached texts in UTF-16 units: more than a conversation, which is sent again with each step. */
const rememberedUnits = 400_000;
/** What the cache needs for one text besides its characters, in the same units. */
const unitsOfEntry = 60;

/**
 * Finds secrets by their format, by the name they are assigned to and, with `known`, by their value, and replaces them with
 * `[redacted:<kind>]`. Idempotent. Misses secrets of an unknown format with a neutral name.
 */
export function createRedactor(deps: { known?: KnownSecrets } = {}): Redactor {
  const { known } = deps;
  /** Cache of texts without secrets: the messages of a conversation, tool names and paths recur with every step. */
  const clean = new Set<string>();
  let units = 0;
  let knownVersion = 0;

  const text = (value: string): { text: string; findings: Finding[] } => {
    const findings: Finding[] = [];
    if (known !== undefined && known.version !== knownVersion) {
      knownVersion = known.version;
      clean.clear();
      units = 0;
    }
    if (clean.has(value)) return { text: value, findings };
    const found = (kind: string): string => {
      const placeholder = `[redacted:${kind}]`;
      findings.push({ kind, placeholder });
      return placeholder;
    };
    // Known values come first, because a format may cover only a part of one.
    const result = replaceSecrets(replaceKnown(value, known?.find(value) ?? [], found), found);
    if (findings.length === 0 && value.length <= rememberedUnits / 10) {
      const needed = value.length + unitsOfEntry;
      units += needed;
      if (units > rememberedUnits) {
        clean.clear();
        units = needed;
      }
      clean.add(value);
    }
    return { text: result, findings };
  };
  return {
    text,
    value: (value, maxBytes) => redactValue(value, maxBytes, (part) => text(part).text),
    inspect: (value) => inspectKnown(value, known),
  };
}

/** Implements `Redactor.inspect`. */
export function inspectKnown(text: string, known: KnownSecrets | undefined): Inspection {
  return known?.inspect(text) ?? { matches: [], unfinishedFrom: text.length };
}

/** Extra characters that are redacted and then dropped when a long text is truncated, so that a secret at the cut is removed completely. */
const splitMargin = 16_384;

/** Implements `Redactor.value` with `redact` for each string, and `named` for values under a key that names a secret. */
export function redactValue<T>(
  value: T,
  maxBytes = Number.POSITIVE_INFINITY,
  redact: (text: string) => string,
  named: (kind: string, secret: string) => string = (kind) => `[redacted:${kind}]`,
): T {
  const ancestors = new Set<object>();

  const bounded = (text: string): string => {
    if (!Number.isFinite(maxBytes)) return redact(text);
    // Bounds the work to a small multiple of the result.
    const window = maxBytes * 4 + splitMargin;
    if (text.length <= window) return cutText(redact(text), maxBytes);
    const kept = redact(text.slice(0, window));
    return cutText(kept.slice(0, Math.max(0, kept.length - splitMargin)), maxBytes, Buffer.byteLength(text) - Buffer.byteLength(kept));
  };

  const walk = (part: unknown, depth: number, kind: string | null): unknown => {
    if (typeof part === "string") return kind !== null && part !== "" && !looksHidden(part) ? named(kind, part) : bounded(part);
    if (typeof part === "number") return kind === "password" ? named(kind, String(part)) : part;
    if (typeof part === "bigint") return kind === "password" ? named(kind, part.toString()) : part.toString();
    if (typeof part === "function" || typeof part === "symbol") return undefined;
    if (typeof part !== "object" || part === null) return part;
    if (ancestors.has(part)) return "[circular]";
    if (depth >= maxDepth) return "[too deep]";
    if (ArrayBuffer.isView(part)) return `[${part.byteLength} bytes]`;
    const plain = toPlain(part);
    if (typeof plain !== "object" || plain === null) return walk(plain, depth + 1, kind);
    ancestors.add(part);
    const result = Array.isArray(plain) ? plain.map((item) => walk(item, depth + 1, kind)) : walkFields(plain, depth, kind);
    ancestors.delete(part);
    return result;
  };

  const walkFields = (fields: object, depth: number, kind: string | null): object => {
    const result: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(fields)) {
      const redacted = walk(field, depth + 1, kind ?? secretKeyKind(key));
      const name = bounded(key);
      if (name === "__proto__")
        Object.defineProperty(result, name, { value: redacted, enumerable: true, configurable: true, writable: true });
      else result[name] = redacted;
    }
    return result;
  };

  return walk(value, 0, null) as T;
}

/** Converts an object as JSON would. A getter or `toJSON` that throws must not prevent the receipt from being written. */
function toPlain(part: object): unknown {
  try {
    if (part instanceof Error) return { name: part.name, message: part.message };
    if (part instanceof Map) return Object.fromEntries([...part].map(([key, field]) => [String(key), field]));
    if (part instanceof Set) return [...part];
    if ("toJSON" in part && typeof part.toJSON === "function") return (part.toJSON as () => unknown)();
    return Array.isArray(part) ? part : { ...part };
  } catch {
    return "[unreadable]";
  }
}

/** Truncates `text` to at most `maxBytes` of UTF-8, with a note of the removed bytes (plus `alreadyCut`). */
function cutText(text: string, maxBytes: number, alreadyCut = 0): string {
  // A UTF-16 unit is at most three bytes.
  if (alreadyCut === 0 && (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes)) return text;
  const { read, written } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, maxBytes)));
  const cut = Buffer.byteLength(text) - written + alreadyCut;
  return `${text.slice(0, read)}… [${cut} bytes cut]`;
}
