import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { flagTable, implementedFlags } from "../../../agent-server/flags/table.ts";

const read = (name: string): unknown => JSON.parse(readFileSync(join(import.meta.dirname, "../../..", name), "utf8"));
interface Manifest {
  contributes: {
    configuration: { properties: Record<string, { type?: string; default?: unknown; scope?: string; markdownDescription?: string }> };
  };
}
const { properties } = (read("package.json") as Manifest).contributes.configuration;
const texts = read("package.nls.json") as Record<string, string>;

it("each implemented flag, and no other, is a setting of the editor with its default and effect, which no workspace can set", () => {
  const settings = Object.keys(properties).filter((name) => name.startsWith("lancelot.features."));
  expect(settings).toEqual(implementedFlags.map((name) => `lancelot.features.${name}`));
  for (const name of implementedFlags) {
    const setting = properties[`lancelot.features.${name}`];
    expect([name, setting?.type, setting?.default, setting?.scope]).toEqual([name, "boolean", flagTable[name].default, "application"]);
    expect(texts[setting?.markdownDescription?.replaceAll("%", "") ?? ""]).toBe(flagTable[name].effect);
  }
});
