import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  adaptSchema,
  anthropicDialect,
  geminiDialect,
  strictDialect,
  withoutFillers,
  type Schema,
} from "../../../../agent-server/models/providers/tool-schema.ts";
import { parseAnswer } from "../../../../agent-server/models/providers/response-schema.ts";

const object = (properties: Record<string, Schema>, required: string[] = Object.keys(properties), more: Schema = {}): Schema => ({
  type: "object",
  properties,
  required,
  ...more,
});
const closed = { additionalProperties: false };

describe("a schema as a provider takes it", () => {
  it.each<[string, Schema, Schema | null, Schema | null, Schema | null]>([
    [
      "limits it does not know are left out",
      object({ a: { type: "string", minLength: 2, pattern: "^a" }, n: { type: "integer", minimum: 1, multipleOf: 2 } }),
      object({ a: { type: "string", pattern: "^a" }, n: { type: "integer", minimum: 1, multipleOf: 2 } }, ["a", "n"], closed),
      object({ a: { type: "string" }, n: { type: "integer" } }, ["a", "n"], closed),
      object({ a: { type: "string" }, n: { type: "integer", minimum: 1 } }),
    ],
    [
      "optional properties become nullable where all are required",
      object({ a: { type: "string" }, b: { enum: ["x", "y"] }, c: { type: ["string", "null"] } }, ["a"]),
      object(
        { a: { type: "string" }, b: { anyOf: [{ enum: ["x", "y"] }, { type: "null" }] }, c: { type: ["string", "null"] } },
        ["a", "b", "c"],
        closed,
      ),
      object({ a: { type: "string" }, b: { enum: ["x", "y"] }, c: { type: ["string", "null"] } }, ["a"], closed),
      object({ a: { type: "string" }, b: { enum: ["x", "y"] }, c: { type: ["string", "null"] } }, ["a"]),
    ],
    [
      "constants and variants",
      object({ k: { const: "one" }, v: { oneOf: [{ type: "string" }, { type: "null" }] } }),
      object({ k: { enum: ["one"] }, v: { anyOf: [{ type: "string" }, { type: "null" }] } }, ["k", "v"], closed),
      object({ k: { const: "one" }, v: { anyOf: [{ type: "string" }, { type: "null" }] } }, ["k", "v"], closed),
      object({ k: { enum: ["one"] }, v: { anyOf: [{ type: "string" }, { type: "null" }] } }),
    ],
    [
      "definitions",
      { $ref: "#/definitions/T", definitions: { T: object({ next: { $ref: "#/definitions/T" } }, []) } },
      {
        ...object({ next: { anyOf: [{ $ref: "#/$defs/T" }, { type: "null" }] } }, ["next"], closed),
        $defs: { T: object({ next: { anyOf: [{ $ref: "#/$defs/T" }, { type: "null" }] } }, ["next"], closed) },
      },
      { ...object({ next: { $ref: "#/$defs/T" } }, [], closed), $defs: { T: object({ next: { $ref: "#/$defs/T" } }, [], closed) } },
      { ...object({ next: { $ref: "#/$defs/T" } }, []), $defs: { T: object({ next: { $ref: "#/$defs/T" } }, []) } },
    ],
    [
      "an object with any keys cannot be told in a closed dialect",
      { type: "object", additionalProperties: { type: "string" } },
      null,
      null,
      {
        type: "object",
        properties: {},
        required: [],
        additionalProperties: { type: "string" },
      },
    ],
    ["a root that is no object", { type: "array", items: { type: "string" } }, null, null, null],
    ["what has no type", object({ a: {} }), null, null, null],
  ])("%s", (_, schema, strict, anthropic, gemini) => {
    expect(adaptSchema(schema, strictDialect)).toEqual(strict);
    expect(adaptSchema(schema, anthropicDialect)).toEqual(anthropic);
    expect(adaptSchema(schema, geminiDialect)).toEqual(gemini);
  });

  it("is lost for nothing: what holds the schema holds it after a way through the strict form", () => {
    const shape = z.object({
      name: z.string().min(1),
      tags: z.array(z.string()).optional(),
      inner: z.object({ depth: z.int().nullable(), note: z.string().optional() }).optional(),
      kind: z.enum(["a", "b"]).optional(),
    });
    const schema = z.toJSONSchema(shape) as Schema;
    const strict = z.fromJSONSchema(adaptSchema(schema, strictDialect) ?? {});
    const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
    const values = fc.record({
      name: fc.string({ minLength: 1 }),
      tags: optional(fc.array(fc.string())),
      inner: optional(fc.record({ depth: fc.option(fc.integer()), note: optional(fc.string()) })),
      kind: optional(fc.constantFrom("a" as const, "b" as const)),
    });
    fc.assert(
      fc.property(values, (value) => {
        const said = {
          ...value,
          tags: value.tags ?? null,
          kind: value.kind ?? null,
          inner: value.inner === undefined ? null : { ...value.inner, note: value.inner.note ?? null },
        };
        expect(strict.safeParse(said).success).toBe(true);
        const back = withoutFillers(said, schema);
        expect(shape.parse(back)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe("the JSON of an answer", () => {
  it.each<[string, unknown]>([
    ['{"a": 1}', { a: 1 }],
    ["  [1, 2]\n", [1, 2]],
    ['```json\n{"a": "`"}\n```', { a: "`" }],
    ['Sure:\n```\n{"a": 1}\n```\nAnything else?', { a: 1 }],
    ['The answer is {"a": {"b": [1]}}, as asked.', { a: { b: [1] } }],
    ["true", true],
    ["I cannot do that.", undefined],
    ['{"a": 1', undefined],
    ["", undefined],
  ])("%j", (text, expected) => {
    expect(parseAnswer(text)).toEqual(expected);
  });
});
