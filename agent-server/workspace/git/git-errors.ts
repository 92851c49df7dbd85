import { LancelotError } from "../../contract/errors.ts";

/** Converts a git failure to a message of the product. `data.said` is "no" when git printed nothing. */
export function gitError(error: unknown): LancelotError {
  const message = (error instanceof Error ? error.message : String(error)).trim();
  const of = (code: LancelotError["code"], words: string) => new LancelotError(code, words, { cause: error });
  if (/spawn git ENOENT|^ENOENT|not recognized as an internal/.test(message))
    return of("unavailable", "Git is not installed or not on the PATH. Install Git and try again.");
  if (/not a git repository/i.test(message))
    return of("unavailable", "This workspace is not a git repository, or the repository is damaged. Use the file tools.");
  if (/does not have any commits|ambiguous argument 'HEAD'/i.test(message)) return of("not_found", "This repository has no commits yet.");
  if (/\.lock': File exists|Unable to create '[^']*\.lock'/.test(message))
    return of(
      "conflict",
      "Another git process is running in this repository. Try again when it has finished. If none is running, remove the stale lock file in .git.",
    );
  if (/invalid path '|Invalid path '/.test(message))
    return of("denied", `Git refuses an unsafe name in this repository: ${firstLine(message)}`);
  const said = message === "" ? { data: { said: "no" } } : {};
  return new LancelotError("unavailable", `Git could not do this: ${firstLine(message)}`, { cause: error, ...said });
}

function firstLine(message: string): string {
  const lines = message.split("\n");
  const line = lines.find((one) => /^(?:fatal|error): /.test(one)) ?? lines[0] ?? "";
  return line.replace(/^(?:fatal|error): /, "").slice(0, 300);
}
