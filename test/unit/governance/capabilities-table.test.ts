import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../support/governance-fixture.ts";
import { createPathWorkspace, type PathWorkspace } from "../../support/path-workspace.ts";

const Row = z.strictObject({
  capability: z.string(),
  action: z.string(),
  args: z.record(z.string(), z.unknown()),
  expect: z.enum(["allow", "ask", "deny", "not_allow"]),
  tier: z.enum(["T0", "T1", "T2", "T3"]).optional(),
  risk: z.enum(["low", "medium", "high", "critical"]).optional(),
  /** On unless said. */
  network: z.boolean().default(true),
  trusted: z.boolean().default(true),
  why: z.string(),
});

const rows = z.array(Row).parse(parse(readFileSync(join(import.meta.dirname, "../../fixtures/capabilities.yaml"), "utf8")));

let tree: PathWorkspace;
const rooms = new Map<string, GovernanceFixture>();

beforeAll(async () => {
  tree = await createPathWorkspace();
  const { workspace, dataDir, home } = tree;
  const first = createGovernanceFixture({ workspace, dataDir, home, networkEnabled: () => true });
  rooms.set("true true", first);
  rooms.set("false true", first.beside({ networkEnabled: () => false }));
  rooms.set("true false", first.beside({ trusted: false }));
});
afterAll(() => {
  rooms.get("false true")?.close();
  rooms.get("true false")?.close();
  rooms.get("true true")?.dispose();
  tree.dispose();
});

function expanded(value: unknown): unknown {
  if (typeof value === "string") return tree.expand(value);
  if (Array.isArray(value)) return value.map(expanded);
  return value;
}

describe("the gate obeys the table of capabilities", () => {
  it("has the rows it promises", () => {
    expect(rows.length).toBeGreaterThanOrEqual(100);
  });

  it.each(
    rows.map((row) => [`${row.capability}.${row.action} ${JSON.stringify(row.args).slice(0, 70)}`, row.expect, row.why, row] as const),
  )("%s: %s, %s", (_title, _expect, _why, row) => {
    const room = rooms.get(`${row.network} ${row.trusted}`);
    if (room === undefined) throw new Error("no room for this row");
    const args = Object.fromEntries(Object.entries(row.args).map(([name, value]) => [name, expanded(value)]));
    const verdicts = (["normal", "crusader"] as const).map((mode) =>
      room.governance.evaluate(intent(row.capability, row.action, args, { mode })),
    );
    for (const decision of verdicts) {
      if (row.expect === "not_allow") expect(decision.verdict).not.toBe("allow");
      else expect(decision.verdict).toBe(row.expect);
      if (row.tier !== undefined) expect(decision.tier).toBe(row.tier);
      if (row.risk !== undefined) expect(decision.riskLevel).toBe(row.risk);
      expect(decision.rules.length).toBeGreaterThan(0);
      for (const rule of decision.rules) expect(rule.message).toMatch(/^\S.{8,}[.!?)]$/s);
      if (decision.verdict !== "allow") expect(decision.alternatives.length).toBeGreaterThan(0);
    }
  });
});
