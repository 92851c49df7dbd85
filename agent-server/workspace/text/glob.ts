import { LancelotError } from "../../contract/errors.ts";
import { wildcard } from "../../security/security.ts";

/**
 * A filter for paths with forward slashes: `*`, `?`, `[a-z]`, `**`, `{a,b}`, and `!` before a pattern for all other paths. As in ignore
 * files, a pattern without a slash matches the name alone; others match the path in the workspace or below the given folder.
 * @throws LancelotError `invalid_params` for groups such as `+(a|b)`
 */
export function globFilter(glob: string | undefined): (path: string, below?: string) => boolean {
  if (glob === undefined) return () => true;
  if (/^!\(|[!@+*?]\([^()]*\|/.test(glob))
    throw new LancelotError("invalid_params", `The pattern ${glob} has a group in parentheses. Use {a,b} instead, or ! at the start.`);
  const negated = glob.startsWith("!");
  const pattern = glob.slice(negated ? 1 : 0).replace(/^\.?\//, "");
  // The workspace itself.
  if (pattern === "") return () => !negated;
  const matches = wildcard(pattern.endsWith("/") ? `${pattern}**` : pattern, { paths: true });
  const nameAlone = !pattern.includes("/");
  const accepts = (path: string): boolean => matches(nameAlone ? path.slice(path.lastIndexOf("/") + 1) : path);
  return (path, below) => (accepts(path) || (below !== undefined && accepts(below))) !== negated;
}
