import { LancelotError } from "../contract/errors.ts";
import type { QuestPlaceholders } from "../security/security.ts";
import type { TargetFile } from "./workspace-files.ts";

/** A text as it goes into a file. */
export interface PlacedText {
  readonly text: string;
  /** It puts a secret into a file that did not hold it: the owner reviews that, whatever the posture. */
  readonly review: boolean;
}

/**
 * Puts secrets in the place of their placeholders, in a text that goes into a file. They are learned from the file itself, so that
 * this works after a restart too.
 * @param held the file as it is now: on disk, and as the quest sees it. What it held earlier in the quest counts too: a line may be cut
 * out by one call and put back by the next.
 * @throws LancelotError `denied` for a file outside the workspace.
 */
export function placeSecrets(
  placeholders: QuestPlaceholders | null,
  file: TargetFile,
  text: string,
  held: readonly (string | null)[],
): PlacedText {
  if (placeholders === null || !placeholders.mentionedIn(text)) return { text, review: false };
  for (const one of new Set(held)) if (one !== null) placeholders.learnFrom(file.absolute, one);
  const secrets = placeholders.secretsIn(text);
  const [first] = secrets;
  if (first === undefined) return { text, review: false };
  if (!file.inside) {
    throw new LancelotError(
      "denied",
      `${first.written} stands for a secret, and ${file.display} is outside the workspace: secrets are put into files of the workspace alone. Leave it out, and ask the owner to put it there.`,
    );
  }
  return {
    text: placeholders.restoreSecrets(text),
    review: secrets.some(({ places }) => !places.has(file.absolute)),
  };
}

/** Tools that put secrets back where they stood; no other ever gets one. */
const fileTools: ReadonlySet<string> = new Set(["edit_file", "write_file", "apply_patch"]);
/** What these take is words. */
const wordCapabilities: ReadonlySet<string> = new Set(["quest", "soul"]);

/** @throws LancelotError `denied` where a call would take the value of a secret anywhere but into a file. */
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
      ? "Let the program read it from the file or variable where it is kept, or ask the owner to run it."
      : "Do it without that value, or ask the owner.";
  throw new LancelotError(
    "denied",
    `${first.written} stands for a secret. Secrets are put back in files of the workspace alone, never in ${placeOf(tool.capability)}. ${instead}`,
  );
}

function placeOf(capability: string): string {
  if (capability === "shell_exec") return "commands";
  if (capability === "web_ops") return "addresses or what is sent";
  return capability === "repo_ops" ? "what goes into the repository's history" : "other arguments of tools";
}

/** For the model: placeholders of a call that stand for nothing; empty when there are none. */
export function describeUnknownPlaceholders(placeholders: QuestPlaceholders | null, args: unknown): string {
  const unknown = placeholders?.unknownIn(JSON.stringify(args)) ?? [];
  if (unknown.length === 0) return "";
  const names = unknown.slice(0, 5).join(", ");
  return `[${names} ${unknown.length === 1 ? "stands" : "stand"} for nothing that is known here and went in as written. Copy placeholders exactly; if one is of a file, read that file again.]`;
}
