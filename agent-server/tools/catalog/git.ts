import { relative, sep } from "node:path";
import { type Git, openGit, resolveFile } from "../../workspace/workspace.ts";
import type { IntentSpec } from "../../execution/execution.ts";
import { PathArgument, type Scope } from "../tool.ts";

export const GitPath = PathArgument.optional().describe("File or folder, relative to the workspace. Default: everything");

/** The authorization step of a read-only git command. */
export function gitStep(scope: Scope, action: string, path: string | undefined): IntentSpec {
  const file = resolveFile(scope, path ?? ".");
  return { capability: "repo_ops", action, args: { path: file.asked, absolute: file.absolute } };
}

/** Git, and its path argument, which is always in the workspace, so that nothing above it is shown. */
export async function gitFor(scope: Scope, path: string | undefined): Promise<{ git: Git; at: string }> {
  const file = resolveFile(scope, path ?? ".");
  const below = relative(scope.workspace, file.absolute).split(sep).join("/");
  return { git: await openGit(scope.workspace, scope.call.signal), at: below === "" ? "." : `./${below}` };
}

/** The paths of a `-z` list whose content a tool may show. */
export function readablePaths(scope: Scope, list: string): { readable: string[]; secret: number } {
  const all = list.split("\0").filter((path) => path !== "");
  const readable = all.filter((path) => {
    const resolved = scope.governance.resolvePath(path);
    return resolved.ok && resolved.inside && resolved.sensitive !== "secret";
  });
  return { readable, secret: all.length - readable.length };
}
