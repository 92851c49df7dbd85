import { looksHidden } from "./placeholders/placeholder-format.ts";
import { secretFormats, type SecretFormat } from "./secret-formats.ts";
import { redactAssignments, secretKeyKind } from "./secret-names.ts";
import type { Finding, Redactor } from "./types.ts";

/** Deeper than this a value is replaced by a note: nothing we record is that deep, and a walk must end. */
const maxDepth = 64;

/** Characters and number of the texts that are remembered to be clean. */
const rememberedLength = 200;
const rememberedTexts = 2_000;

const anyHint = new RegExp(
  [...new Set(secretFormats.flatMap((format) => format.hints))]
    .filter((hint) => hint !== ".")
    .map((hint) => hint.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("|"),
);
const withoutHint = secretFormats.filter((format) => format.hints.includes("."));

/**
 * Finds secrets by their form and by the name they are given, and puts `[redacted:<kind>]` in their place. Redacting twice
 * changes nothing more. Does not catch a secret of no known form under a name that says nothing.
 */
export function createRedactor(): Redactor {
  /** Short texts in which nothing was found: names of tools, paths and keys come again and again. */
  const clean = new Set<string>();

  const text = (value: string): { text: string; findings: Finding[] } => {
    const findings: Finding[] = [];
    if (value.length < 8 || clean.has(value)) return { text: value, findings };
    const found = (kind: string): string => {
      const placeholder = `[redacted:${kind}]`;
      findings.push({ kind, placeholder });
      return placeholder;
    };
    const result = replaceSecrets(value, found);
    if (findings.length === 0 && value.length <= rememberedLength) {
      if (clean.size >= rememberedTexts) clean.clear();
      clean.add(value);
    }
    return { text: result, findings };
  };
  return { text, value: (value, maxBytes) => redactValue(value, maxBytes, (part) => text(part).text) };
}

/** The text with each secret replaced by what `found` answers; a secret may hold what stands for one that was found before it. */
export function replaceSecrets(text: string, found: (kind: string, secret: string) => string): string {
  let result = text;
  for (const format of anyHint.test(text) ? secretFormats : withoutHint) {
    if (format.hints.some((hint) => result.includes(hint))) result = redactFormat(result, format, found);
  }
  return redactAssignments(result, found);
}

function redactFormat(text: string, format: SecretFormat, found: (kind: string, secret: string) => string): string {
  return text.replace(format.pattern, (match: string, ...args: unknown[]) => {
    const secret = format.group === undefined ? match : (args[format.group - 1] as string);
    if (looksHidden(secret) || (format.check !== undefined && !format.check(secret))) return match;
    const at = match.lastIndexOf(secret);
    return match.slice(0, at) + found(format.kind, secret) + match.slice(at + secret.length);
  });
}

/** What is cut off a long text before redaction is at least this long, so a secret that the cut splits is cut off whole. */
const splitMargin = 16_384;

/** What `Redactor.value` does, with `redact` for each text; `named` for what stands under the name of a secret. */
export function redactValue<T>(
  value: T,
  maxBytes = Number.POSITIVE_INFINITY,
  redact: (text: string) => string,
  named: (kind: string, secret: string) => string = (kind) => `[redacted:${kind}]`,
): T {
  const above = new Set<object>();

  const bounded = (text: string): string => {
    if (!Number.isFinite(maxBytes)) return redact(text);
    // Never more work than a few times what is kept.
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
    if (above.has(part)) return "[circular]";
    if (depth >= maxDepth) return "[too deep]";
    if (ArrayBuffer.isView(part)) return `[${part.byteLength} bytes]`;
    const plain = toPlain(part);
    if (typeof plain !== "object" || plain === null) return walk(plain, depth + 1, kind);
    above.add(part);
    const result = Array.isArray(plain) ? plain.map((item) => walk(item, depth + 1, kind)) : walkFields(plain, depth, kind);
    above.delete(part);
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

/** An object as JSON would see it; a getter or `toJSON` that throws must not lose the receipt around it. */
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

/** The longest start of `text` of at most `maxBytes` in UTF-8, with a note of what is missing (`alreadyCut` bytes more). */
function cutText(text: string, maxBytes: number, alreadyCut = 0): string {
  // A UTF-16 unit is at most three bytes.
  if (alreadyCut === 0 && (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes)) return text;
  const { read, written } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, maxBytes)));
  const cut = Buffer.byteLength(text) - written + alreadyCut;
  return `${text.slice(0, read)}… [${cut} bytes cut]`;
}
