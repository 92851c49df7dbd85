import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const bundle = join(root, "l10n/bundle.l10n.json");

function sources(folder: string): { name: string; source: string }[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map(({ name, parentPath }) => ({ name, source: readFileSync(join(parentPath, name), "utf8") }));
}

/** Every text of the extension, from the calls of `vscode.l10n.t`, and of the webviews, from the calls of `t` and `count`. */
function texts(): Record<string, string> {
  const found = new Set<string>(webviewTexts());
  for (const { name, source } of sources("extension")) {
    for (const [, literal] of source.matchAll(/l10n\.t\(\s*("(?:[^"\\]|\\.)*")/g)) found.add(JSON.parse(literal ?? '""') as string);
    const calls = source.match(/l10n\.t\(/g)?.length ?? 0;
    expect(source.match(/l10n\.t\(\s*"/g)?.length ?? 0, `${name}: a text that is not one string literal cannot be translated`).toBe(calls);
  }
  return Object.fromEntries([...found].sort().map((text) => [text, text]));
}

/** Each call of `t` or `count` in the webviews, with the string literals among its arguments. */
function webviewCalls(): { place: string; texts: string[] }[] {
  return sources("webviews").flatMap(({ name, source }) =>
    [...source.matchAll(/(?<![\w.])(t|count)\(/g)]
      .filter(({ index }) => !source.slice(0, index).endsWith("function "))
      .map((call) => {
        // `t` takes its text first, `count` takes the singular and the plural after the number.
        const pattern = call[1] === "t" ? /^\s*("(?:[^"\\]|\\.)*")/ : /^[^"]*?,\s*("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*")/;
        const literals = pattern.exec(source.slice(call.index + call[0].length))?.slice(1) ?? [];
        return {
          place: `${name}, line ${source.slice(0, call.index).split("\n").length}`,
          texts: literals.map((literal) => JSON.parse(literal) as string),
        };
      }),
  );
}

const webviewTexts = (): string[] => webviewCalls().flatMap((call) => call.texts);

test("every text of the webviews is one string literal, so that it can be translated", () => {
  expect(webviewCalls().filter(({ texts: found, place }) => found.length === 0 && !place.startsWith("l10n.ts"))).toEqual([]);
});

test("l10n/bundle.l10n.json holds every text of the extension and the webviews (UPDATE_L10N=1 writes it)", () => {
  const wanted = `${JSON.stringify(texts(), null, 2)}\n`;
  if (process.env["UPDATE_L10N"] === "1") writeFileSync(bundle, wanted);
  expect(readFileSync(bundle, "utf8")).toBe(wanted);
});
