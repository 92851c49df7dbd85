import { describe, expect, it } from "vitest";
import { artifactOf, artifactText } from "../../../agent-server/plans/reasoning/artifact.ts";

const answer = { strategy: "1. Read\n2. Fix", risks: ["a", "a", " "], gaps: ["no network"] };

describe("a reasoning artifact", () => {
  it("holds the gaps of the list and of marked lines, each once", () => {
    const thinking = "First.\n- CAPABILITY GAP: no network\ncapability gap:   a  GPU\nCAPABILITY GAP:\nCAPABILITY GAP in words";
    expect(artifactOf(answer, thinking)).toMatchObject({ risks: ["a"], gaps: ["no network", "a GPU"], thinking });
  });

  it("is bounded, whatever the model wrote", () => {
    const long = "😀".repeat(50_000);
    const many = Array.from({ length: 500 }, (_, index) => `${String(index)} ${long}`);
    const artifact = artifactOf({ strategy: long, risks: many, gaps: many }, `${long}\n${"CAPABILITY GAP: x\n".repeat(10_000)}`);
    expect(JSON.stringify(artifact).length).toBeLessThan(30_000);
    expect(JSON.stringify(artifact).isWellFormed()).toBe(true);
  });

  it("names risks and gaps to the model only where there are any", () => {
    const artifact = artifactOf({ ...answer, risks: [], gaps: [] }, "");
    expect(artifactText(artifact).split("\n").slice(1)).toEqual(["1. Read", "2. Fix"]);
    expect(artifactText(artifactOf(answer, "")).split("\n").slice(1)).toEqual([
      "1. Read",
      "2. Fix",
      "Risks:",
      "- a",
      "Capability gaps:",
      "- no network",
    ]);
  });
});
