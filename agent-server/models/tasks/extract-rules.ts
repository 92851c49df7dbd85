import { trimEnd } from "../../contract/trim-end.ts";
import * as z from "zod";

const Property = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  format: z.string().optional(),
  items: z.looseObject({ type: z.string().optional(), enum: z.array(z.unknown()).optional() }).optional(),
});
type Property = z.infer<typeof Property>;
const ObjectSchema = z.looseObject({ properties: z.record(z.string(), Property).default({}) });

/** Only the beginning of longer texts is examined (characters). */
const lookedAt = 200_000;

/**
 * Extracts the data of a schema without a model: JSON in the text that matches it, otherwise the fields of an object by their names
 * (`name: value`, `name = value`, `name is value`), types and enumerated values. Undefined where the result does not match the schema.
 */
export function extractByRules(text: string, schema: Record<string, unknown>, checked: z.ZodType): unknown {
  const looked = text.slice(0, lookedAt);
  for (const candidate of jsonIn(looked)) {
    const parsed = checked.safeParse(candidate);
    if (parsed.success) return parsed.data;
  }
  const object = ObjectSchema.safeParse(schema);
  if (!object.success || Object.keys(object.data.properties).length === 0) return undefined;
  const found: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(object.data.properties)) {
    const value = property.const ?? namedValue(looked, name, property) ?? valueOfItsKind(looked, property);
    if (value !== undefined) found[name] = value;
  }
  const parsed = checked.safeParse(found);
  return parsed.success && Object.keys(found).length > 0 ? parsed.data : undefined;
}

/** JSON values in a text, outermost first. */
function* jsonIn(text: string): Generator {
  let tries = 0;
  for (let start = 0; start < text.length && tries < 50; start++) {
    const opening = text[start];
    if (opening !== "{" && opening !== "[") continue;
    tries++;
    const end = closing(text, start);
    if (end === -1) continue;
    try {
      yield JSON.parse(text.slice(start, end + 1));
      start = end;
    } catch {
      // It is not JSON; it may contain some.
    }
  }
}

function closing(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (inString) {
      if (character === "\\") index++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{" || character === "[") depth++;
    else if ((character === "}" || character === "]") && --depth === 0) return index;
  }
  return -1;
}

/** The value after a field's name, as the field's type. */
function namedValue(text: string, name: string, property: Property): unknown {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .split(/[\s_-]+/)
    .map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  const label = words.join(String.raw`[\s_-]*`);
  const pattern = new RegExp(
    String.raw`(?<![\p{L}\p{N}_])["'*_\x60]{0,5}${label}["'*_\x60]{0,5}(?:\s*(?:[:=]|->|=>)\s*|\s+(?:is|was|are|ist|est|es|è)\s+|\s+)([^\n]{1,500})`,
    "giu",
  );
  for (const match of text.matchAll(pattern)) {
    const value = valueOf(match[1] ?? "", property);
    if (value !== undefined) return value;
  }
  return undefined;
}

function valueOf(raw: string, property: Property): unknown {
  const line = raw.trim();
  if (property.enum !== undefined) return enumerated(firstPhrase(line), property.enum);
  switch (kindOf(property)) {
    case "integer":
    case "number": {
      const digits = /^[^\d\n-]{0,12}(-?\d[\d,]*(?:\.\d+)?)/.exec(line)?.[1]?.replaceAll(",", "");
      const value = digits === undefined ? Number.NaN : Number(digits);
      if (!Number.isFinite(value) || (kindOf(property) === "integer" && !Number.isInteger(value))) return undefined;
      return value;
    }
    case "boolean": {
      const word = /^["'\s]*(true|yes|on|enabled|false|no|off|disabled)\b/i.exec(line)?.[1]?.toLowerCase();
      return word === undefined ? undefined : ["true", "yes", "on", "enabled"].includes(word);
    }
    case "array": {
      const parts = line
        .replace(/[.;]\s*$/, "")
        .split(/,\s*(?:and\s+)?|\sand\s|;/)
        .map(unquoted)
        .filter((part) => part !== "");
      const items = parts.map((part) => (property.items === undefined ? part : valueOf(part, Property.parse(property.items))));
      return items.length === 0 || items.includes(undefined) ? undefined : items;
    }
    case "string": {
      const format = property.format === undefined ? undefined : formats[property.format];
      if (format !== undefined) return format.exec(line)?.[0];
      const value = unquoted(firstPhrase(line));
      return value === "" ? undefined : value;
    }
    case undefined:
    default:
      return undefined;
  }
}

const formats: Record<string, RegExp | undefined> = {
  email: /(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/,
  uri: /https?:\/\/[^\s"'<>)\]]+/,
  date: /\d{4}-\d\d-\d\d/,
  "date-time": /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)/,
  uuid: /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i,
};

/** A field without its name in the text: the only value of its type, if the type is specific enough. */
function valueOfItsKind(text: string, property: Property): unknown {
  if (property.enum !== undefined) {
    const present = property.enum.filter((option) => typeof option === "string" && wordIn(text, option));
    return present.length === 1 ? present[0] : undefined;
  }
  const format = property.format === undefined ? undefined : formats[property.format];
  if (format === undefined) return undefined;
  const all = new Set(Array.from(text.matchAll(new RegExp(format.source, `${format.flags}g`)), ([value]) => value));
  return all.size === 1 ? [...all][0] : undefined;
}

function enumerated(phrase: string, options: readonly unknown[]): unknown {
  const wanted = unquoted(phrase).toLowerCase();
  return (
    options.find((option) => String(option).toLowerCase() === wanted) ??
    options.find((option) => typeof option === "string" && wordIn(phrase, option))
  );
}

function wordIn(text: string, word: string): boolean {
  const escaped = word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll(/[_\s-]+/g, String.raw`[_\s-]+`);
  return new RegExp(String.raw`(?<![\p{L}\p{N}_])${escaped}(?![\p{L}\p{N}_])`, "iu").test(text);
}

function kindOf({ type }: Property): string | undefined {
  return Array.isArray(type) ? type.find((one) => one !== "null") : type;
}

/** The end of a value: quotes, a comma or the end of the sentence. Dots within names and numbers do not end it. */
function firstPhrase(line: string): string {
  const quoted = /^(["'`])(.*?)\1/.exec(line);
  if (quoted !== null) return quoted[0];
  return (/^.*?(?=[,;](?:\s|$)|[.!?](?:\s|$)|\s\||$)/.exec(line)?.[0] ?? line).trimEnd();
}

function unquoted(value: string): string {
  return trimEnd(value.trim().replace(/^["'`*]+/, ""), "\"'`*").trim();
}
