import * as fc from "fast-check";

type Schema = Record<string, unknown>;

/** JSON Schemas as people write them for extraction: nested objects, lists, enumerations, optional parts, with what a grammar cannot hold. */
export function randomSchema(): fc.Arbitrary<Schema> {
  const name = fc.constantFrom("name", "port", "is_open", "severity", "labels", "due", "Line No", 'quo"te', "größe", "a.b", "x");
  const leaf: fc.Arbitrary<Schema> = fc.oneof(
    fc.constant({ type: "boolean" }),
    fc.constant({ type: "null" }),
    fc.constant({ type: "integer" }),
    fc.constant({ type: "number" }),
    fc.record({ type: fc.constant("integer"), minimum: fc.integer({ min: -5, max: 5 }) }),
    fc.record({ type: fc.constant("string"), maxLength: fc.integer({ min: 1, max: 12 }) }),
    fc.constant({ type: "string", maxLength: 6, pattern: "^[a-z]*$" }),
    fc.record({
      enum: fc.uniqueArray(fc.constantFrom<unknown>("low", "high", 'a"b', "ä\n", 1, true, null), { minLength: 1, maxLength: 4 }),
    }),
    fc.constant({ const: "fixed" }),
    fc.constant({ type: ["integer", "null"] }),
  );
  const { schema } = fc.letrec<{ schema: Schema; object: Schema; list: Schema }>((tie) => ({
    schema: fc.oneof({ depthSize: "small", withCrossShrink: true }, leaf, tie("object"), tie("list")),
    object: fc
      .tuple(fc.dictionary(name, tie("schema"), { maxKeys: 4 }), fc.array(fc.nat(3), { maxLength: 4 }))
      .map(([properties, chosen]) => {
        const names = Object.keys(properties);
        const required = [...new Set(chosen.flatMap((index) => (names[index] === undefined ? [] : [names[index]])))];
        return { type: "object", properties, required };
      }),
    list: fc.record({ type: fc.constant("array"), items: leaf, minItems: fc.nat(2), maxItems: fc.integer({ min: 2, max: 3 }) }),
  }));
  return fc.oneof({ weight: 4, arbitrary: schema.filter(({ type }) => type === "object") }, { weight: 1, arbitrary: schema });
}
