import { isRecord } from "./is-record.ts";

/** A JSON Schema. */
export type Schema = Record<string, unknown>;

/** The subset of JSON Schema that a provider's structured output supports. */
export interface SchemaDialect {
  /** Supported keywords besides the structural ones. */
  keywords: readonly string[];
  /** Every property must be required: optional ones become nullable, see `withoutFillers`. */
  requireAll: boolean;
  /** Objects must be closed; objects with arbitrary keys are not supported. */
  closed: boolean;
}

const annotations = ["title", "description", "enum", "format", "minimum", "maximum", "minItems", "maxItems"];
/** OpenAI's and xAI's strict mode. */
export const strictDialect: SchemaDialect = {
  keywords: [...annotations, "pattern", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"],
  requireAll: true,
  closed: true,
};
/** Anthropic's output format. */
export const anthropicDialect: SchemaDialect = {
  keywords: ["title", "description", "enum", "const", "format"],
  requireAll: false,
  closed: true,
};
/** Gemini's responseJsonSchema. */
export const geminiDialect: SchemaDialect = { keywords: annotations, requireAll: false, closed: false };

/**
 * A schema in a provider's dialect: the same shape, without unsupported constraints, which are checked in the answer. Null for an unsupported
 * shape, such as an object with arbitrary keys or a root that is not an object.
 */
export function adaptSchema(schema: Schema, dialect: SchemaDialect): Schema | null {
  try {
    const root = adapt(resolveRoot(schema), dialect);
    if (root["type"] !== "object") return null;
    const definitions = definitionsOf(schema);
    const kept = Object.entries(definitions).map(([name, inner]) => [name, adapt(inner, dialect)] as const);
    return kept.length === 0 ? root : { ...root, $defs: Object.fromEntries(kept) };
  } catch (cause) {
    if (cause instanceof Untellable) return null;
    throw cause;
  }
}

class Untellable extends Error {}

function adapt(schema: Schema, dialect: SchemaDialect): Schema {
  if (typeof schema["$ref"] === "string") return { $ref: schema["$ref"].replace("#/definitions/", "#/$defs/") };
  const kept = Object.fromEntries(Object.entries(schema).filter(([key]) => dialect.keywords.includes(key)));
  if ("const" in schema && !dialect.keywords.includes("const")) kept["enum"] = [schema["const"]];
  const variants = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(variants)) return { ...kept, anyOf: variants.map((variant) => adapt(recordOf(variant), dialect)) };
  if (schema["allOf"] !== undefined || schema["not"] !== undefined) throw new Untellable();
  const { type } = schema;
  if (type === undefined && ("enum" in kept || "const" in kept)) return kept;
  if (type === undefined) throw new Untellable();
  const told: Schema = { ...kept, type };
  if (type === "object") return { ...told, ...adaptObject(schema, dialect) };
  if (type === "array") return { ...told, items: adapt(recordOf(schema["items"]), dialect) };
  return told;
}

function adaptObject(schema: Schema, dialect: SchemaDialect): Schema {
  const properties = Object.entries(isRecord(schema["properties"]) ? schema["properties"] : {});
  const free = schema["additionalProperties"];
  // A closed dialect drops arbitrary keys beside named ones; an object of arbitrary keys only would be empty.
  if (dialect.closed && (isRecord(free) || properties.length === 0)) throw new Untellable();
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
  const told = properties.map(([name, inner]) => {
    const adapted = adapt(recordOf(inner), dialect);
    return [name, dialect.requireAll && !required.includes(name) ? orNull(adapted) : adapted] as const;
  });
  return {
    properties: Object.fromEntries(told),
    required: dialect.requireAll ? properties.map(([name]) => name) : required,
    ...(dialect.closed ? { additionalProperties: false } : free === undefined ? {} : { additionalProperties: free }),
  };
}

function orNull(schema: Schema): Schema {
  if (allowsNull(schema, {})) return schema;
  if (typeof schema["type"] === "string" && schema["enum"] === undefined) return { ...schema, type: [schema["type"], "null"] };
  return { anyOf: [schema, { type: "null" }] };
}

/** The answer without the nulls of optional properties in a strict dialect. */
export function withoutFillers(value: unknown, schema: Schema): unknown {
  return strip(value, resolveRoot(schema), definitionsOf(schema));
}

function strip(value: unknown, given: Schema, definitions: Record<string, Schema>): unknown {
  const schema = resolve(given, definitions);
  if (Array.isArray(value)) {
    const { items } = schema;
    return isRecord(items) ? value.map((item) => strip(item, items, definitions)) : value;
  }
  if (!isRecord(value)) return value;
  const variants = schema["anyOf"] ?? schema["oneOf"];
  const shape = Array.isArray(variants) ? fitting(value, variants.map(recordOfOrEmpty), definitions) : schema;
  const properties = isRecord(shape["properties"]) ? shape["properties"] : {};
  const required = Array.isArray(shape["required"]) ? shape["required"] : [];
  const kept = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    const told = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isRecord(told)) return [[name, inner]];
    if (inner === null && !required.includes(name) && !allowsNull(told, definitions)) return [];
    return [[name, strip(inner, told, definitions)]];
  });
  return Object.fromEntries(kept);
}

/** The variant that shares the most property names with a value. */
function fitting(value: Record<string, unknown>, variants: Schema[], definitions: Record<string, Schema>): Schema {
  const shared = (schema: Schema): number =>
    Object.keys(isRecord(schema["properties"]) ? schema["properties"] : {}).filter((name) => Object.hasOwn(value, name)).length;
  const resolved = variants.map((variant) => resolve(variant, definitions));
  return resolved.toSorted((one, other) => shared(other) - shared(one))[0] ?? {};
}

function allowsNull(given: Schema, definitions: Record<string, Schema>): boolean {
  const schema = resolve(given, definitions);
  const { type } = schema;
  if (type === "null" || (Array.isArray(type) && type.includes("null"))) return true;
  if (Array.isArray(schema["enum"]) && schema["enum"].includes(null)) return true;
  const variants = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(variants) && variants.some((variant) => isRecord(variant) && allowsNull(variant, definitions));
}

function resolve(schema: Schema, definitions: Record<string, Schema>): Schema {
  let resolved = schema;
  for (let depth = 0; depth < 20 && typeof resolved["$ref"] === "string"; depth++)
    resolved = definitions[resolved["$ref"].replace(/^#\/(\$defs|definitions)\//, "")] ?? {};
  return resolved;
}

function resolveRoot(schema: Schema): Schema {
  return resolve(schema, definitionsOf(schema));
}

function definitionsOf(schema: Schema): Record<string, Schema> {
  const found = { ...recordOfOrEmpty(schema["definitions"]), ...recordOfOrEmpty(schema["$defs"]) };
  return Object.fromEntries(Object.entries(found).map(([name, inner]) => [name, recordOfOrEmpty(inner)]));
}

function recordOf(value: unknown): Schema {
  if (!isRecord(value)) throw new Untellable();
  return value;
}

function recordOfOrEmpty(value: unknown): Schema {
  return isRecord(value) ? value : {};
}
