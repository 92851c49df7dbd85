import { runInThisContext } from "node:vm";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { toAscii } from "../../../esbuild-ascii.mjs";

const valueOf = (code: string): unknown => runInThisContext(code);

it.each([
  ["a regular expression", "/^[’–]+ß$/u.exec('\\u2019\\u2013\\u00df')?.[0]", "’–ß".length],
  ["an expression beyond the basic plane", "/^[\u{1f600}x]$/u.exec('\\u{1f600}')?.[0]", 2],
  ["a raw template", "String.raw`é\\d${String.raw`·\\x60`}ü\\u0041`", "é\\d·\\x60ü\\u0041".length],
  ["a raw template with what would end or divide it", "String.raw`é\\`\\${x}`", "é\\`\\${x}".length],
  ["a raw template after a keyword", "(() => { return String.raw`ñ` })()", 1],
  ["comments, which stay ASCII", "'abc' // plain", 3],
])("keeps the value of %s", (_, code, length) => {
  const ascii = toAscii(code);
  expect(!/[\u0080-\uffff]/.test(ascii)).toBe(true);
  expect(valueOf(ascii)).toEqual(valueOf(code));
  expect(valueOf(ascii)).toHaveLength(length);
});

it("keeps the value of any raw template", () => {
  // Without characters that end a template or make its raw form differ from its source.
  const raw = fc
    .string({ unit: "binary", maxLength: 30 })
    .map((text) => text.replaceAll(/[`$\r\u2028\u2029]|\\+$|\\(?=[`$ux0-9])|[\ud800-\udfff]/g, ""));
  fc.assert(
    fc.property(raw, (text) => {
      fc.pre(!text.endsWith("\\"));
      const code = `String.raw\`${text}\``;
      expect(valueOf(toAscii(code))).toBe(valueOf(code));
    }),
    { numRuns: 25 },
  );
});

it("refuses what it cannot write in ASCII", () => {
  expect(() => toAscii("other`é`")).toThrow("not ASCII");
});
