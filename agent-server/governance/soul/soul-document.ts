import { type Document, isAlias, isMap, isPair, isScalar, isSeq, type Node, parseDocument, type ParsedNode, visit } from "yaml";
import type * as z from "zod";
import { SoulDocument, type SoulIssue } from "../../contract/soul.ts";

/** Bytes of UTF-8 that a soul may have. */
export const maxSoulBytes = 200_000;
/** Deeper or longer than any soul is; past these a text is not parsed at all. */
const maxDepth = 32;
const maxNodes = 20_000;
/** Issues of one text that are told. */
const maxIssues = 50;

/** A YAML text, read as a soul. */
export interface ReadSoul {
  /** Null when it does not fit the schema. */
  readonly document: SoulDocument | null;
  /** As parsed, for rules that can say something of a soul that does not fit; null when it is no YAML map. */
  readonly raw: Readonly<Record<string, unknown>> | null;
  /** Rule `schema`: critical where the text is not a soul, warnings for fields that are not known. */
  readonly issues: readonly SoulIssue[];
  /** Where a field stands, 1-based; its nearest parent where it is missing. */
  readonly placeOf: (path: readonly (string | number)[]) => Place;
  /** Offsets of the value of `version` in the text; null when it has none. */
  readonly versionRange: readonly [number, number] | null;
}

export interface Place {
  readonly line?: number;
  readonly column?: number;
}

const start: Place = { line: 1, column: 1 };

/** Reads a text as a soul. Never throws; what is wrong with it stands in `issues`. */
export function readSoul(yaml: string): ReadSoul {
  const refusal = refuse(yaml);
  if (refusal !== null) return nothing([refusal]);
  try {
    return parseSoul(yaml);
  } catch {
    // A RangeError of a parser at its end: whatever the text is, it is not a soul.
    return nothing([critical("The text cannot be read as YAML.", start)]);
  }
}

/** Reads a file's bytes as text. @returns the text, or the issue that says why it is none. */
export function decodeSoul(bytes: Uint8Array): string | SoulIssue {
  if (bytes.length > maxSoulBytes) return tooLong;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return critical("The file is not UTF-8. Save it as UTF-8.", start);
  }
}

const tooLong = critical(`A soul has at most ${maxSoulBytes / 1000} kB. Shorten it.`, {});

function nothing(issues: SoulIssue[]): ReadSoul {
  return { document: null, raw: null, issues, placeOf: () => ({}), versionRange: null };
}

function critical(message: string, place: Place): SoulIssue {
  return { rule: "schema", severity: "critical", message, ...place };
}

/** What is refused before it is parsed. */
function refuse(yaml: string): SoulIssue | null {
  if (yaml.length > maxSoulBytes || Buffer.byteLength(yaml) > maxSoulBytes) return tooLong;
  if (yaml.startsWith("\uFEFF")) return critical("The text begins with a byte order mark. Save it as UTF-8 without one.", start);
  if (!yaml.isWellFormed() || yaml.includes("\uFFFD")) {
    return critical("The text holds characters that are not UTF-8. Save it as UTF-8.", placeAt(yaml, Math.max(0, yaml.indexOf("\uFFFD"))));
  }
  // Other control characters, and marks that reverse the order in which a text is read.
  // oxlint-disable-next-line no-control-regex
  const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b\u2060]/.exec(yaml);
  if (control !== null) return critical("The text holds an invisible control character here. Remove it.", placeAt(yaml, control.index));
  if (/\r(?!\n)/.test(yaml))
    return critical("A line ends in a lone carriage return. Use ordinary line ends.", placeAt(yaml, yaml.search(/\r(?!\n)/)));
  let depth = 0;
  let nodes = 0;
  for (let index = 0; index < yaml.length; index += 1) {
    const char = yaml[index];
    if (char === "[" || char === "{") depth += 1;
    else if (char === "]" || char === "}") depth = Math.max(0, depth - 1);
    else if (char === "\n" || char === "," || char === ":" || char === "-") nodes += 1;
    if (depth > maxDepth) return critical("Brackets are nested too deeply here.", placeAt(yaml, index));
    // Dashes and colons of ordinary words count too, so the bound is far above what a soul has.
    if (nodes > maxNodes) return critical("The text has too many parts to be a soul.", placeAt(yaml, index));
  }
  return null;
}

function placeAt(yaml: string, offset: number): Place {
  return placesIn(yaml)(offset);
}

/** Line and column of an offset. The parser's own counter loses lines after some mistakes. */
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
  const at = placesIn(yaml);
  const source = parseDocument(yaml, { uniqueKeys: false, prettyErrors: false, stringKeys: true, version: "1.2" });
  const issues: SoulIssue[] = [...source.errors, ...source.warnings].map((error) => critical(yamlErrorMessage(error), at(error.pos[0])));
  if (source.directives?.docStart === true && /^%/m.test(yaml.slice(0, yaml.indexOf("---")))) {
    issues.push(critical("YAML directives (%) are not used in a soul.", start));
  }
  issues.push(...strangeNodes(source, at));
  if (issues.length > 0) return nothing(distinct(issues).slice(0, maxIssues));
  if (source.contents === null || !isMap(source.contents)) {
    return nothing([critical("A soul is a YAML map with version, mission, allegiance and so on.", start)]);
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
      issues.push({ rule: "schema", severity: "warning", message: `The field "${name}" is not known and has no effect.`, ...at(offset) });
  });
  const version = source.get("version", true);
  const range = isScalar(version) && version.range ? ([version.range[0], version.range[1]] as const) : null;
  return { document: parsed.data ?? null, raw, issues, placeOf, versionRange: range };
}

/** Anchors, aliases, tags, merges and duplicate keys: nothing a soul needs, and ways to make a text mean what it does not show. */
function strangeNodes(source: Document.Parsed, at: (offset: number | undefined) => Place): SoulIssue[] {
  const issues: SoulIssue[] = [];
  const say = (message: string, node: { range?: readonly number[] | null | undefined }) =>
    issues.push(critical(message, at(node.range?.[0])));
  visit(source, (_key, node, path) => {
    if (path.length > maxDepth) {
      say("The text is nested too deeply here.", node as Node);
      return visit.BREAK;
    }
    if (isAlias(node)) say("Aliases (*name) are not used in a soul. Write the value out.", node);
    else if (isMap(node)) {
      const seen = new Set<string>();
      for (const { key } of node.items) {
        const name = isScalar(key) ? String(key.value) : "";
        if (seen.has(name)) say(`The field "${name}" stands here a second time.`, key as Node);
        if (name === "<<") say("Merge keys (<<) are not used in a soul.", key as Node);
        seen.add(name);
      }
    }
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) say("Anchors (&name) are not used in a soul.", node);
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.tag !== undefined) say("Tags (!name) are not used in a soul.", node);
    return issues.length >= maxIssues ? visit.BREAK : undefined;
  });
  return issues;
}

/** The parser may tell one mistake several times. */
function distinct(issues: readonly SoulIssue[]): SoulIssue[] {
  return [...new Map(issues.map((issue) => [`${issue.line}:${issue.column}:${issue.message}`, issue])).values()];
}

/** The node of a path, or the nearest there is above it. */
function nodeAt(source: Document.Parsed, path: readonly (string | number)[]): ParsedNode | null {
  let node: ParsedNode | null = source.contents;
  for (const part of path) {
    const next: unknown = isMap(node) || isSeq(node) ? node.get(part, true) : undefined;
    if (!isMap(next) && !isSeq(next) && !isScalar(next)) return node;
    node = next as ParsedNode;
  }
  return node;
}

/** Walks map and schema side by side; `found` is told of fields the schema does not name. */
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
      return "A tab stands where spaces belong. Indent with spaces.";
    case "MULTIPLE_DOCS":
      return "The text holds several documents (---). A soul is one.";
    case "TAG_RESOLVE_FAILED":
      return "Tags (!name) are not used in a soul.";
    case "NON_STRING_KEY":
      return "The name of a field must be a text.";
    case "ALIAS_PROPS":
      return "Aliases (*name) are not used in a soul. Write the value out.";
    default:
      if (error.message.includes("call stack")) return "The text is nested too deeply.";
      return `This is not valid YAML: ${error.message.split("\n")[0] ?? ""}`;
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
  string: "a text (put it in quotes)",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a map of fields",
};
