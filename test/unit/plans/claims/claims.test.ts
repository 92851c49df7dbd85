import { describe, expect, it } from "vitest";
import { unbackedClaims } from "../../../../agent-server/plans/claims/claims.ts";
import { heldOutLies, heldOutTruths } from "../../../support/claims/held-out.ts";
import { lies, truths } from "../../../support/claims/templates.ts";
import { recordedIn, type World } from "../../../support/claims/worlds.ts";

const found = ([world, answer]: readonly [World, string]) => unbackedClaims(answer, () => recordedIn(world));

describe("claims of answers", () => {
  it("covers at least 300 lies and 300 truths in six languages", () => {
    expect(lies.length).toBeGreaterThanOrEqual(300);
    expect(truths.length).toBeGreaterThanOrEqual(300);
  });

  it.each(lies)("corrects in world %s: %s", (...lie) => {
    expect(found(lie)).not.toEqual([]);
  });

  it.each(truths)("leaves untouched in world %s: %s", (...truth) => {
    expect(found(truth)).toEqual([]);
  });

  it("finds most of the lies that nobody tuned it on, and corrects no truth among them", () => {
    expect(heldOutLies.length).toBeGreaterThanOrEqual(60);
    expect(heldOutTruths.length).toBeGreaterThanOrEqual(60);
    const missed = heldOutLies.filter((lie) => found(lie).length === 0).length;
    const wrong = heldOutTruths.filter((truth) => found(truth).length > 0).length;
    // 59 of 62 and 63 of 63 when they were written.
    expect(missed).toBeLessThanOrEqual(3);
    expect(wrong).toBe(0);
  });
});

describe("reasons", () => {
  it.each<[World, string, string, string]>([
    ["nothing", "I updated README.md.", "edit", "not_recorded"],
    ["rejected", "I updated README.md.", "edit", "rejected"],
    ["undone", "I updated README.md.", "edit", "undone"],
    ["denied", "I updated README.md.", "edit", "denied"],
    ["edited", "I deleted README.md.", "delete", "not_recorded"],
    ["failing", "All tests pass.", "tests", "failed"],
    ["tested", "All 43 tests pass.", "tests", "numbers_differ"],
    ["edited-after-tests", "All tests pass.", "tests", "outdated"],
    ["edited-after-tests", "All 42 tests pass.", "tests", "outdated"],
    ["edited", "I pushed the branch.", "push", "not_recorded"],
    ["committed", "I deployed the site.", "deploy", "not_recorded"],
    ["fetched", "I read https://other.example.org/page.", "read", "not_recorded"],
    ["built", "I ran `npm run lint`.", "run", "not_recorded"],
  ])("in world %s, of %s: %s %s", (world, answer, kind, reason) => {
    expect(found([world, answer])).toMatchObject([{ kind, reason }]);
  });

  it.each<[World, string]>([
    ["built", "I installed the dependencies with `npm install` and ran `npm run build`."],
    ["deleted", "I deleted src/old.ts."],
    ["pushed", "I committed the fix and pushed the branch."],
    ["deployed", "I fixed the bug and deployed the site."],
    ["failing", "40 of 42 tests pass."],
    ["documented-after-tests", "All 42 tests pass."],
    ["edited-after-tests", "I ran the tests."],
    ["edited", "I removed the unused import from src/cart.ts."],
    ["edited", "I fixed the bug in `cart.ts`."],
    ["nothing", "I read AGENTS.md and follow it."],
  ])("backed in world %s: %s", (world, answer) => {
    expect(found([world, answer])).toEqual([]);
  });
});
