import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** The parsed files of `config/` and `soul/`, relative to a chunk of the bundle. A host that runs from source uses those of the last build. */
const parsedFolder = new URL(import.meta.url.endsWith(".ts") ? "../dist/host/parsed/" : "../parsed/", import.meta.url);

export interface ParsedYaml {
  readonly value: unknown;
  /** True for a file that was shipped unchanged, whose examples the tests have already verified. */
  readonly shipped: boolean;
}

/**
 * The value of a text that the build parsed, found by its SHA-256; undefined for every other text, so that an edited file is parsed as
 * YAML. Parsing the shipped tables at run time would take a fifth of the start.
 */
export function shippedValue(text: string): unknown {
  try {
    return JSON.parse(readFileSync(new URL(`${hash("sha256", text, "hex")}.json`, parsedFolder), "utf8"));
  } catch {
    // The text was edited, or nothing was built, so the YAML itself is parsed.
    return undefined;
  }
}

/**
 * Parses the text of a file in `config/`.
 * @param maxAliasCount the option of the yaml package, for a text that was not shipped
 * @throws YAMLParseError when the text is not YAML.
 */
export function parseShipped(text: string, maxAliasCount = 0): ParsedYaml {
  const value = shippedValue(text);
  return value === undefined ? { value: parse(text, { maxAliasCount }), shipped: false } : { value, shipped: true };
}
