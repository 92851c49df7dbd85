import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { guards, withoutGuard } from "../../support/guards/guards.ts";

const root = join(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/security.md"), "utf8");
const rows = ["LLM", "ASI"].flatMap((list) => Array.from({ length: 10 }, (_, at) => `${list}${String(at + 1).padStart(2, "0")}`));

describe("the page about security", () => {
  it("has one guard for each row of both lists", () => {
    expect(guards.map(({ row }) => row)).toEqual(rows);
  });

  it.each(guards.map((guard) => [guard.row, guard] as const))("%s names a guard that is there, and its test", (row, guard) => {
    expect(existsSync(join(root, guard.test))).toBe(true);
    const source = readFileSync(join(root, guard.file), "utf8");
    expect(withoutGuard(guard, source)).not.toBe(source);
    const line = page.split("\n").find((one) => one.startsWith(`| ${row} `));
    expect(line).toContain(`\`${guard.file}\``);
    expect(line).toContain(`\`${guard.test}\``);
  });

  it("says when a source no longer has its guard", () => {
    const [guard] = guards;
    expect(guard).toBeDefined();
    if (guard !== undefined) {
      expect(() => withoutGuard(guard, "nothing")).toThrow(/0 times/);
      expect(() => withoutGuard(guard, guard.guard.repeat(2))).toThrow(/2 times/);
    }
  });
});
