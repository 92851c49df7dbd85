import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** Where the build puts the parsed files of `config/` and `soul/`, seen from a chunk of the bundle; a host run from source has no such folder. */
const parsedFolder = new URL("../parsed/", import.meta.url);

export interface ParsedYaml {
  readonly value: unknown;
  /** True for a text that the build shipped: the tests have tried the examples in it. */
  readonly shipped: boolean;
}

/**
 * The value of a text that the build parsed, found by its SHA-256; undefined for every other text, so an edited file is read as YAML.
 * Parsing the shipped tables would take a fifth of a start.
 */
export function shippedValue(text: string): unknown {
  try {
    return JSON.parse(readFileSync(new URL(`${hash("sha256", text, "hex")}.json`, parsedFolder), "utf8"));
  } catch {
    // Not shipped, or run from source: the YAML itself is the source of truth.
    return undefined;
  }
}

/**
 * Parses a text of `config/`.
 * @param maxAliasCount as of the yaml package, where the text is not a shipped one
 * @throws YAMLParseError when the text is not YAML.
 */
export function parseShipped(text: string, maxAliasCount = 0): ParsedYaml {
  const value = shippedValue(text);
  return value === undefined ? { value: parse(text, { maxAliasCount }), shipped: false } : { value, shipped: true };
}
