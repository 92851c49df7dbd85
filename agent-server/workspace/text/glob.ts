import picomatch from "picomatch";

/**
 * A filter for paths with forward slashes. As in ignore files, a pattern without a slash matches the name alone;
 * others match the path in the workspace or below the given folder.
 */
export function globFilter(glob: string | undefined): (path: string, below?: string) => boolean {
  if (glob === undefined) return () => true;
  const pattern = glob.replace(/^\.?\//, "");
  // The workspace itself.
  if (pattern === "") return () => true;
  const matches = picomatch(pattern.endsWith("/") ? `${pattern}**` : pattern, {
    dot: true,
    basename: !pattern.includes("/"),
    maxLength: 500,
  });
  return (path, below) => matches(path) || (below !== undefined && matches(below));
}
