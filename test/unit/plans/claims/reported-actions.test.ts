import { expect, it } from "vitest";
import { compareActions } from "../../../../agent-server/plans/claims/reported-actions.ts";
import { recordedIn, type World } from "../../../support/claims/worlds.ts";

it.each<[World, { action: string; target?: string }, boolean]>([
  ["edited", { action: "updated", target: "README.md" }, true],
  ["edited", { action: "edit_file", target: "src/cart.ts" }, true],
  ["edited", { action: "Fixed the rounding in src/cart.ts" }, true],
  ["edited", { action: "updated", target: "package.json" }, false],
  ["edited", { action: "ran", target: "npm test" }, false],
  ["tested", { action: "ran", target: "npm test" }, true],
  ["tested", { action: "Run the tests" }, true],
  ["failing", { action: "ran the tests" }, true],
  ["rejected", { action: "updated", target: "README.md" }, false],
  ["denied", { action: "updated", target: "README.md" }, false],
  ["undone", { action: "updated", target: "README.md" }, false],
  ["committed", { action: "committed the changes" }, true],
  ["edited", { action: "commit" }, false],
  ["deployed", { action: "deploy", target: "site" }, true],
  ["deleted", { action: "delete", target: "src/old.ts" }, true],
  ["read", { action: "read", target: "README.md" }, true],
  ["fetched", { action: "fetched", target: "https://docs.example.org/api" }, true],
  ["nothing", { action: "saved the world" }, false],
  ["edited", { action: "aktualisiert", target: "README.md" }, true],
])("in world %s, %o is recorded: %s", (world, action, recorded) => {
  const [found] = compareActions([action], recordedIn(world));
  expect(found).toMatchObject({ recorded });
  expect(found?.receiptId === null).toBe(!recorded);
});

it("takes a receipt for one action, unless the actions name what it is about", () => {
  const recorded = recordedIn("tested");
  const runs = compareActions([{ action: "ran the tests" }, { action: "ran the tests again" }], recorded);
  expect(runs.map((action) => action.recorded)).toEqual([true, false]);
  const edits = compareActions(
    [
      { action: "fixed", target: "src/cart.ts" },
      { action: "formatted", target: "src/cart.ts" },
    ],
    recorded,
  );
  expect(edits.map((action) => action.recorded)).toEqual([true, true]);
});
