import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../support/governance-fixture.ts";
import { pathCases, reads, writes } from "../../support/path-cases.ts";
import { createPathWorkspace, type PathWorkspace } from "../../support/path-workspace.ts";

let tree: PathWorkspace;
let room: GovernanceFixture;
let restricted: GovernanceFixture;

beforeAll(async () => {
  tree = await createPathWorkspace();
  const { workspace, dataDir, configDir, home } = tree;
  room = createGovernanceFixture({ workspace, dataDir, configDir, home });
  restricted = room.beside({ workspace, dataDir, configDir, home, trusted: false });
});
afterAll(() => {
  restricted.close();
  room.dispose();
  tree.dispose();
});

describe("the gate obeys the table of paths", () => {
  it.each(pathCases.map((one) => [JSON.stringify(one.input).slice(0, 60), one.why, one] as const))("%s: %s", (_input, _why, one) => {
    const path = tree.expand(one.input);
    for (const mode of ["normal", "crusader"] as const) {
      for (const action of ["read", "list"]) {
        expect(room.governance.evaluate(intent("file_ops", action, { path }, { mode })).verdict).toBe(reads[one.expect]);
      }
      for (const action of ["write", "apply_patch"]) {
        expect(room.governance.evaluate(intent("file_ops", action, { path }, { mode })).verdict).toBe(writes[one.expect]);
        expect(restricted.governance.evaluate(intent("file_ops", action, { path }, { mode })).verdict).toBe("deny");
      }
      expect(room.governance.evaluate(intent("file_ops", "delete", { path }, { mode })).verdict).not.toBe("allow");
    }
  });
});
