// @module-tag ordinary-user
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createPathPolicy } from "../../agent-server/governance/policy/path-policy.ts";

/** The system shows everything to root. */
it("a path the system does not show to an ordinary user is refused with a message", () => {
  expect(ordinary).toBe(true);
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-words-")));
  const closed = join(base, "proj/closed");
  mkdirSync(join(closed, "deep"), { recursive: true });
  mkdirSync(join(base, "proj/src"));
  const configDir = join(import.meta.dirname, "../../config");
  const policy = createPathPolicy({ workspace: join(base, "proj"), dataDir: join(base, "data"), configDir, home: join(base, "home") });
  chmodSync(closed, 0o000);
  try {
    const refused = { ok: false, rule: "path.unreadable" };
    expect(policy.resolve("closed/deep")).toMatchObject(refused);
    expect(policy.resolve("src/../closed/new")).toMatchObject(refused);
  } finally {
    chmodSync(closed, 0o700);
    rmSync(base, { recursive: true, force: true });
  }
});
