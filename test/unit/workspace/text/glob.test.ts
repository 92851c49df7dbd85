import { describe, expect, it } from "vitest";
import { globFilter } from "../../../../agent-server/workspace/text/glob.ts";

describe("a glob of paths", () => {
  it.each([
    ["*.ts", "src/a.ts", true],
    ["*.ts", "src/a.js", false],
    ["src/", "src/a/b.js", true],
    ["./src/**", "src/a.js", true],
    ["!*.ts", "src/a.js", true],
    ["!*.ts", "src/a.ts", false],
    ["{a,b}.ts", "src/b.ts", true],
    [".env/**", ".env", true],
    ["app/(auth)/*", "app/(auth)/page.tsx", true],
  ] as const)("%s and %s: %s", (glob, path, matches) => {
    expect(globFilter(glob)(path)).toBe(matches);
  });

  it.each(["", "/", "./"])("%j is the workspace itself", (glob) => {
    expect(globFilter(glob)("src/a.ts")).toBe(true);
  });

  it.each(["!(*.md)", "+(a|b).ts", "src/@(a|b)"])("%s is refused, with what to use instead", (glob) => {
    expect(() => globFilter(glob)).toThrow(expect.objectContaining({ code: "invalid_params" }));
  });
});
