/** The path without `.` and `..`; null when it leaves its root. */
function normalized(path: string): string | null {
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") kept.push(segment);
    else if (kept.pop() === undefined) return null;
  }
  return kept.join("/");
}

/**
 * Workspace-relative candidates for a path in a command's output, in the order to try. Commands print paths
 * relative to their folder, relative to the workspace, or absolute.
 * @param cwd the command's folder, relative to the workspace.
 * @param root absolute path of the workspace.
 */
export function candidatePaths(path: string, cwd: string, root: string): readonly string[] {
  const slashed = path.replaceAll("\\", "/");
  if (/^([A-Za-z]:)?\//.test(slashed)) {
    const prefix = `${root.replaceAll("\\", "/").replace(/\/$/, "")}/`;
    const inside = slashed.startsWith(prefix) ? normalized(slashed.slice(prefix.length)) : null;
    return inside === null || inside === "" ? [] : [inside];
  }
  const candidates = [normalized(`${cwd}/${slashed}`), normalized(slashed)];
  return [...new Set(candidates.filter((candidate): candidate is string => candidate !== null && candidate !== ""))];
}
