import * as z from "zod";
import type { ToolSchema } from "../request.ts";

/** The part of JSON Schema that the grammar supports; ranges, patterns and long lengths are checked when the tool is called. */
interface Schema {
  type?: string | string[] | undefined;
  const?: unknown;
  enum?: unknown[] | undefined;
  properties?: Record<string, Schema> | undefined;
  required?: string[] | undefined;
  items?: Schema | undefined;
  anyOf?: Schema[] | undefined;
  oneOf?: Schema[] | undefined;
  minItems?: number | undefined;
  maxItems?: number | undefined;
  maxLength?: number | undefined;
}

const Schema: z.ZodType<Schema> = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  get properties() {
    return z.record(z.string(), Schema).optional();
  },
  required: z.array(z.string()).optional(),
  get items() {
    return Schema.optional();
  },
  get anyOf() {
    return z.array(Schema).optional();
  },
  get oneOf() {
    return z.array(Schema).optional();
  },
  minItems: z.int().min(0).optional(),
  maxItems: z.int().min(0).optional(),
  maxLength: z.int().min(0).optional(),
});

/** Larger counts are checked afterward: the library expands each repetition. */
const most = { items: 32, characters: 400 };

const primitives = {
  character: String.raw`[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})`,
  string: String.raw`"\"" character* "\""`,
  integer: `"-"? ("0" | [1-9] [0-9]{0,15})`,
  number: `"-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,3})?`,
  boolean: `"true" | "false"`,
  null: `"null"`,
  value: "string | number | boolean | null | anyarray | anyobject",
  anyarray: `"[" (value (", " value)*)? "]"`,
  anyobject: `"{" (string ": " value (", " string ": " value)*)? "}"`,
};

/** Starts a tool call. A reply to a request with tools contains it nowhere else. */
export const callStart = '{"tool"';

/**
 * GBNF of a reply: text, a tool call, or text followed by a call: `{"tool": <name>, "args": <arguments of that tool>}` in the layout of
 * `toJson`. Text cannot contain `callStart`: after it, only a complete call of an existing tool can follow, and then the end. Required
 * properties must appear in the order of the schema; optional ones may.
 *
 * Text is not wrapped in JSON: small models write worse answers inside a string, and code in it would be escaped line by line.
 */
export function replyGrammar(tools: readonly ToolSchema[]): string {
  const rules: string[] = [];
  const add = (body: string) => {
    rules.push(`r${rules.length} ::= ${body}`);
    return `r${rules.length - 1}`;
  };
  const calls = tools.map((tool) => {
    const args = objectBody(Schema.parse(tool.parameters), add, 0);
    return `${literal(`${JSON.stringify(tool.name)}, "args": `)} ${add(args)}`;
  });
  return [
    `root ::= ${literal(callStart)} call | [^{ \\n] words0`,
    ...words(),
    `call ::= ": " (${calls.join(" | ")}) "}"`,
    ...rules,
    ...Object.entries(primitives).map(([name, body]) => `${name} ::= ${body}`),
  ].join("\n");
}

/** GBNF of one JSON value that matches a schema, in the layout of `toJson`. @throws ZodError for an invalid JSON Schema */
export function schemaGrammar(schema: Record<string, unknown>): string {
  const rules: string[] = [];
  const add = (body: string) => {
    rules.push(`r${rules.length} ::= ${body}`);
    return `r${rules.length - 1}`;
  };
  const root = ruleFor(Schema.parse(schema), add, 0);
  return [`root ::= ${root}`, ...rules, ...Object.entries(primitives).map(([name, body]) => `${name} ::= ${body}`)].join("\n");
}

/** One rule for each number of characters of `callStart` that were just written: the automaton that detects it. */
function words(): string[] {
  return Array.from(callStart, (character, matched) => {
    const next = literal(character);
    if (matched === 0) return `words0 ::= "" | [^{] words0 | ${next} words1`;
    const further = matched === callStart.length - 1 ? "call" : `words${matched + 1}`;
    return `words${matched} ::= "" | "{" words1 | ${next} ${further} | [^{${character}] words0`;
  });
}

function ruleFor(schema: Schema, add: (body: string) => string, depth: number): string {
  // Deeper than any tool's schema; also ends a schema that contains itself.
  if (depth > 8) return "value";
  if (schema.const !== undefined) return literal(toJson(schema.const));
  if (schema.enum !== undefined && schema.enum.length > 0) return add(schema.enum.map((value) => literal(toJson(value))).join(" | "));
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined && options.length > 0) return add(options.map((option) => ruleFor(option, add, depth + 1)).join(" | "));
  if (Array.isArray(schema.type)) {
    return add(schema.type.map((type) => ruleFor({ ...schema, type }, add, depth + 1)).join(" | "));
  }
  switch (schema.type) {
    case "string":
      return schema.maxLength === undefined || schema.maxLength > most.characters
        ? "string"
        : add(String.raw`"\"" character{0,${schema.maxLength}} "\""`);
    case "integer":
    case "number":
    case "boolean":
    case "null":
      return schema.type;
    case "array": {
      const item = schema.items === undefined ? "value" : ruleFor(schema.items, add, depth + 1);
      return add(`"[" ${listOf(item, schema)} "]"`);
    }
    case "object":
      return schema.properties === undefined ? "anyobject" : add(objectBody(schema, add, depth));
    case undefined:
    default:
      return "value";
  }
}

function listOf(item: string, { minItems = 0, maxItems = Number.POSITIVE_INFINITY }: Schema): string {
  const least = Math.min(minItems, most.items);
  if (maxItems === 0) return "";
  const rest = maxItems > most.items ? "" : String(maxItems - 1);
  const items = `${item} (", " ${item}){${Math.max(0, least - 1)},${rest}}`;
  return least === 0 ? `(${items})?` : items;
}

function objectBody(schema: Schema, add: (body: string) => string, depth: number): string {
  const entries = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    required: schema.required?.includes(name) === true,
    rule: `${literal(`${JSON.stringify(name)}: `)} ${ruleFor(property, add, depth + 1)}`,
  }));
  const required = entries.filter((entry) => entry.required).map((entry) => entry.rule);
  const optional = entries.filter((entry) => !entry.required).map((entry) => entry.rule);
  if (required.length > 0) {
    const rest = optional.map((rule) => `(", " ${rule})?`);
    return ['"{"', required.join(' ", " '), ...rest, '"}"'].join(" ");
  }
  // Any optional property may come first, so the comma belongs to those after it.
  const starts = optional.map((rule, index) => [rule, ...optional.slice(index + 1).map((later) => `(", " ${later})?`)].join(" "));
  return starts.length === 0 ? '"{}"' : `"{" (${starts.join(" | ")})? "}"`;
}

function literal(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t")}"`;
}

/** JSON in the layout of the grammar: one space after a colon and a comma, as models usually write it. */
export function toJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toJson).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, property]) => property !== undefined);
    return `{${entries.map(([name, property]) => `${JSON.stringify(name)}: ${toJson(property)}`).join(", ")}}`;
  }
  return JSON.stringify(value) ?? "null";
}
