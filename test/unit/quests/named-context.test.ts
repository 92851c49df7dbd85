import { expect, it } from "vitest";
import { findContexts } from "../../../agent-server/quests/named-context.ts";

it.each<[string, string[]]>([
  ["@problems", ["problems"]],
  ["Fix the @problems, then look at @diff.", ["problems", "diff"]],
  ["(@diff) and @diff again", ["diff"]],
  ["Fix @problems: all of them", ["problems"]],
  ["@Problems", []],
  ["me@problems", []],
  ["@problems.md and @diff/a.ts and @diff-tool and @differ", []],
  ["@unknown and @ problems", []],
  ["", []],
])("%j attaches %j", (text, names) => {
  expect(findContexts(text, [])).toEqual(names);
});

it("leaves a name to the file of that name", () => {
  expect(findContexts("@diff and @problems", ["diff"])).toEqual(["problems"]);
});
