import { describe, expect, it } from "vitest";
import { createOwnerGate } from "../../../agent-server/security/security.ts";

describe("the owner gate", () => {
  it.each<[string | null, string | null | undefined, boolean]>([
    ["right-token", "right-token", true],
    ["right-token", "wrong-token", false],
    ["right-token", "right-token ", false],
    ["right-token", "right", false],
    ["right-token", "", false],
    ["right-token", null, false],
    ["right-token", undefined, false],
    [null, "right-token", false],
    [null, null, false],
    [null, undefined, false],
    [null, "", false],
    ["", "", false],
    ["", "anything", false],
  ])("made with %j answers %j with %s", (token, presented, allowed) => {
    expect(createOwnerGate(token).check(presented)).toBe(allowed);
  });
});
