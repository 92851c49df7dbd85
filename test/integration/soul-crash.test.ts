import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createSoulFixture, shippedSoul, type SoulFixture } from "../support/soul-fixture.ts";

const pushFree = shippedSoul.replace("    - push\n", "");
const pushing = { kind: "push", capability: "repo_ops", action: "push", tags: ["push"] } as const;

describe("a host killed while it activates a soul", () => {
  let fixture: SoulFixture;
  afterEach(() => fixture.dispose());

  async function activateAndDie(base: string, id: string, step: string): Promise<string | null> {
    const child = spawn(process.execPath, [join(import.meta.dirname, "../support/soul-activate.ts"), base, id, step], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [, signal] = (await once(child, "exit")) as [number | null, string | null];
    return signal;
  }

  it.each([
    ["prepared", "v1"],
    ["written", "v1"],
    ["pointed", "v2"],
  ])("when it was %s: soul %s is in force, in the window that lives and after a restart", async (step, version) => {
    fixture = createSoulFixture();
    const { id } = fixture.soul.propose({ yaml: pushFree, reason: "A test.", by: "owner", questId: null });
    fixture.soul.approve(id);
    expect(await activateAndDie(fixture.base, id, step)).toBe("SIGKILL");

    // The other window decides by what ACTIVE says, before anybody has put things right.
    expect(fixture.soul.active()?.version).toBe(version);
    expect(fixture.soul.active()?.requiresApproval(pushing) === null).toBe(version === "v2");

    const next = fixture.beside();
    try {
      next.ledger.reconcile();
      expect(next.soul.status()).toMatchObject({
        activeVersion: version,
        versions: version === "v2" ? ["v1", "v2"] : ["v1"],
        problem: null,
      });
      expect(readdirSync(next.folder).sort()).toEqual(["ACTIVE", "soul_versions"]);
      expect(readdirSync(join(next.folder, "soul_versions")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
      const [proposal] = next.soul.proposals({ limit: 1 });
      expect(proposal?.status).toBe(version === "v2" ? "activated" : "approved");
      expect(next.receipts().at(-1)).toBe(version === "v2" ? "soul.activate success" : "soul.activate failure");
      expect(await next.ledger.verify()).toMatchObject({ ok: true });
      if (version === "v1") expect(next.soul.activate(id).toVersion).toBe("v2");
      expect(fixture.soul.active()?.requiresApproval(pushing)).toBeNull();
      expect(next.read("soul_versions/soul_v2.yaml")).toBe(pushFree.replace("version: v1", "version: v2"));
    } finally {
      next.close();
    }
  });

  it("keeps no other window from activating afterwards", async () => {
    fixture = createSoulFixture();
    const { id } = fixture.soul.propose({ yaml: pushFree, reason: "A test.", by: "owner", questId: null });
    fixture.soul.approve(id);
    expect(await activateAndDie(fixture.base, id, "written")).toBe("SIGKILL");
    expect(fixture.soul.activate(id)).toMatchObject({ status: "activated", toVersion: "v2" });
    expect(fixture.soul.active()?.version).toBe("v2");
  });
});
