import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HealthStatus, ProviderHealth } from "../../../agent-server/contract/providers.ts";
import type { ToolProvider } from "../../../agent-server/tools/routing/capabilities.ts";
import type { Health } from "../../../agent-server/tools/routing/provider-health.ts";
import { createPreferences } from "../../../agent-server/tools/routing/provider-preferences.ts";
import { createRouter, implementation } from "../../../agent-server/tools/routing/capability-router.ts";

let dataDir = "";
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-router-"));
  mkdirSync(join(dataDir, "config"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

interface Planted extends Partial<Omit<ToolProvider, "id" | "local">> {
  readonly id: string;
  readonly local?: boolean;
  readonly status?: HealthStatus;
  /** What the next look finds. */
  readonly next?: HealthStatus;
}

function open(planted: Planted[], of: { safe?: boolean; flags?: string[]; yaml?: string; resting?: string[] } = {}) {
  if (of.yaml !== undefined) writeFileSync(join(dataDir, "config/tools.yaml"), of.yaml);
  const looked: string[] = [];
  const seen = new Map(planted.map(({ id, status = "ok" }) => [id, status]));
  const messageOf = (id: string): ProviderHealth => {
    const status = seen.get(id) ?? "unknown";
    return { status, message: `${id} is ${status}.`, nextStep: status === "down" ? `Start ${id}.` : null, checkedAt: null };
  };
  const health: Pick<Health, "of" | "check" | "isCoolingDown"> = {
    of: messageOf,
    check: (id) => {
      looked.push(id);
      seen.set(id, planted.find((one) => one.id === id)?.next ?? (seen.get(id) === "unknown" ? "ok" : (seen.get(id) ?? "ok")));
      return Promise.resolve(messageOf(id));
    },
    isCoolingDown: (id) => of.resting?.includes(id) === true,
  };
  const providers = planted.map(
    ({ local = true, status: _status, next: _next, ...more }): ToolProvider => ({
      title: more.id,
      version: () => "1",
      priority: 10,
      flag: null,
      offers: { shell_exec: { run: () => Promise.reject(new Error(more.id)) } },
      probe: () => Promise.resolve({ status: "ok", message: "", nextStep: null }),
      ...more,
      local: () => local,
    }),
  );
  const router = createRouter({
    providers,
    health: health as Health,
    preferences: createPreferences({ configDir: null, dataDir }),
    flag: (name) => of.flags?.includes(name) === true,
    safeMode: () => of.safe === true,
  });
  return { router, looked, decide: (action = "run") => router.decide({ capability: "shell_exec", action }) };
}

describe("the router chooses", () => {
  it.each<[string, Planted[], Parameters<typeof open>[1], string | null]>([
    [
      "the lower priority",
      [
        { id: "a", priority: 20 },
        { id: "b", priority: 10 },
      ],
      {},
      "b",
    ],
    ["what the owner puts first", [{ id: "a" }, { id: "b" }], { yaml: "version: 1\ncapabilities: { shell_exec: { order: [b] } }" }, "b"],
    [
      "what is not switched off by the owner",
      [{ id: "a" }, { id: "b" }],
      { yaml: "version: 1\ncapabilities: { shell_exec: { off: [a] } }" },
      "b",
    ],
    ["what is up", [{ id: "a", status: "down" }, { id: "b" }], {}, "b"],
    [
      "what is up, though the owner prefers another",
      [{ id: "a", status: "down" }, { id: "b" }],
      { yaml: "version: 1\ncapabilities: { shell_exec: { order: [a] } }" },
      "b",
    ],
    [
      "what works in part rather than nothing",
      [
        { id: "a", status: "down" },
        { id: "b", status: "degraded" },
      ],
      {},
      "b",
    ],
    ["the first in order, though it works in part", [{ id: "a", status: "degraded" }, { id: "b" }], {}, "a"],
    [
      "what needs no flag that is off",
      [
        { id: "a", flag: "TOOLS_HOST_EXECUTION" },
        { id: "b", priority: 99 },
      ],
      {},
      "b",
    ],
    [
      "what has its flag on",
      [
        { id: "a", flag: "TOOLS_HOST_EXECUTION" },
        { id: "b", priority: 99 },
      ],
      { flags: ["TOOLS_HOST_EXECUTION"] },
      "a",
    ],
    ["what works on this machine, in safe mode", [{ id: "a", local: false }, { id: "b" }], { safe: true }, "b"],
    ["what suits the task", [{ id: "a", unsuited: () => "Not for this." }, { id: "b" }], {}, "b"],
    ["nothing, where all are down", [{ id: "a", status: "down" }], {}, null],
    ["nothing of another capability", [{ id: "a", offers: { deploy_ops: {} } }], {}, null],
  ])("%s", (_, planted, of, expected) => {
    const { decide } = open(planted, of);
    expect(decide().provider).toBe(expected);
  });

  it("and gives the reason, and those against the others", () => {
    const { decide } = open([
      { id: "a", status: "down", priority: 5 },
      { id: "b" },
      { id: "c" },
      { id: "d", flag: "TOOLS_HOST_EXECUTION" },
    ]);
    expect(decide()).toEqual({
      provider: "b",
      reason: expect.stringContaining("a is down.") as string,
      alternatives: [
        { provider: "c", usable: true, reason: expect.stringContaining("b") as string },
        { provider: "a", usable: false, reason: "a is down." },
        { provider: "d", usable: false, reason: expect.stringContaining("TOOLS_HOST_EXECUTION") as string },
      ],
    });
  });

  it.each<[string, string, string | undefined, RegExp]>([
    ["no such capability", "telepathy", undefined, /telepathy.*shell_exec, /],
    ["a capability of a later version", "ui_builder", "scaffold", /not part of this version.*write_file/],
    ["another of a later version", "vision_control", undefined, /not part of this version/],
    ["an action nobody does", "shell_exec", "fly", /fly.*: run\./],
    ["no provider", "repo_ops", "status", /Install git/],
  ])("nothing, with a reason: %s", (_, capability, action, messageOf) => {
    const { router } = open([{ id: "a" }]);
    const route = router.decide({ capability, ...(action === undefined ? {} : { action }) });
    expect(route.provider).toBeNull();
    expect(route.reason).toMatch(messageOf);
  });

  it("nothing, with the next step of a provider that is down", async () => {
    const { router } = open([{ id: "a", status: "down" }]);
    await expect(router.choose({ capability: "shell_exec" })).rejects.toMatchObject({
      code: "unavailable",
      message: "a is down. Start a.",
    });
  });

  it("no provider that reports itself as off", () => {
    expect(open([{ id: "a", status: "off" }]).decide().provider).toBeNull();
  });
});

describe("the router checks before the choice", () => {
  it.each<[string, Planted[], string[] | undefined, string[], string | null]>([
    ["nobody, when the first is known to be up", [{ id: "a" }, { id: "b", status: "unknown" }], undefined, [], "a"],
    [
      "one that was never looked at",
      [
        { id: "a", status: "unknown" },
        { id: "b", status: "unknown" },
      ],
      undefined,
      ["a"],
      "a",
    ],
    [
      "the next, when that one is down",
      [
        { id: "a", status: "unknown", next: "down" },
        { id: "b", status: "unknown" },
      ],
      undefined,
      ["a", "b"],
      "b",
    ],
    ["those that are down, when there is no other", [{ id: "a", status: "down", next: "ok" }], undefined, ["a"], "a"],
    ["not those that rest after their failures", [{ id: "a", status: "down", next: "ok" }], ["a"], [], null],
    ["not the same one twice", [{ id: "a", status: "unknown", next: "down" }], undefined, ["a"], null],
  ])("%s", async (_, planted, resting, expected, provider) => {
    const { router, looked } = open(planted, resting === undefined ? {} : { resting });
    const resolved = await router.resolve({ capability: "shell_exec" });
    expect(looked).toEqual(expected);
    expect(resolved.provider?.id ?? null).toBe(provider);
  });

  it("no provider that is not allowed", async () => {
    const { router, looked } = open([{ id: "a", status: "unknown", flag: "TOOLS_HOST_EXECUTION" }]);
    await router.resolve({ capability: "shell_exec" });
    expect(looked).toEqual([]);
  });
});

describe("the user's preferences", () => {
  it("apply as soon as the file is written", () => {
    const { decide } = open([{ id: "a" }, { id: "b" }]);
    expect(decide().provider).toBe("a");
    writeFileSync(join(dataDir, "config/tools.yaml"), "version: 1\ncapabilities:\n  shell_exec: { order: [b], off: [a] }\n");
    expect(decide()).toMatchObject({
      provider: "b",
      alternatives: [{ provider: "a", reason: expect.stringContaining("config/tools.yaml") as string }],
    });
  });

  it.each<[string, string]>([
    ["no YAML", "version: ["],
    ["another version", "version: 2\n"],
    ["an unknown word", "version: 1\ncapability: {}\n"],
    ["an unknown capability", "version: 1\ncapabilities: { shell: { off: [a] } }\n"],
    ["a list that is none", "version: 1\ncapabilities: { shell_exec: { off: a } }\n"],
    ["an alias that grows", `version: 1\na: &a [x]\ncapabilities: { shell_exec: { off: *a } }\n`],
  ])("%s: nothing that it could have turned off is used, with a message that names the file", (_, yaml) => {
    const files = { id: "files", offers: { file_ops: { list: () => Promise.resolve([]) } } };
    const web = { id: "web", offers: { web_ops: { fetch: () => Promise.reject(new Error("web")) } } };
    const { decide, router } = open([{ id: "a" }, files, web], { yaml });
    expect(decide().provider).toBeNull();
    expect(router.decide({ capability: "web_ops" }).provider).toBeNull();
    expect(decide().reason).toMatch(/^config\/tools\.yaml /);
    expect(decide().reason).not.toContain(dataDir);
    expect(router.decide({ capability: "file_ops" }).provider).toBe("files");
    expect(router.problem({ capability: "shell_exec" })).toContain("config/tools.yaml");
  });

  it("turn nothing on that is off in the shipped file", () => {
    const configDir = join(dataDir, "shipped");
    mkdirSync(configDir);
    writeFileSync(join(configDir, "tools.yaml"), "version: 1\ncapabilities:\n  shell_exec: { order: [a], off: [b] }\n");
    writeFileSync(join(dataDir, "config/tools.yaml"), "version: 1\ncapabilities:\n  shell_exec: { order: [b], off: [c] }\n");
    const { off, place } = createPreferences({ configDir, dataDir });
    expect(["a", "b", "c"].map((id) => off("shell_exec", id))).toEqual([false, true, true]);
    expect([place("shell_exec", "a"), place("shell_exec", "b")]).toEqual([null, 0]);
  });

  it("the shipped file can be used", () => {
    const shipped = createPreferences({ configDir: join(import.meta.dirname, "../../../config"), dataDir });
    expect(shipped.place("shell_exec", "container")).toBe(0);
    expect(shipped.problem()).toBeNull();
  });
});

describe("whatever the providers are like", () => {
  const status = fc.constantFrom<HealthStatus>("ok", "degraded", "down", "off", "unknown");
  const planted = fc.uniqueArray(
    fc.record({ id: fc.constantFrom("a", "b", "c", "d", "e"), priority: fc.nat(3), local: fc.boolean(), status, flagged: fc.boolean() }),
    { selector: ({ id }) => id, minLength: 1 },
  );

  it("the choice is usable, first by the order that was asked for, and every provider is named once", () => {
    fc.assert(
      fc.property(planted, fc.boolean(), fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e")), (list, safe, order) => {
        const all = list.map(({ flagged, ...one }) => ({ ...one, flag: flagged ? ("TOOLS_HOST_EXECUTION" as const) : null }));
        const { decide, router } = open(all, {
          safe,
          yaml: `version: 1\ncapabilities: { shell_exec: { order: ${JSON.stringify(order)} } }`,
        });
        const usable = all.filter((one) => one.flag === null && (!safe || one.local) && one.status !== "down" && one.status !== "off");
        const names: readonly string[] = order;
        const place = (id: string) => (names.includes(id) ? names.indexOf(id) : names.length);
        const best = usable.toSorted((one, two) => place(one.id) - place(two.id) || one.priority - two.priority)[0];
        const route = decide();
        const chosen = usable.find(({ id }) => id === route.provider);
        expect(route.provider === null).toBe(best === undefined);
        if (best !== undefined && chosen !== undefined)
          expect([place(chosen.id), chosen.priority]).toEqual([place(best.id), best.priority]);
        expect([route.provider, ...route.alternatives.map(({ provider }) => provider)].filter((id) => id !== null).sort()).toEqual(
          all.map(({ id }) => id).sort(),
        );
        expect(route.alternatives.filter((one) => one.usable).map(({ provider }) => provider)).toEqual(
          router
            .candidates({ capability: "shell_exec" })
            .map(({ id }) => id)
            .filter((id) => id !== route.provider),
        );
        expect(route.reason).not.toBe("");
      }),
    );
  });
});

it("an action is done by what implements it", () => {
  const run = () => Promise.reject(new Error("never"));
  const { router } = open([{ id: "a", offers: { shell_exec: { run } } }]);
  const [provider] = router.candidates({ capability: "shell_exec" });
  expect(provider === undefined ? null : implementation(provider, "shell_exec", "run")).toBe(run);
  expect(router.providers()).toMatchObject([{ id: "a", capabilities: [{ capability: "shell_exec", actions: ["run"] }] }]);
});
