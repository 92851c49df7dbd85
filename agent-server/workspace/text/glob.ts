import picomatch from "picomatch";

/**
 * A filter for paths with forward slashes. A pattern without a slash is matched with the name alone, as in ignore files;
 * others with the path in the workspace or below the folder that was named.
 */
export function globFilter(glob: string | undefined): (path: string, below?: string) => boolean {
  if (glob === undefined) return () => true;
  const pattern = glob.replace(/^\.?\//, "");
  const matches = picomatch(pattern.endsWith("/") ? `${pattern}**` : pattern, {
    dot: true,
    basename: !pattern.includes("/"),
    maxLength: 500,
  });
  return (path, below) => matches(path) || (below !== undefined && matches(below));
}
