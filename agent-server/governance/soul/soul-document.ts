import { type Document, isAlias, isMap, isPair, isScalar, isSeq, type Node, parseDocument, type ParsedNode, visit } from "yaml";
import type * as z from "zod";
import { SoulDocument, type SoulIssue } from "../../contract/soul.ts";
import { shippedValue } from "../../shipped-yaml.ts";

/** Maximum size of a soul in bytes of UTF-8. */
export const maxSoulBytes = 200_000;
/** Limits far above any real soul; a text beyond them is not parsed. */
const maxDepth = 32;
const maxNodes = 20_000;
/** Maximum number of reported issues. */
const maxIssues = 50;

/** A YAML text parsed as a soul. */
export interface ReadSoul {
  /** Null when the text does not match the schema. */
  readonly document: SoulDocument | null;
  /** The parsed map, for lint rules that also check souls with schema errors; null when the text is not a YAML map. */
  readonly raw: Readonly<Record<string, unknown>> | null;
  /** Issues of rule `schema`: critical for schema errors, warnings for unknown fields. */
  readonly issues: readonly SoulIssue[];
  /** 1-based position of a field, or of its nearest existing parent. */
  readonly placeOf: (path: readonly (string | number)[]) => Place;
  /** Offsets of the `version` value in the text; null without one. */
  readonly versionRange: readonly [number, number] | null;
}

export interface Place {
  readonly line?: number;
  readonly column?: number;
}

const start: Place = { line: 1, column: 1 };

/**
 * Control characters, marks that reverse the reading order, and characters that show nothing. Joiners (U+200C, U+200D) and variation
 * selectors are left out: several scripts and emoji need them.
 */
const invisible =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

/** Parses a text as a soul. Never throws; errors are in `issues`. */
export function readSoul(yaml: string): ReadSoul {
  const refusal = refuse(yaml);
  if (refusal !== null) return nothing([refusal]);
  try {
    return parseSoul(yaml);
  } catch {
    // The parser gave up with a RangeError, so the text is not a soul.
    return nothing([critical("The text is not valid YAML.", start)]);
  }
}

/** Decodes a file's bytes. @returns the text, or an issue when the bytes are not valid. */
export function decodeSoul(bytes: Uint8Array): string | SoulIssue {
  if (bytes.length > maxSoulBytes) return tooLong;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return critical("The file is not UTF-8. Save it as UTF-8.", start);
  }
}

const tooLong = critical(`The soul is larger than ${maxSoulBytes / 1000} kB. Shorten it.`, {});

function nothing(issues: SoulIssue[]): ReadSoul {
  return { document: null, raw: null, issues, placeOf: () => ({}), versionRange: null };
}

function critical(message: string, place: Place): SoulIssue {
  return { rule: "schema", severity: "critical", message, ...place };
}

/** Rejects a text before it is parsed. */
function refuse(yaml: string): SoulIssue | null {
  if (yaml.length > maxSoulBytes || Buffer.byteLength(yaml) > maxSoulBytes) return tooLong;
  if (yaml.startsWith("\uFEFF")) return critical("The text starts with a byte order mark. Save it as UTF-8 without one.", start);
  if (!yaml.isWellFormed() || yaml.includes("\uFFFD")) {
    return critical("The text contains invalid UTF-8 characters. Save it as UTF-8.", placeAt(yaml, Math.max(0, yaml.indexOf("\uFFFD"))));
  }
  const control = invisible.exec(yaml);
  if (control !== null) return critical("The text contains an invisible control character here. Remove it.", placeAt(yaml, control.index));
  if (/\r(?!\n)/.test(yaml))
    return critical("A line ends with a bare carriage return. Use LF or CRLF line endings.", placeAt(yaml, yaml.search(/\r(?!\n)/)));
  let depth = 0;
  let nodes = 0;
  for (let index = 0; index < yaml.length; index += 1) {
    const char = yaml[index];
    if (char === "[" || char === "{") depth += 1;
    else if (char === "]" || char === "}") depth = Math.max(0, depth - 1);
    else if (char === "\n" || char === "," || char === ":" || char === "-") nodes += 1;
    // Each misplaced quote is an error of its own, which takes the parser as long as several nodes.
    else if (char === '"' || char === "'") nodes += 4;
    if (depth > maxDepth) return critical("Brackets are nested too deeply here.", placeAt(yaml, index));
    // Dashes and colons inside plain text count too, so the limit is far above a real soul.
    if (nodes > maxNodes) return critical("The text has too many nodes for a soul.", placeAt(yaml, index));
  }
  return null;
}

function placeAt(yaml: string, offset: number): Place {
  return placesIn(yaml)(offset);
}

/** Line and column of an offset. The parser's own counter is wrong after some syntax errors. */
function placesIn(yaml: string): (offset: number | undefined) => Place {
  const starts = [0];
  for (let at = yaml.indexOf("\n"); at !== -1; at = yaml.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    if (offset === undefined) return {};
    let line = 0;
    for (let step = starts.length; step >= 1; step = Math.floor(step / 2)) {
      while (line + step < starts.length && (starts[line + step] ?? Number.POSITIVE_INFINITY) <= offset) line += step;
    }
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

function parseSoul(yaml: string): ReadSoul {
  const shipped = shippedValue(yaml);
  if (shipped === undefined) return parseSoulText(yaml);
  // The tests find no issue in the shipped soul; places in it are asked for by an amendment alone.
  let whole: ReadSoul | undefined;
  const read = (): ReadSoul => (whole ??= parseSoulText(yaml));
  return {
    document: SoulDocument.parse(shipped),
    raw: shipped as Record<string, unknown>,
    issues: [],
    placeOf: (path) => read().placeOf(path),
    get versionRange() {
      return read().versionRange;
    },
  };
}

function parseSoulText(yaml: string): ReadSoul {
  const at = placesIn(yaml);
  const source = parseDocument(yaml, { uniqueKeys: false, prettyErrors: false, stringKeys: true, version: "1.2" });
  const issues: SoulIssue[] = [...source.errors, ...source.warnings].map((error) => critical(yamlErrorMessage(error), at(error.pos[0])));
  if (source.directives?.docStart === true && /^%/m.test(yaml.slice(0, yaml.indexOf("---")))) {
    issues.push(critical("YAML directives (%) are not allowed in a soul.", start));
  }
  issues.push(...forbiddenNodes(source, at));
  if (issues.length > 0) return nothing(distinct(issues).slice(0, maxIssues));
  if (source.contents === null || !isMap(source.contents)) {
    return nothing([critical("A soul must be a YAML map with version, mission, allegiance and the other fields.", start)]);
  }

  const raw = source.toJS({ maxAliasCount: 0 }) as Record<string, unknown>;
  const placeOf = (path: readonly (string | number)[]): Place => at(nodeAt(source, path)?.range?.[0]);
  const parsed = SoulDocument.safeParse(raw);
  for (const issue of parsed.error?.issues ?? []) {
    const path = issue.path.filter((part) => typeof part !== "symbol");
    issues.push(critical(schemaIssueMessage(issue, path, raw), placeOf(path)));
  }
  unknownFields(source.contents, SoulDocument, "", (name, offset) => {
    if (issues.length < maxIssues)
      issues.push({ rule: "schema", severity: "warning", message: `The field "${name}" is unknown and has no effect.`, ...at(offset) });
  });
  const version = source.get("version", true);
  const range = isScalar(version) && version.range ? ([version.range[0], version.range[1]] as const) : null;
  return { document: parsed.data ?? null, raw, issues, placeOf, versionRange: range };
}

/** Rejects anchors, aliases, tags, merge keys and duplicate keys: they can make a soul mean something other than it shows. */
function forbiddenNodes(source: Document.Parsed, at: (offset: number | undefined) => Place): SoulIssue[] {
  const issues: SoulIssue[] = [];
  const report = (message: string, node: { range?: readonly number[] | null | undefined }) =>
    issues.push(critical(message, at(node.range?.[0])));
  visit(source, (_key, node, path) => {
    if (path.length > maxDepth) {
      report("The text is nested too deeply here.", node as Node);
      return visit.BREAK;
    }
    // A quoted text can hold what `refuse` does not see: "\\u200b" and other escapes.
    if (isScalar(node) && typeof node.value === "string" && invisible.test(node.value))
      report("The value contains an invisible control character. Remove it.", node);
    if (isAlias(node)) report("Aliases (*name) are not allowed in a soul. Repeat the value.", node);
    else if (isMap(node)) {
      const seen = new Set<string>();
      for (const { key } of node.items) {
        const name = isScalar(key) ? String(key.value) : "";
        if (seen.has(name)) report(`The field "${name}" is duplicated.`, key as Node);
        if (name === "<<") report("Merge keys (<<) are not allowed in a soul.", key as Node);
        seen.add(name);
      }
    }
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined)
      report("Anchors (&name) are not allowed in a soul.", node);
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.tag !== undefined) report("Tags (!name) are not allowed in a soul.", node);
    return issues.length >= maxIssues ? visit.BREAK : undefined;
  });
  return issues;
}

/** The parser may report one error several times. */
function distinct(issues: readonly SoulIssue[]): SoulIssue[] {
  return [...new Map(issues.map((issue) => [`${issue.line}:${issue.column}:${issue.message}`, issue])).values()];
}

/** The node of a path, or its nearest existing parent. */
function nodeAt(source: Document.Parsed, path: readonly (string | number)[]): ParsedNode | null {
  let node: ParsedNode | null = source.contents;
  for (const part of path) {
    const next: unknown = isMap(node) || isSeq(node) ? node.get(part, true) : undefined;
    if (!isMap(next) && !isSeq(next) && !isScalar(next)) return node;
    node = next as ParsedNode;
  }
  return node;
}

/** Walks map and schema in parallel and calls `found` for each field that the schema does not define. */
function unknownFields(node: unknown, schema: z.ZodType, prefix: string, found: (name: string, offset: number | undefined) => void): void {
  const { def } = schema as unknown as {
    def: { type: string; innerType?: z.ZodType; element?: z.ZodType; shape?: Record<string, z.ZodType> };
  };
  if (def.innerType !== undefined) return unknownFields(node, def.innerType, prefix, found);
  if (def.type === "array" && def.element !== undefined && isSeq(node)) {
    for (const [index, item] of node.items.entries()) unknownFields(item, def.element, `${prefix}[${index}]`, found);
  } else if (def.type === "object" && def.shape !== undefined && isMap(node)) {
    for (const pair of node.items) {
      if (!isPair(pair) || !isScalar(pair.key)) continue;
      const key = String(pair.key.value);
      const name = prefix === "" ? key : `${prefix}.${key}`;
      const inner = Object.hasOwn(def.shape, key) ? def.shape[key] : undefined;
      if (inner === undefined) found(name, pair.key.range?.[0]);
      else unknownFields(pair.value, inner, name, found);
    }
  }
}

function yamlErrorMessage(error: { code: string; message: string }): string {
  switch (error.code) {
    case "TAB_AS_INDENT":
      return "Indentation uses a tab. Indent with spaces.";
    case "MULTIPLE_DOCS":
      return "The text contains several YAML documents (---). A soul is a single document.";
    case "TAG_RESOLVE_FAILED":
      return "Tags (!name) are not allowed in a soul.";
    case "NON_STRING_KEY":
      return "Field names must be strings.";
    case "ALIAS_PROPS":
      return "Aliases (*name) are not allowed in a soul. Repeat the value.";
    default:
      if (error.message.includes("call stack")) return "The text is nested too deeply.";
      return `Invalid YAML: ${error.message.split("\n")[0] ?? ""}`;
  }
}

function schemaIssueMessage(issue: z.core.$ZodIssue, path: readonly (string | number)[], raw: unknown): string {
  const name = path.reduce<string>(
    (text, part) => (typeof part === "number" ? `${text}[${part}]` : text === "" ? part : `${text}.${part}`),
    "",
  );
  let value: unknown = raw;
  for (const part of path)
    value = typeof value === "object" && value !== null ? (value as Record<string | number, unknown>)[part] : undefined;
  if (value === undefined) return `The field "${name}" is missing.`;
  if (issue.code === "invalid_type") return `"${name}" must be ${typeLabels[issue.expected] ?? issue.expected}.`;
  if (issue.code === "invalid_value") return `"${name}" must be ${issue.values.map((one) => String(one)).join(" or ")}.`;
  if (issue.code === "too_small") {
    return issue.origin === "string" ? `"${name}" must not be empty.` : `"${name}" must be at least ${String(issue.minimum)}.`;
  }
  if (issue.code === "too_big") {
    return issue.origin === "string"
      ? `"${name}" is longer than ${String(issue.maximum)} characters.`
      : `"${name}" must be at most ${String(issue.maximum)}.`;
  }
  return `"${name}": ${issue.message}`;
}

const typeLabels: Readonly<Record<string, string>> = {
  string: "a string (put it in quotes)",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "a map",
};
