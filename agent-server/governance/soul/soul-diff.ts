import { createTwoFilesPatch } from "diff";
import { parse } from "yaml";
import { LancelotError } from "../../contract/errors.ts";
import { readSoul } from "./soul-document.ts";

/** Time limit of a diff, in milliseconds. After it, both texts are shown in full. */
const diffTimeout = 500;

/** The text with its `version` set; everything else, including comments and layout, is unchanged. @throws LancelotError `conflict`. */
export function withVersion(yaml: string, version: string): string {
  const { versionRange, document } = readSoul(yaml);
  if (document?.version === version) return yaml;
  if (versionRange !== null) {
    // A block scalar (`>-`) includes the end of its last line.
    const old = yaml.slice(...versionRange);
    const end = /\r?\n.*/s.exec(old.slice(old.trimEnd().length))?.[0] ?? "";
    const next = yaml.slice(0, versionRange[0]) + version + end + yaml.slice(versionRange[1]);
    if (differsOnlyInVersion(yaml, next, version)) return next;
  }
  throw new LancelotError("conflict", `The version of this soul cannot be set to ${version}. Make "version: ${version}" its first field.`);
}

function differsOnlyInVersion(before: string, after: string, version: string): boolean {
  if (readSoul(after).document?.version !== version) return false;
  const [one, other] = [before, after].map((yaml) => parse(yaml, { maxAliasCount: 0 }) as Record<string, unknown>);
  return JSON.stringify({ ...one, version }) === JSON.stringify(other);
}

/** Unified diff from one version's text to the next. */
export function diffSouls(from: { version: string; yaml: string }, to: { version: string; yaml: string }, timeoutMs = diffTimeout): string {
  const [oldName, newName] = [`soul_${from.version}.yaml`, `soul_${to.version}.yaml`];
  const patch: string | undefined = createTwoFilesPatch(oldName, newName, from.yaml, to.yaml, undefined, undefined, {
    context: 3,
    timeout: timeoutMs,
  });
  return patch?.replace(/^=+\n/, "") ?? wholeDiff(oldName, newName, from.yaml, to.yaml);
}

function wholeDiff(oldName: string, newName: string, from: string, to: string): string {
  const side = (mark: string, text: string): { count: number; lines: string } => {
    const lines = text.replace(/\n$/, "").split("\n");
    const end = text.endsWith("\n") ? "" : "\\ No newline at end of file\n";
    return text === ""
      ? { count: 0, lines: "" }
      : { count: lines.length, lines: `${lines.map((line) => `${mark}${line}\n`).join("")}${end}` };
  };
  const [before, after] = [side("-", from), side("+", to)];
  const range = (count: number): string => (count === 0 ? "0,0" : `1,${count}`);
  return `--- ${oldName}\n+++ ${newName}\n@@ -${range(before.count)} +${range(after.count)} @@\n${before.lines}${after.lines}`;
}
