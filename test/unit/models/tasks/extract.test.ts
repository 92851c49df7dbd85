import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSchema } from "../../../../agent-server/models/structured-output.ts";
import { extractByRules } from "../../../../agent-server/models/tasks/extract-rules.ts";

const object = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({ type: "object", properties, required });
const extract = (text: string, schema: Record<string, unknown>) => extractByRules(text, schema, readSchema(schema));

describe("taking data from a text by rules", () => {
  it.each<[string, Record<string, unknown>, unknown]>([
    [
      'Result: {"name": "app", "port": 3000} done',
      object({ name: { type: "string" }, port: { type: "integer" } }),
      { name: "app", port: 3000 },
    ],
    ["```json\n[1, 2, 3]\n```", { type: "array", items: { type: "integer" } }, [1, 2, 3]],
    ['{"port": "x"} but then {"port": 80}', object({ port: { type: "integer" } }), { port: 80 }],
    ["Name: api-gateway\nPort: 8080", object({ name: { type: "string" }, port: { type: "integer" } }), { name: "api-gateway", port: 8080 }],
    ["The retry count is 5.", object({ retryCount: { type: "integer" } }), { retryCount: 5 }],
    ["max_size = 1,024 MB", object({ max_size: { type: "number" } }), { max_size: 1024 }],
    ["Debug: enabled", object({ debug: { type: "boolean" } }), { debug: true }],
    ["- **Severity**: High", object({ severity: { enum: ["low", "high"] } }), { severity: "high" }],
    ["It is a blocker, we think.", object({ severity: { enum: ["minor", "major", "blocker"] } }), { severity: "blocker" }],
    [
      "Labels: bug, ui and needs-info.",
      object({ labels: { type: "array", items: { type: "string" } } }),
      { labels: ["bug", "ui", "needs-info"] },
    ],
    ["Write to ops@acme.dev about it", object({ contact: { type: "string", format: "email" } }), { contact: "ops@acme.dev" }],
    ["Due 2026-12-24, they said", object({ due: { type: "string", format: "date" } }), { due: "2026-12-24" }],
    ['title: "Crash: on start", by Ann', object({ title: { type: "string" } }), { title: "Crash: on start" }],
    ["file: src/app.ts", object({ file: { type: "string" }, line: { type: "integer" } }, ["file"]), { file: "src/app.ts" }],
  ])("%j", (text, schema, value) => {
    expect(extract(text, schema)).toEqual(value);
  });

  it.each<[string, string, Record<string, unknown>]>([
    ["what is required is not there", "Name: api", object({ name: { type: "string" }, port: { type: "integer" } })],
    ["a number is outside of its range", "port: 99999", object({ port: { type: "integer", maximum: 65_535 } })],
    ["a text does not hold its pattern", "version: newest", object({ version: { type: "string", pattern: String.raw`^\d+\.\d+$` } })],
    ["two of the enumerated stand there", "major or minor", object({ severity: { enum: ["minor", "major"] } })],
    ["nothing is there", "hello", object({ name: { type: "string" } })],
  ])("finds nothing where %s", (_, text, schema) => {
    expect(extract(text, schema)).toBeUndefined();
  });

  it("finds JSON wherever it stands among other words", () => {
    const value = fc.record({ id: fc.integer(), tags: fc.array(fc.string({ maxLength: 8 }), { maxLength: 4 }), ok: fc.boolean() });
    const schema = object({ id: { type: "integer" }, tags: { type: "array", items: { type: "string" } }, ok: { type: "boolean" } });
    const content = fc.string({ maxLength: 40 }).map((text) => text.replaceAll(/[{}[\]"]/g, " "));
    fc.assert(
      fc.property(content, value, content, (before, wanted, after) => {
        expect(extract(`${before} ${JSON.stringify(wanted, null, 1)} ${after}`, schema)).toEqual(wanted);
      }),
    );
  });

  it("returns nothing that violates the schema, whatever the text", () => {
    const schema = object({ name: { type: "string", minLength: 2 }, count: { type: "integer", minimum: 0 }, on: { type: "boolean" } }, [
      "name",
    ]);
    const checked = readSchema(schema);
    const piece = fc.oneof(
      fc.constantFrom("name: ", "count = ", "on is ", "{", "}", '"', "\n", "-3", "7", "yes", "ab", ", "),
      fc.string({ maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const found = extractByRules(pieces.join(""), schema, checked);
        if (found !== undefined) expect(checked.safeParse(found).success).toBe(true);
      }),
    );
  });

  it("gives up on a megabyte of brackets", () => {
    expect(extract("[".repeat(1_000_000), object({ name: { type: "string" } }))).toBeUndefined();
  });
});
