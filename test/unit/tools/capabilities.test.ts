import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { baseTiers } from "../../../agent-server/governance/base-tiers.ts";
import { createFailover, isFault } from "../../../agent-server/tools/routing/provider-failover.ts";
import {
  type ActionOf,
  actionsOf,
  capabilities,
  isCapability,
  type ToolProvider,
} from "../../../agent-server/tools/routing/capabilities.ts";
import { catalog } from "../../../agent-server/tools/catalog/catalog.ts";
import { LancelotError, errorCodes } from "../../../agent-server/contract/errors.ts";
import { createHealth } from "../../../agent-server/tools/routing/provider-health.ts";
import { createPreferences } from "../../../agent-server/tools/routing/provider-preferences.ts";
import { createRouter } from "../../../agent-server/tools/routing/capability-router.ts";
import { plainShell } from "../../support/tools/plain-shell.ts";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

describe("the seven capabilities", () => {
  let fixture: ToolsFixture;
  beforeEach(() => {
    fixture = createToolsFixture({ given: { shells: [plainShell("one")] } });
  });
  afterEach(() => fixture.close());

  it("match those of governance, which has a tier for every declared action", () => {
    for (const name of Object.keys(capabilities)) expect(baseTiers).toHaveProperty(name);
    for (const { id, capabilities: declared } of fixture.tools.routing.providers()) {
      for (const { capability, actions } of declared) {
        const known = Object.keys(baseTiers[capability] ?? {});
        if (!known.includes("*")) expect([id, actions.filter((action) => !known.includes(action))]).toEqual([id, []]);
        expect(actions).not.toEqual([]);
      }
    }
  });

  it("have providers, except those of a later version", async () => {
    const provided = new Set(
      fixture.tools.routing.providers().flatMap((provider) => provider.capabilities.map(({ capability }) => capability)),
    );
    expect(Object.keys(capabilities).filter((name) => !provided.has(name))).toEqual(["ui_builder", "vision_control"]);
    for (const name of ["ui_builder", "vision_control"])
      expect(await fixture.tools.routing.route(name, undefined)).toMatchObject({
        provider: null,
        reason: expect.stringMatching(/not part of this version.*\./) as string,
      });
  });

  it("have a provider for every tool of the catalog that uses one", () => {
    const providers = fixture.tools.routing.providers();
    const homeless = catalog.filter(({ capability, action, routed, provider }) => {
      // The editor is asked where it is there, and a background command where it runs; nothing chooses them.
      if (!isCapability(capability) || ["editor", "background"].includes(provider.name)) return false;
      const fits = providers.filter(({ capabilities: declared }) =>
        declared.some((one) => one.capability === capability && (routed !== true || one.actions.includes(action))),
      );
      return !fits.some(({ id }) => routed === true || id === provider.name);
    });
    expect(homeless.map(({ name }) => name)).toEqual([]);
  });
});

/** Typed, so that an action that does not exist does not compile. */
const run: ActionOf<"shell_exec"> = "run";

function planted(id: string, act: () => Promise<never>, more: Partial<ToolProvider> = {}): ToolProvider {
  return {
    id,
    title: id,
    version: () => null,
    priority: 10,
    local: () => true,
    flag: null,
    offers: { shell_exec: { run: act } },
    probe: () => Promise.resolve({ status: "ok", message: "", nextStep: null }),
    ...more,
  };
}

function openFailover(providers: ToolProvider[]) {
  const names: string[] = [];
  const record = (opening: { actionName: string }) => {
    names.push(opening.actionName);
    return "id";
  };
  const shared = { ledger: { record }, log: () => undefined };
  const health = createHealth({ providers, emit: () => undefined, ...shared });
  const preferences = createPreferences({ configDir: null, dataDir: "/nowhere" });
  const router = createRouter({ providers, health, preferences, flag: () => false, safeMode: () => false });
  return { runOnProvider: createFailover({ router, health, ...shared, graceMs: 20 }), health, names };
}

const call = { questId: null, parentId: null, signal: new AbortController().signal };
const broken = () => Promise.reject(new LancelotError("unavailable", "It broke."));
const command = null as never;

describe("failover", () => {
  it("continues with the next provider after a repeatable action started", async () => {
    const { runOnProvider } = openFailover([planted("a", broken), planted("b", () => Promise.resolve(7 as never))]);
    const use = async (act: (command: never) => Promise<unknown>, begin: () => void) => {
      begin();
      return act(command);
    };
    await expect(runOnProvider("shell_exec", run, call, (act, { begin }) => use(act, begin))).rejects.toMatchObject({
      data: { begun: true },
    });
    const { value, tried } = await runOnProvider("shell_exec", run, { ...call, repeatable: true }, (act, { begin }) => use(act, begin));
    expect([value, tried]).toEqual([7, [{ provider: "a", reason: "It broke." }]]);
  });

  it.each(errorCodes.map((code) => [code] as const))("after %s continues only if the provider caused it", async (code) => {
    const fault = code === "unavailable" || code === "internal";
    const { runOnProvider, names } = openFailover([
      planted("a", () => Promise.reject(new LancelotError(code, "No."))),
      planted("b", () => Promise.resolve(7 as never)),
    ]);
    const done = runOnProvider("shell_exec", run, call, (act) => act(command)).then(
      ({ value }) => value as unknown,
      (error: unknown) => (error instanceof LancelotError ? error.code : error),
    );
    expect(await done).toBe(fault ? 7 : code);
    expect(names).toEqual(fault ? ["route.failover"] : []);
  });

  it("starts with the provider that was shown to the user", async () => {
    const { runOnProvider } = openFailover([
      planted("a", () => Promise.resolve("a" as never)),
      planted("b", () => Promise.resolve("b" as never)),
    ]);
    const b = planted("b", () => Promise.resolve("b" as never));
    expect((await runOnProvider("shell_exec", run, { ...call, planned: b }, (act) => act(command))).value).toBe("b");
  });

  it("does nothing when the call was stopped before", async () => {
    const { runOnProvider } = openFailover([planted("a", () => Promise.resolve(7 as never))]);
    let used = false;
    const stopped = runOnProvider("shell_exec", run, { ...call, signal: AbortSignal.abort() }, () => {
      used = true;
      return Promise.resolve();
    });
    await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    expect(used).toBe(false);
  });

  it("continues after a network failure without counting it as a provider failure", async () => {
    const { runOnProvider, health } = openFailover([planted("a", broken), planted("b", () => Promise.resolve(7 as never))]);
    const profile = { network: true, unattended: false };
    for (let time = 0; time < 4; time += 1)
      expect((await runOnProvider("shell_exec", run, { ...call, profile }, (act) => act(command))).value).toBe(7);
    expect(health.of("a").status).toBe("ok");
  });

  it("never continues with a provider that does not permit it", async () => {
    const onHost = planted("b", () => Promise.resolve(7 as never), { allowsFailover: false });
    const { runOnProvider, names } = openFailover([planted("a", broken), onHost]);
    const done = runOnProvider("shell_exec", run, call, (act) => act(command));
    await expect(done).rejects.toMatchObject({ code: "unavailable", data: { tried: [{ provider: "a" }] } });
    expect(names).toEqual([]);
  });

  it("gives up a provider that does not start in time, which then can no longer start", async () => {
    const { promise: ran, resolve } = Promise.withResolvers<string>();
    const { runOnProvider } = openFailover([planted("a", broken), planted("b", () => Promise.resolve(7 as never))]);
    const { value } = await runOnProvider("shell_exec", run, { ...call, beginMs: 1 }, async (act, { provider, signal, begin }) => {
      if (provider.id === "b") return act(command);
      await once(signal, "abort");
      try {
        begin();
        resolve("started");
      } catch (error) {
        resolve(error instanceof LancelotError ? error.code : "failed");
      }
      return act(command);
    });
    expect([value, await ran]).toEqual([7, "cancelled"]);
  });

  it("uses the provider's own definition of its faults", () => {
    const web = planted("a", broken, { blames: (error) => error instanceof TypeError });
    expect([isFault(web, new LancelotError("unavailable", "x")), isFault(web, new TypeError("x"))]).toEqual([false, true]);
    expect(actionsOf(web, "shell_exec")).toEqual(["run"]);
    expect(actionsOf(web, "web_ops")).toEqual([]);
  });
});
