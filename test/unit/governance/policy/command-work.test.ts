import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandWorkspace, createCommandWorkspace } from "../../../support/command-workspace.ts";
import { processorMs } from "../../../support/processor-time.ts";

// The host judges a command before anything else goes on, so no command may keep it busy: found by the fuzz, some took minutes.

let tree: CommandWorkspace;
beforeAll(async () => {
  tree = await createCommandWorkspace();
  // Loads the table.
  tree.judge("ls");
});
afterAll(() => tree.dispose());

const names = Array.from({ length: 16_000 }, (_, at) => at.toString(36)).join(" ");
const long: readonly (readonly [name: string, command: string])[] = [
  ["searches of every folder", `grep -rn x${" *".repeat(1_000)}`],
  ["patterns", `cat${" *".repeat(1_000)}`],
  ["patterns of two levels", `ls${" */*".repeat(1_000)}`],
  ["many names", `cat ${names}`],
  ["many names to delete", `rm ${names}`],
  ["one name again and again", `cat${" a".repeat(24_000)}`],
  ["redirections", `ls ${Array.from({ length: 8_000 }, (_, at) => `>${at}`).join(" ")}`],
  ["braces", "{a,".repeat(10_000)],
  ["stars in one name", `cat evil.ex${"*".repeat(20_000)}`],
  ["braces in a searched name", `rg -g ${"{".repeat(20_000)} x`],
  ["wrappers", "sudo ".repeat(9_000)],
  ["evaluated text", "eval ".repeat(9_000)],
  ["environments", `env ${"A=1 ".repeat(12_000)}`],
  ["alternatives", `${"a||".repeat(16_000)}a`],
  ["alternatives that set variables", `${Array.from({ length: 4_000 }, (_, at) => `v${at}=1||`).join("")}a`],
  ["a chain", `${"a&&".repeat(16_000)}a`],
  ["a pipe", `${"a|".repeat(24_000)}a`],
  ["coprocesses", "coproc X {a,b}".repeat(3_500)],
  ["branches of a case", `case $x in ${"a) ls;; ".repeat(5_000)}esac`],
  ["brackets", `${"(".repeat(20_000)}ls${")".repeat(20_000)}`],
  ["substitutions", `echo ${"$(".repeat(2_000)}ls${")".repeat(2_000)}`],
  ["nested loops", `${"for i in a b c; do ".repeat(20)}ls${"; done".repeat(20)}`],
  [
    "functions that call each other twice",
    `${Array.from({ length: 20 }, (_, at) => `f${at + 1}() { f${at}; f${at}; }`).join("\n")}\nf0() { ls; }\nf20`,
  ],
];

describe("a command of any length and depth is judged at once", () => {
  it.each(long)("%s", (_, command) => {
    const before = processorMs();
    tree.judge(command.slice(0, 49_999));
    // Far above what any of them takes, and far below what some took.
    expect(processorMs() - before).toBeLessThan(5_000);
  });
});

describe("what is not looked at is not allowed", () => {
  it.each([
    ["a secret behind thousands of names", `cat ${names.slice(0, 40_000)} .env`, "deny"],
    ["a secret behind thousands of patterns", `ls${" *".repeat(2_000)}; cat .env`, "deny"],
    ["a disk behind thousands of names", `ls ${names.slice(0, 40_000)}; rm -rf /`, "deny"],
    ["a disk behind thousands of searches", `${"grep -r x . ; ".repeat(2_000)} rm -rf /`, "deny"],
  ] as const)("%s", (_, command, verdict) => {
    expect(tree.judge(command).verdict).toBe(verdict);
  });
});
