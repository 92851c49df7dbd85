import { LancelotError } from "../contract/errors.ts";
import { listSettings, ownerSettings, parseSettings } from "../workspace/workspace.ts";

/**
 * The text of a git configuration with the user's name and e-mail address, and nothing else of the user's settings: commands then commit as
 * the user wherever the repository names nobody. Empty without git, and where the user's settings name nobody.
 */
export async function gitIdentitySettings(signal: AbortSignal): Promise<string> {
  let listed: string;
  try {
    // At the root no repository's settings are read.
    listed = await listSettings({}, "/", signal);
  } catch (error) {
    if (error instanceof LancelotError && error.code !== "cancelled") return "";
    throw error;
  }
  const { name, email } = ownerSettings(parseSettings(listed));
  if (name === null || email === null) return "";
  return `[user]\n\tname = ${quoted(name)}\n\temail = ${quoted(email)}\n`;
}

function quoted(value: string): string {
  return `"${value.replaceAll(/[\r\n]+/g, " ").replaceAll(/[\\"]/g, String.raw`\$&`)}"`;
}
