import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const bundle = join(root, "l10n/bundle.l10n.json");

/** Every text the extension shows, from the calls of `vscode.l10n.t`. */
function texts(): Record<string, string> {
  const found = new Set<string>();
  for (const entry of readdirSync(join(root, "extension"), { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".ts")) continue;
    const source = readFileSync(join(entry.parentPath, entry.name), "utf8");
    for (const [, literal] of source.matchAll(/l10n\.t\(\s*("(?:[^"\\]|\\.)*")/g)) found.add(JSON.parse(literal ?? '""') as string);
    const calls = source.match(/l10n\.t\(/g)?.length ?? 0;
    expect(source.match(/l10n\.t\(\s*"/g)?.length ?? 0, `${entry.name}: a text that is not one string literal cannot be translated`).toBe(
      calls,
    );
  }
  return Object.fromEntries([...found].sort().map((text) => [text, text]));
}

test("l10n/bundle.l10n.json holds every text of the extension (UPDATE_L10N=1 writes it)", () => {
  const wanted = `${JSON.stringify(texts(), null, 2)}\n`;
  if (process.env["UPDATE_L10N"] === "1") writeFileSync(bundle, wanted);
  expect(readFileSync(bundle, "utf8")).toBe(wanted);
});
