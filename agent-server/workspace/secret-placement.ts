import { LancelotError } from "../contract/errors.ts";
import type { QuestPlaceholders } from "../security/security.ts";
import type { TargetFile } from "./workspace-files.ts";

/** A text ready to be written to a file. */
export interface PlacedText {
  readonly text: string;
  /** The text adds a secret that the file did not contain: the user reviews it in every posture. */
  readonly review: boolean;
}

/**
 * Replaces placeholders with their secrets in a text to write to a file. Also reads secrets from the file itself, so that this works
 * after a restart.
 * @param held versions of the file: on disk and as the quest sees it. Earlier versions in the quest count too, because a line may be
 * removed by one call and restored by the next.
 * @throws LancelotError `denied` for a file outside the workspace.
 */
export function placeSecrets(
  placeholders: QuestPlaceholders | null,
  file: TargetFile,
  text: string,
  held: readonly (string | null)[],
): PlacedText {
  if (placeholders === null || !placeholders.hasPlaceholders(text)) return { text, review: false };
  for (const one of new Set(held)) if (one !== null) placeholders.learnFrom(file.absolute, one);
  const secrets = placeholders.secretsIn(text);
  const [first] = secrets;
  if (first === undefined) return { text, review: false };
  if (!file.inside) {
    throw new LancelotError(
      "denied",
      `${first.written} is a placeholder for a secret, and ${file.display} is outside the workspace. Secrets can only be written to workspace files. Leave it out, and ask the user to add it.`,
    );
  }
  return {
    text: placeholders.restoreSecrets(text),
    review: secrets.some(({ places }) => !places.has(file.absolute)),
  };
}

/** The only tools that receive secrets in place of their placeholders. */
const fileTools: ReadonlySet<string> = new Set(["edit_file", "write_file", "apply_patch"]);
/** Arguments of these capabilities are plain text. */
const wordCapabilities: ReadonlySet<string> = new Set(["quest", "soul"]);

/** @throws LancelotError `denied` when a call would use a secret's value anywhere but in a file. */
export function refuseSecrets(
  placeholders: QuestPlaceholders | null,
  tool: { readonly name: string; readonly capability: string },
  args: unknown,
): void {
  if (placeholders === null || fileTools.has(tool.name) || wordCapabilities.has(tool.capability)) return;
  const [first] = placeholders.secretsIn(JSON.stringify(args));
  if (first === undefined) return;
  const instead =
    tool.capability === "shell_exec" || tool.capability === "web_ops"
      ? "Let the program read it from the file or variable that contains it, or ask the user to run it."
      : "Do it without that value, or ask the user.";
  throw new LancelotError(
    "denied",
    `${first.written} is a placeholder for a secret. Secrets can only be written to workspace files, not used in ${placeOf(tool.capability)}. ${instead}`,
  );
}

function placeOf(capability: string): string {
  if (capability === "shell_exec") return "commands";
  if (capability === "web_ops") return "addresses or sent data";
  return capability === "repo_ops" ? "the repository's history" : "other tool arguments";
}

/** Warns the model about unknown placeholders in a call; empty when there are none. */
export function describeUnknownPlaceholders(placeholders: QuestPlaceholders | null, args: unknown): string {
  const unknown = placeholders?.unknownIn(JSON.stringify(args)) ?? [];
  if (unknown.length === 0) return "";
  const names = unknown.slice(0, 5).join(", ");
  return `[${names}: unknown ${unknown.length === 1 ? "placeholder" : "placeholders"}, used as literal text. Copy placeholders exactly; if one is from a file, read that file again.]`;
}
