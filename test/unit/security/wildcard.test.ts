import * as fc from "fast-check";
import picomatch from "picomatch";
import { expect, it } from "vitest";
import { wildcard } from "../../../agent-server/security/wildcard.ts";
import { runs } from "../../support/soak.ts";

it.each([
  ["*.ts", "a.ts", true],
  ["*.ts", "a.tsx", false],
  ["*", "", true],
  ["*", "any/thing", true],
  ["?.ts", "a.ts", true],
  ["?.ts", ".ts", false],
  ["[ab]*", "b", true],
  ["[!ab]*", "b", false],
  ["[a-c]", "b", true],
  ["[]x]", "]", true],
  ["[", "[", true],
  [String.raw`\*`, "*", true],
  [String.raw`\*`, "x", false],
  ["./src/*", "./src/deep/b.ts", true],
  ["*a*b*", "xxaxxbxx", true],
  ["*a*b*", "xxbxxaxx", false],
  ["{a,b}", "a", false],
  ["{a,b}", "{a,b}", true],
  ["😀?", "😀x", true],
])("%s on %s: %s", (pattern, text, matches) => expect(wildcard(pattern)(text)).toBe(matches));

it("ignores case on request", () =>
  expect([wildcard("READ*", { ignoreCase: true })("readme"), wildcard("READ*")("readme")]).toEqual([true, false]));

it("agrees with the plain expression of it", () => {
  const letters = fc.stringMatching(/^[abc]{0,8}$/);
  const pattern = fc.array(fc.oneof(letters, fc.constantFrom("*", "?")), { maxLength: 6 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(pattern, letters, (glob, text) => {
      const plain = new RegExp(`^${glob.replaceAll("?", ".").replaceAll("*", ".*")}$`);
      expect(wildcard(glob)(text)).toBe(plain.test(text));
    }),
    { numRuns: runs(500, 2_000) },
  );
});

it("agrees with a library on globs of paths", () => {
  const piece = fc.constantFrom("a", "b", "*", "**", "?", "/", "/", "[ab]", "[^a]", "{a,b}", "{a/b,*}", "{b,{a,aa}}", "\\*");
  const pattern = fc.array(piece, { minLength: 1, maxLength: 7 }).map((parts) => parts.join(""));
  const path = fc.array(fc.stringMatching(/^[ab]{1,3}$/), { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
  // Where the library and a shell differ: empty names, stars beside each other, and alternatives that touch `**`.
  const same = (glob: string): boolean => !/^\/|\/$|\/\/|\*{3}|[^/]\*\*|\*\*[^/]|[^ab]\/\*\*|\}\{|\\\*\*/.test(glob);
  fc.assert(
    fc.property(pattern.filter(same), path, (glob, text) => {
      expect(wildcard(glob, { paths: true })(text), `${glob} on ${text}`).toBe(picomatch(glob, { dot: true })(text));
    }),
    { numRuns: runs(1_000, 10_000) },
  );
});

it.each([
  ["src/**/*.ts", "src/a.ts", true],
  ["src/**/*.ts", "src/a/b/c.ts", true],
  ["src/**/*.ts", "lib/a.ts", false],
  ["src/**", "src", true],
  ["src/**", "src/a/b", true],
  ["src/**", "srcs/a", false],
  ["**", "a/b", true],
  ["*", "a/b", false],
  ["a?b", "a/b", false],
  ["a[!x]b", "a/b", false],
  ["{src,test}/**/*.{ts,tsx}", "test/x/y.tsx", true],
  ["{src,{lib,test/e2e}}/*.ts", "test/e2e/y.ts", true],
  ["{**/a,b}", "x/y/a", true],
  ["a{b}c", "a{b}c", true],
  ["a{b,c", "a{b,c", true],
  ["{a,}b", "b", true],
  [String.raw`{a\,b,c}`, "a,b", true],
  ["[{,}]", ",", true],
])("as a glob of paths, %s on %s: %s", (pattern, text, matches) => expect(wildcard(pattern, { paths: true })(text)).toBe(matches));

it.each(["a".repeat(4_000), `${"ab/".repeat(1_000)}c`])("ends in time on what makes expressions explode: %#", (text) => {
  for (const paths of [true, false])
    for (const pattern of [
      "*a".repeat(200),
      "**/*a/".repeat(80),
      "{a,b,*}".repeat(70),
      `{1,2}${"\\".repeat(51)}`,
      "{".repeat(500),
      "[".repeat(500),
    ])
      wildcard(`${pattern}!`, { paths })(text);
});
