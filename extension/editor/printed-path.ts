/** The segments of a path without `.` and `..`; null when it climbs above its root. */
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
 * Where a path that a command printed may lie in the workspace: workspace-relative, in the order to be tried. Commands print paths
 * as they see them: relative to their folder, to the workspace, or absolute.
 * @param cwd folder the command ran in, relative to the workspace.
 * @param root absolute path of the workspace.
 */
export function placesOf(path: string, cwd: string, root: string): readonly string[] {
  const slashed = path.replaceAll("\\", "/");
  if (/^([A-Za-z]:)?\//.test(slashed)) {
    const prefix = `${root.replaceAll("\\", "/").replace(/\/$/, "")}/`;
    const inside = slashed.startsWith(prefix) ? normalized(slashed.slice(prefix.length)) : null;
    return inside === null || inside === "" ? [] : [inside];
  }
  const candidates = [normalized(`${cwd}/${slashed}`), normalized(slashed)];
  return [...new Set(candidates.filter((candidate): candidate is string => candidate !== null && candidate !== ""))];
}
