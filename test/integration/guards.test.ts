import { expect, it } from "vitest";
import { guards } from "../support/guards/guards.ts";
import { tryGuard } from "../support/guards/main.ts";
import { soak } from "../support/soak.ts";

// The rows of docs/security.md: the test that is named for a guard fails when the guard is gone. That each guard stands where it is said to
// stand is in test/unit/security/guards.test.ts. Each row takes two runs of its test, so that all of them are left to the soak.

for (const guard of soak ? guards : guards.slice(0, 1))
  it(`${guard.row}: ${guard.test} fails without the guard of ${guard.file}`, async () => {
    const kept = await tryGuard(guard, false);
    expect(kept.failed).toEqual([]);
    expect(kept.passed).toBeGreaterThan(0);
    expect((await tryGuard(guard, true)).failed).not.toEqual([]);
  });
