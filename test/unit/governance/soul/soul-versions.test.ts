import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createSoulFixture, shippedSoul, type SoulFixture } from "../../../support/soul-fixture.ts";

const fixtures: SoulFixture[] = [];
function fixture(...args: Parameters<typeof createSoulFixture>): SoulFixture {
  const made = createSoulFixture(...args);
  fixtures.push(made);
  return made;
}
const beside = (one: SoulFixture): SoulFixture => {
  const made = one.beside();
  fixtures.push(made);
  return made;
};
afterEach(() => {
  for (const one of fixtures.splice(0)) one.dispose();
});

const pushFree = shippedSoul.replace("    - push\n", "");
const deleting = { kind: "delete_files", capability: "file_ops", action: "delete", tags: ["write", "delete"] } as const;
const pushing = { kind: "push", capability: "repo_ops", action: "push", tags: ["push", "network"] } as const;

describe("the first start", () => {
  it("copies the soul that ships and is ruled by it", () => {
    const { soul, read, folder } = fixture();
    expect(read("ACTIVE")).toBe("v1\n");
    expect(read("soul_versions/soul_v1.yaml")).toBe(shippedSoul);
    expect(readdirSync(folder).sort()).toEqual(["ACTIVE", "soul_versions"]);
    expect(soul.status()).toEqual({ activeVersion: "v1", versions: ["v1"], pendingProposals: [], problem: null });
    expect(soul.active()?.requiresApproval(deleting)).toBe("delete");
    expect(soul.get()).toMatchObject({ version: "v1", yaml: shippedSoul, active: true });
  });

  it("takes a soul that is there already, and leaves it as it is", () => {
    const first = fixture();
    first.close();
    rmSync(join(first.base, "data"), { recursive: true });
    mkdirSync(join(first.base, "data/soul/soul_versions"), { recursive: true });
    const mine = pushFree.replace("version: v1", "version: v7");
    writeFileSync(join(first.base, "data/soul/soul_versions/soul_v7.yaml"), mine);
    writeFileSync(join(first.base, "data/soul/ACTIVE"), "v7");
    const { soul } = fixture({}, first.base);
    expect(soul.status()).toMatchObject({ activeVersion: "v7", versions: ["v7"], problem: null });
    expect(soul.active()?.requiresApproval(pushing)).toBeNull();
  });

  it("of two hosts at once is the same for both", () => {
    const first = fixture();
    const second = beside(first);
    expect(second.soul.active()?.sha256).toBe(first.soul.active()?.sha256);
    expect(second.receipts()).toEqual([]);
  });
});

describe("a soul that is activated", () => {
  it("is a new file with its own number, and rules the next decision in every window", () => {
    const here = fixture();
    const there = beside(here);
    expect(there.soul.active()?.requiresApproval(pushing)).toBe("push");
    expect(here.adopt(pushFree)).toBe("v2");
    expect(here.read("ACTIVE")).toBe("v2\n");
    expect(here.read("soul_versions/soul_v2.yaml")).toBe(pushFree.replace("version: v1", "version: v2"));
    expect(here.read("soul_versions/soul_v1.yaml")).toBe(shippedSoul);
    expect(here.soul.active()?.requiresApproval(pushing)).toBeNull();
    expect(there.soul.active()?.requiresApproval(pushing)).toBeNull();
    expect(there.soul.active()?.version).toBe("v2");
    expect(there.events.at(-1)).toMatchObject({ activeVersion: "v2" });
    expect(here.receipts()).toEqual(["soul.propose success", "soul.approve success", "soul.activate success"]);
  });

  it("is seen by number: v10 after v9", () => {
    const one = fixture();
    for (let index = 0; index < 10; index += 1) one.adopt(shippedSoul.replace("Plain, brief", `Plain (${index}), brief`));
    expect(one.soul.status()).toMatchObject({
      activeVersion: "v11",
      versions: ["v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11"],
    });
  });

  it("survives a restart", () => {
    const one = fixture();
    one.adopt(pushFree);
    one.close();
    expect(fixture({}, one.base).soul.active()?.requiresApproval(pushing)).toBeNull();
  });

  it("goes back to an earlier version, and on from there to a new number", () => {
    const one = fixture();
    one.adopt(pushFree);
    expect(one.soul.rollback("v1")).toMatchObject({ activeVersion: "v1", versions: ["v1", "v2"] });
    expect(one.soul.active()?.requiresApproval(pushing)).toBe("push");
    expect(one.adopt(pushFree.replace("Plain, brief", "Brief"))).toBe("v3");
    expect(one.soul.rollback("v2")).toMatchObject({ activeVersion: "v2" });
    expect(one.receipts().filter((name) => name.startsWith("soul.rollback"))).toHaveLength(2);
    expect(() => one.soul.rollback("v2")).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(() => one.soul.rollback("v9")).toThrow(expect.objectContaining({ code: "not_found" }));
  });
});

describe("a changed soul folder", () => {
  const broken: readonly (readonly [string, (fixture: SoulFixture) => void, RegExp])[] = [
    ["a version file edited by hand", (one) => one.write("soul_versions/soul_v2.yaml", shippedSoul), /soul_v2\.yaml/],
    ["a version file that is gone", (one) => rmSync(join(one.folder, "soul_versions/soul_v2.yaml")), /soul_v2\.yaml is missing/],
    ["a version file that is no YAML", (one) => one.write("soul_versions/soul_v2.yaml", "a: [\n"), /soul_v2\.yaml/],
    ["a version file that is not UTF-8", (one) => one.write("soul_versions/soul_v2.yaml", Buffer.from([0x61, 0xff, 0xfe])), /UTF-8/],
    [
      "a version file that is a link",
      (one) => {
        rmSync(join(one.folder, "soul_versions/soul_v2.yaml"));
        symlinkSync("soul_v1.yaml", join(one.folder, "soul_versions/soul_v2.yaml"));
      },
      /link/,
    ],
    ["ACTIVE that is gone", (one) => rmSync(join(one.folder, "ACTIVE")), /ACTIVE is missing/],
    ["ACTIVE that says nothing", (one) => one.write("ACTIVE", ""), /does not hold a version/],
    ["ACTIVE that says something else", (one) => one.write("ACTIVE", "../../../etc/passwd"), /does not hold a version/],
    ["ACTIVE that is very long", (one) => one.write("ACTIVE", "v1".repeat(10_000)), /too long/],
    ["ACTIVE that names no file", (one) => one.write("ACTIVE", "v8"), /soul_v8\.yaml is missing/],
    [
      "ACTIVE that is a link",
      (one) => {
        rmSync(join(one.folder, "ACTIVE"));
        writeFileSync(join(one.folder, "other"), "v1");
        symlinkSync("other", join(one.folder, "ACTIVE"));
      },
      /link/,
    ],
    [
      "ACTIVE that is a folder",
      (one) => {
        rmSync(join(one.folder, "ACTIVE"));
        mkdirSync(join(one.folder, "ACTIVE"));
      },
      /is not a file/,
    ],
    [
      "ACTIVE that names a soul the lint refuses",
      (one) => {
        one.write(
          "soul_versions/soul_v3.yaml",
          shippedSoul.replace("version: v1", "version: v3").replace("channels: [war_room, chat, notification, terminal]", "channels: []"),
        );
        one.write("ACTIVE", "v3");
      },
      /soul_v3\.yaml cannot be used.*channels/,
    ],
    [
      "ACTIVE that names a file with another version in it",
      (one) => {
        one.write("soul_versions/soul_v3.yaml", shippedSoul);
        one.write("ACTIVE", "v3");
      },
      /soul_v3\.yaml.* v1\b/,
    ],
    ["a soul folder that is gone", (one) => rmSync(one.folder, { recursive: true }), /ACTIVE is missing/],
  ];

  it.each(broken)(
    "%s: the previous soul stays active, here and after a restart, and the problem is recorded once",
    (_name, harm, message) => {
      const one = fixture();
      one.adopt(pushFree);
      const before = one.soul.active();
      const reported = one.events.length;
      harm(one);
      expect(one.soul.status()).toMatchObject({ activeVersion: "v2" });
      expect(one.soul.status().problem).toMatch(message);
      expect(one.soul.active()).toBe(before);
      expect(one.events.slice(reported)).toHaveLength(1);
      expect(one.receipts().filter((name) => name === "soul.check failure")).toHaveLength(1);

      const again = beside(one);
      expect(again.soul.active()?.requiresApproval(pushing)).toBeNull();
      expect(again.soul.status().problem).toMatch(message);
      expect(again.receipts().filter((name) => name === "soul.check failure")).toHaveLength(1);
      expect(again.logged).toEqual([]);
    },
  );

  it("a change of ACTIVE rules the very next decision, without anybody calling status", () => {
    const one = fixture();
    one.adopt(pushFree);
    one.write("ACTIVE", "v1\n");
    expect(one.soul.active()?.requiresApproval(pushing)).toBe("push");
    one.write("ACTIVE", "v8\n");
    expect(one.soul.active()?.version).toBe("v1");
    one.write("ACTIVE", "v2\n");
    expect(one.soul.active()?.version).toBe("v2");
    expect(one.soul.status().problem).toBeNull();
    // What a hand did is in the ledger as well, once each, and so is that a problem came and went.
    expect(one.receipts().slice(3)).toEqual(["soul.found success", "soul.check failure", "soul.found success", "soul.check success"]);
  });

  it("unfinished files of hosts that died are removed, when they are old enough to be nobody's", () => {
    const one = fixture();
    const name = (digit: string) => `.${digit.repeat(8)}-0000-4000-8000-000000000000.tmp`;
    for (const at of [name("a"), `soul_versions/${name("b")}`, name("c"), "notes.tmp"]) one.write(at, "x");
    const old = new Date(Date.now() - 3_600_000);
    for (const at of [name("a"), `soul_versions/${name("b")}`, "notes.tmp"]) utimesSync(join(one.folder, at), old, old);
    beside(one);
    expect(readdirSync(one.folder).sort()).toEqual([name("c"), "ACTIVE", "notes.tmp", "soul_versions"].sort());
    expect(readdirSync(join(one.folder, "soul_versions"))).toEqual(["soul_v1.yaml"]);
  });

  it("where the folder cannot be made, the host starts, and the soul that ships is active", () => {
    const first = fixture();
    first.close();
    rmSync(join(first.base, "data"), { recursive: true });
    mkdirSync(join(first.base, "data"));
    writeFileSync(join(first.base, "data/soul"), "a file");
    const one = fixture({}, first.base);
    expect(one.soul.active()?.requiresApproval(pushing)).toBe("push");
    expect(one.soul.status().problem).toEqual(expect.any(String));
    expect(one.logged).not.toEqual([]);
  });

  it("a version put there by hand is signed when ACTIVE first names it, and cannot be changed after", () => {
    const one = fixture();
    const mine = pushFree.replace("version: v1", "version: v4");
    one.write("soul_versions/soul_v4.yaml", mine);
    one.write("ACTIVE", "v4");
    expect(one.soul.active()?.requiresApproval(pushing)).toBeNull();
    one.write("soul_versions/soul_v4.yaml", mine.replace("    - deploy\n    - publish\n", "    - deploy\n"));
    expect(one.soul.status().problem).toMatch(/soul_v4\.yaml/);
    expect(one.soul.active()?.document.autonomy_posture.requires_approval).toContain("publish");
    expect(one.adopt(shippedSoul.replace("Plain, brief", "Brief"))).toBe("v5");
    expect(one.soul.status().problem).toBeNull();
  });

  it("a lost file comes back when its version is activated again; one that says something else is not overwritten", () => {
    const one = fixture();
    one.adopt(pushFree);
    rmSync(join(one.folder, "soul_versions/soul_v2.yaml"));
    expect(one.soul.rollback("v2")).toMatchObject({ activeVersion: "v2", problem: null });
    expect(existsSync(join(one.folder, "soul_versions/soul_v2.yaml"))).toBe(true);
    one.write("soul_versions/soul_v1.yaml", "mine");
    expect(() => one.soul.rollback("v1")).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(one.read("soul_versions/soul_v1.yaml")).toBe("mine");
    expect(one.soul.active()?.version).toBe("v2");
  });

  it("with nothing that can be used, the soul that ships is active", () => {
    const base = fixture();
    base.close();
    rmSync(join(base.base, "data"), { recursive: true });
    mkdirSync(join(base.base, "data/soul/soul_versions"), { recursive: true });
    writeFileSync(join(base.base, "data/soul/soul_versions/soul_v1.yaml"), "nonsense");
    writeFileSync(join(base.base, "data/soul/ACTIVE"), "v1");
    const { soul } = fixture({}, base.base);
    expect(soul.active()?.requiresApproval(pushing)).toBe("push");
    expect(soul.status().problem).toEqual(expect.any(String));
  });

  it("without even that, everything is asked and nothing is thrown", () => {
    const base = fixture();
    base.close();
    rmSync(join(base.base, "data"), { recursive: true });
    rmSync(join(base.base, "product/soul"), { recursive: true });
    mkdirSync(join(base.base, "data"));
    const { soul } = fixture({}, base.base);
    const active = soul.active();
    expect(active?.requiresApproval({ kind: "read_files", capability: "file_ops", action: "read", tags: ["read"] })).toBe("everything");
    expect(active?.allows({ kind: "read_files", capability: "file_ops", action: "read", tags: ["read"] })).toBeNull();
    expect(soul.status()).toMatchObject({ activeVersion: null, problem: expect.any(String) as string });
  });

  it("while the database does not answer, what is active stays, and it is looked at again by itself", () => {
    let at = Date.now();
    const one = fixture({ now: () => at });
    one.adopt(pushFree);
    one.storage.db.exec("ALTER TABLE soul_versions RENAME TO away");
    one.write("ACTIVE", "v1\n");
    expect(one.soul.active()?.version).toBe("v2");
    expect(one.soul.problem()).toContain("v2");
    one.storage.db.exec("ALTER TABLE away RENAME TO soul_versions");
    expect(one.soul.active()?.version).toBe("v2");
    // Nobody touches ACTIVE again.
    at += 1000;
    expect(one.soul.active()?.version).toBe("v1");
    expect(one.soul.problem()).toBeNull();
  });

  it("with a broken table of words, everything is asked and nothing is permitted", () => {
    const base = fixture();
    base.close();
    writeFileSync(join(base.base, "product/config/governance.yaml"), "soul_terms: {names: [], words: []}\n");
    const { soul } = fixture({}, base.base);
    expect(soul.active()?.requiresApproval({ kind: "plan", capability: "quest", action: "plan", tags: [] })).not.toBeNull();
    expect(soul.active()?.allows({ kind: "read_files", capability: "file_ops", action: "read", tags: ["read"] })).toBeNull();
    expect(soul.status().problem).toMatch(/governance\.yaml/);
  });
});

describe("with the flag off", () => {
  it("no soul is active, its state can be read, and nothing can be changed", () => {
    let on = false;
    const { soul } = fixture({ enabled: () => on });
    expect(soul.active()).toBeNull();
    expect(soul.status()).toEqual({ activeVersion: null, versions: ["v1"], pendingProposals: [], problem: null });
    expect(soul.get().active).toBe(false);
    for (const act of [
      () => soul.propose({ yaml: pushFree, reason: "x", by: "owner" as const, questId: null }),
      () => soul.rollback("v1"),
      () => soul.approve("x"),
      () => soul.activate("x"),
    ]) {
      expect(act).toThrow(expect.objectContaining({ code: "disabled" }) as Error);
    }
    on = true;
    expect(soul.active()?.version).toBe("v1");
  });
});
