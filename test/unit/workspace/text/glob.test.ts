import { describe, expect, it } from "vitest";
import { globFilter } from "../../../../agent-server/workspace/text/glob.ts";

describe("a glob of paths", () => {
  it.each([
    ["*.ts", "src/a.ts", true],
    ["*.ts", "src/a.js", false],
    ["src/", "src/a/b.js", true],
    ["./src/**", "src/a.js", true],
  ] as const)("%s and %s: %s", (glob, path, matches) => {
    expect(globFilter(glob)(path)).toBe(matches);
  });

  it.each(["", "/", "./"])("%j is the workspace itself", (glob) => {
    expect(globFilter(glob)("src/a.ts")).toBe(true);
  });
});
