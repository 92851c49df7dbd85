import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelEvent } from "../../agent-server/models/models.ts";
import { checkedLookup } from "../../agent-server/security/addresses.ts";
import { createGatedFetch } from "../../agent-server/security/security.ts";
import { inOrder } from "../support/model-server/script.ts";
import { startModelServer, type ModelServer } from "../support/model-server/server.ts";
import type { Fault, Script } from "../support/model-server/turn.ts";
import { ask, createModelsFixture, failure, localIn, type ModelsFixture } from "../support/models-fixture.ts";
import { freePort } from "../support/free-port.ts";

const keys = { ANTHROPIC_API_KEY: "key-a", OPENAI_API_KEY: "key-o", GEMINI_API_KEY: "key-g" };
const chat = { type: "chat", text: "Hello" };

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

async function start(script: Script, port = 0): Promise<ModelServer> {
  const server = await startModelServer({ script, port });
  open.push(server);
  return server;
}

type Options = NonNullable<Parameters<typeof createModelsFixture>[0]>;
function fixtureOf(providers: string, options: Options = {}): ModelsFixture {
  const made = createModelsFixture({ yaml: `active: work\nproviders:\n${providers}`, keys, ...options });
  open.push(made);
  return made;
}

const work = (server: ModelServer): string =>
  `  work: { kind: anthropic, display_name: Work, base_url: "${server.url("anthropic")}", fast: { model: quick } }\n`;
const spare = (server: ModelServer): string =>
  `  spare: { kind: openai, display_name: Spare, base_url: "${server.url("openai")}", fast: { model: spare-quick } }\n`;
const third = (server: ModelServer): string =>
  `  third: { kind: gemini, display_name: Third, base_url: "${server.url("gemini")}", fast: { model: third-quick } }\n`;

const run = (made: ModelsFixture, signal?: AbortSignal) => ask(made.models, {}, signal, { task: chat });
const rules = (made: ModelsFixture) =>
  made.models.router.decisions({ limit: 50 }).items.map(({ rule, provider, success }) => [rule, provider, success]);
const reasons = (events: readonly ModelEvent[]): string[] => events.flatMap((event) => (event.type === "retry" ? [event.reason] : []));
const breakerReceipts = (made: ModelsFixture): string[] =>
  made.ledger
    .search({ query: "provider_breaker", limit: 50 })
    .items.toReversed()
    .map(({ actionName, inputs }) => `${actionName} ${(inputs as { provider: string }).provider}`);

/** Waits until a condition holds. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("it never came about");
    await wait(10);
  }
}

describe("a provider's circuit breaker", () => {
  const quickly = "retries: { tries: 1 }\nbreaker: { failures: 3, open_seconds: 0.3 }\n";

  it("opens after failures in a row, sends nothing while it is open, and closes with the first answer after", async () => {
    let broken = true;
    const server = await start(() => (broken ? { fault: "http500" } : { text: "Back." }));
    const made = fixtureOf(work(server), { router: quickly });
    for (let call = 0; call < 3; call++) await failure(run(made));
    expect(made.models.router.stats().breakers).toMatchObject([
      { provider: "work", state: "open", retryAt: expect.any(String), reason: "Work had an internal error (500)." },
    ]);
    const refused = await failure(run(made));
    expect(refused).toMatchObject({ code: "unavailable", data: { reason: "breaker" } });
    expect(refused.data).toMatchObject({ reason: "breaker" });
    expect(server.requests.length).toBe(3);
    // What was not sent is no call, but it was decided.
    expect(made.receipts()).toHaveLength(3);
    expect(rules(made)).toHaveLength(4);

    broken = false;
    await until(async () => (await run(made).catch(() => null))?.text === "Back.");
    expect(made.models.router.stats().breakers).toMatchObject([{ provider: "work", state: "closed", retryAt: null, reason: null }]);
    expect(breakerReceipts(made)).toEqual(["provider_breaker_open work", "provider_breaker_closed work"]);
  });

  it("opens again when the one call that tries it fails", async () => {
    const server = await start(inOrder({ fault: "http503" }));
    const made = fixtureOf(work(server), { router: quickly });
    for (let call = 0; call < 3; call++) await failure(run(made));
    await until(async () => (await failure(run(made))).data?.["reason"] === "overloaded");
    expect(server.requests.length).toBe(4);
    expect(breakerReceipts(made)).toEqual(["provider_breaker_open work", "provider_breaker_open work"]);
    expect((await failure(run(made))).data?.["reason"]).toBe("breaker");
  });

  it("lets one call through alone while it is tried again", async () => {
    let answer: (() => void) | null = null;
    let broken = true;
    const server = await start(async () => {
      if (broken) return { fault: "http500" };
      await new Promise<void>((resolve) => (answer = resolve));
      return { text: "Back." };
    });
    const made = fixtureOf(work(server), { router: quickly });
    for (let call = 0; call < 3; call++) await failure(run(made));
    broken = false;
    let trying: Promise<unknown> = Promise.resolve();
    await until(async () => {
      trying = run(made).catch(() => null);
      await Promise.race([trying, server.requested(4)]);
      return server.requests.length === 4;
    });
    expect(made.models.router.stats().breakers).toMatchObject([{ state: "half_open" }]);
    expect((await failure(run(made))).data?.["reason"]).toBe("breaker");
    (answer as (() => void) | null)?.();
    await trying;
    expect(server.requests.length).toBe(4);
    expect(made.models.router.stats().breakers).toMatchObject([{ state: "closed" }]);
  });

  it.each(["http401", "http402", "http404", "http400", "http429", "too_long"] as Fault[])(
    "does not count %s: the provider lives",
    async (fault) => {
      const server = await start(inOrder({ fault }));
      const made = fixtureOf(work(server), { router: quickly });
      for (let call = 0; call < 5; call++) await failure(run(made));
      expect(server.requests.length).toBe(5);
      expect(made.models.router.stats().breakers).toMatchObject([{ state: "closed" }]);
    },
  );

  it("does not count what the owner stopped", async () => {
    const server = await start(inOrder({ text: "word ".repeat(20), fault: "hang_midway" }));
    const made = fixtureOf(work(server), { router: quickly });
    for (let call = 0; call < 4; call++) {
      const stop = new AbortController();
      const stopped = run(made, stop.signal).catch((error: unknown) => error);
      await server.requested(call + 1);
      stop.abort();
      await stopped;
    }
    expect(made.models.router.stats().breakers).toMatchObject([{ state: "closed" }]);
  });

  it("opens in the middle of the tries of one call and ends them", async () => {
    const server = await start(inOrder({ fault: "http529" }));
    const made = fixtureOf(work(server), { router: "retries: { tries: 9 }\nbreaker: { failures: 3, open_seconds: 60 }\n" });
    expect((await failure(run(made))).message).toContain("60 s");
    expect(server.requests.length).toBe(3);
  });
});

describe("failover", () => {
  const down = "retries: { tries: 2 }\n";

  it("is off unless the owner sets it: nothing is sent to another provider", async () => {
    const [first, second] = [await start(inOrder({ fault: "http500" })), await start(inOrder({ text: "spare words" }))];
    const made = fixtureOf(work(first) + spare(second), { router: down });
    await failure(run(made));
    expect(second.requests).toEqual([]);
    expect(rules(made)).toEqual([["default", "work", false]]);
  });

  it.each([
    ["fails on its side", "http500", 2],
    ["is overloaded", "http529", 2],
    ["limits requests", "http429", 2],
    ["breaks off", "cut_clean", 2],
    ["refuses the key", "http401", 1],
    ["has no credit", "http402", 1],
    ["does not have the model", "http404", 1],
  ] as const)("goes along the chain when the chosen one %s", async (_, fault, tries) => {
    const [first, second] = [await start(inOrder({ fault, text: "half of it" })), await start(inOrder({ text: "spare words" }))];
    const made = fixtureOf(work(first) + spare(second), { router: `${down}failover: [spare]\n` });
    const { text, events } = await run(made);
    expect(text).toBe("spare words");
    expect(first.requests.length).toBe(tries);
    expect(reasons(events).at(-1)).toMatch(/Spare \(spare-quick\)/);
    expect(events.findLast((event) => event.type === "routed")).toMatchObject({ by: { provider: "spare", model: "spare-quick" } });
    expect(rules(made)).toEqual([
      ["failover", "spare", true],
      ["default", "work", false],
    ]);
    // Each try is a receipt.
    expect(made.receipts().map(({ status, metadata }) => [status, metadata["provider"]])).toEqual([
      ...Array.from({ length: tries }, () => ["failure", "work"]),
      ["success", "spare"],
    ]);
  });

  it("continues to the next of the chain, and ends with the last one's failure", async () => {
    const servers = [
      await start(inOrder({ fault: "http500" })),
      await start(inOrder({ fault: "http503" })),
      await start(inOrder({ fault: "http529" })),
    ] as const;
    const made = fixtureOf(work(servers[0]) + spare(servers[1]) + third(servers[2]), { router: `${down}failover: [work, spare, third]\n` });
    expect((await failure(run(made))).message).toContain("Third is overloaded (529)");
    expect(servers.map(({ requests }) => requests.length)).toEqual([2, 2, 2]);
    expect(rules(made)).toEqual([
      ["failover", "third", false],
      ["failover", "spare", false],
      ["default", "work", false],
    ]);
  });

  it("skips what has no key, and what its breaker leaves alone", async () => {
    const servers = [
      await start(inOrder({ fault: "http500" })),
      await start(inOrder({ fault: "http500" })),
      await start(inOrder({ text: "third words" })),
    ] as const;
    const noKey = spare(servers[1]).replace("  spare:", "  keyless:").replace("kind: openai,", "kind: openai, api_key_name: NOT_SET,");
    const made = fixtureOf(work(servers[0]) + spare(servers[1]) + noKey + third(servers[2]), {
      router: "retries: { tries: 1 }\nbreaker: { failures: 1, open_seconds: 60 }\nfailover: [keyless, spare, third]\n",
    });
    expect((await run(made)).text).toBe("third words");
    // Both breakers are open now: the next call goes straight to the third.
    expect((await run(made)).text).toBe("third words");
    expect(servers.map(({ requests }) => requests.length)).toEqual([1, 1, 2]);
    expect(rules(made)[0]).toEqual(["failover", "third", true]);
  });

  it("takes over where the chosen provider has no key at all, and says so", async () => {
    const second = await start(inOrder({ text: "spare words" }));
    const made = fixtureOf(`  work: { kind: xai, display_name: Work, fast: { model: quick } }\n${spare(second)}`, {
      router: "failover: [spare]\n",
    });
    const route = await made.models.routes().next(chat);
    expect(route.notice).toContain("Work has no API key (XAI_API_KEY).");
    expect((await run(made)).text).toBe("spare words");
  });

  it("stays with the provider it went to as long as the task runs", async () => {
    const [first, second] = [await start(inOrder({ fault: "http500" })), await start(inOrder({ text: "spare words" }))];
    const made = fixtureOf(work(first) + spare(second), { router: `${down}failover: [spare]\n` });
    const routes = made.models.routes();
    const route = await routes.next(chat);
    const next = await routes.failover(await failure(ask(made.models, {}, undefined, { route })));
    expect(await routes.next(chat)).toBe(next);
    expect(await routes.next(chat)).toMatchObject({ rule: "failover", model: { provider: "spare" } });
    expect(await routes.next({ ...chat, override: { provider: "work" } })).toMatchObject({
      rule: "override",
      model: { provider: "work" },
    });
  });

  it("leaves the provider it went to when that one's breaker opens", async () => {
    const [first, second] = [await start(inOrder({ fault: "http500" })), await start(inOrder({ fault: "http500" }))];
    const made = fixtureOf(work(first) + spare(second), {
      router: "retries: { tries: 1 }\nbreaker: { failures: 2, open_seconds: 60 }\nfailover: [spare]\n",
    });
    const routes = made.models.routes();
    const route = await routes.next(chat);
    await routes.failover(await failure(ask(made.models, {}, undefined, { route })));
    expect(await routes.next(chat)).toMatchObject({ rule: "failover", model: { provider: "spare" } });
    for (let call = 0; call < 2; call++)
      await failure(ask(made.models, {}, undefined, { task: { ...chat, override: { provider: "spare" } } }));
    expect(await routes.next(chat)).toMatchObject({ rule: "default", model: { provider: "work" } });
  });

  it("does not escalate to a provider whose breaker is open", async () => {
    const [first, second] = [await start(inOrder({ fault: "http404" })), await start(inOrder({ fault: "http500" }))];
    const made = fixtureOf(work(first) + spare(second), {
      router: "retries: { tries: 1 }\nbreaker: { failures: 1, open_seconds: 60 }\nlanes: { flagship_deep: { provider: spare } }\n",
    });
    await failure(ask(made.models, {}, undefined, { task: { ...chat, override: { provider: "spare" } } }));
    await failure(run(made));
    expect(rules(made)[0]).toEqual(["default", "work", false]);
  });

  it("returns to the chosen provider once its pause is over", async () => {
    const [first, second] = [await start(inOrder({ fault: "http500" }, { text: "Back." })), await start(inOrder({ text: "spare words" }))];
    const made = fixtureOf(work(first) + spare(second), {
      router: "retries: { tries: 1 }\nbreaker: { failures: 1, open_seconds: 0.05 }\nfailover: [spare]\n",
    });
    expect((await run(made)).text).toBe("spare words");
    await until(async () => (await run(made)).text === "Back.");
  });

  it.each([{ provider: "work" }, { provider: "work", lane: "flagship_fast" as const }])(
    "never leaves a provider the owner chose for the task: %j",
    async (override) => {
      const [first, second] = [await start(inOrder({ fault: "http500" })), await start(inOrder({ text: "spare words" }))];
      const made = fixtureOf(work(first) + spare(second), { router: `${down}failover: [spare]\n` });
      await failure(ask(made.models, {}, undefined, { task: { ...chat, override } }));
      expect(second.requests).toEqual([]);
    },
  );

  const toDeep = { type: "plan", text: "Plan it" };
  it.each([
    ["a local task", "", { type: "summarize", text: "Hello" }],
    ["a task for which the owner chose the local lane", "", { ...toDeep, override: { lane: "local_utility" as const } }],
    ["any task where no flagship lane is in use", "routing_order: [{ lane: local_utility, priority: 1 }]\n", toDeep],
  ])("sends nothing away from this machine for %s", async (_, router, task) => {
    const [here, lab, away] = [
      await start(inOrder({ fault: "http500" })),
      await start(inOrder({ fault: "http500" })),
      await start(inOrder({ text: "cloud words" })),
    ];
    const onThisMachine = `  lab: { kind: openai_compatible, base_url: "${lab.url("openai_compatible")}", fast: { model: m } }\n`;
    const made = fixtureOf(`${work(away)}${onThisMachine}local: { url: "${here.url("openai_compatible")}", model: m }\n`, {
      router: `${down}failover: [lab, work]\n${router}`,
    });
    await failure(ask(made.models, {}, undefined, { task }));
    expect([here, lab, away].map(({ requests }) => requests.length)).toEqual([2, 2, 0]);
  });

  it("does not continue once the owner stops", async () => {
    const stop = new AbortController();
    const second = await start(inOrder({ text: "spare words" }));
    const first = await start(() => {
      stop.abort();
      return { fault: "http500" };
    });
    const made = fixtureOf(work(first) + spare(second), { router: "failover: [spare]\n" });
    expect((await failure(run(made, stop.signal))).code).toBe("cancelled");
    expect(second.requests).toEqual([]);
  });

  it("sends nothing anywhere while models.yaml is broken", async () => {
    const second = await start(inOrder({ text: "spare words" }));
    const made = fixtureOf(spare(second), { router: "failover: [spare]\n" });
    made.writeConfig("active: [\n");
    expect((await failure(run(made))).data?.["action"]).toBe("choose_model");
    expect(second.requests).toEqual([]);
  });
});

describe("timeouts of router.yaml", () => {
  it.each([
    ["first_token_seconds: 0.15", { fault: "hang" }],
    ["idle_seconds: 0.15", { text: "word ".repeat(30), fault: "hang_midway" }],
    ["total_seconds: 0.4", { text: "word ".repeat(300), fault: "slow", delayMs: 20 }],
  ] as const)("%s ends a try", async (timeout, turn) => {
    const server = await start(inOrder(turn));
    const made = fixtureOf(work(server), { router: `timeouts: { ${timeout} }\nretries: { tries: 1 }\n` });
    expect((await failure(run(made))).data?.["reason"]).toBe("timeout");
    await server.closed(1);
    expect(made.receipts()).toMatchObject([{ status: "failure" }]);
  });

  it("an answer that is too slow as a whole is not asked for again", async () => {
    const server = await start(inOrder({ text: "word ".repeat(300), fault: "slow", delayMs: 20 }));
    const made = fixtureOf(work(server), { router: "timeouts: { total_seconds: 0.3 }\n" });
    await failure(run(made));
    expect(server.requests.length).toBe(1);
  });

  it("hold apart for what is computed on this machine", async () => {
    const server = await start(inOrder({ text: "ok", fault: "slow", delayMs: 120 }));
    const here = `  work: { kind: openai_compatible, base_url: "${server.url("openai_compatible")}", fast: { model: quick } }\n`;
    const made = fixtureOf(here, { router: "timeouts: { first_token_seconds: 0.02 }\n" });
    expect((await run(made)).text).toBe("ok");
  });
});

describe("a server that accepts a request and says nothing", () => {
  const often = { limits: { progressMs: 20 } };
  const waiting = (events: readonly ModelEvent[]) => events.flatMap((event) => (event.type === "waiting" ? [event] : []));

  it("is named while it is waited for, and the owner's list goes on after it", async () => {
    const silent = await start(() => ({ fault: "hang" }));
    const other = await start(() => ({ text: "From the spare." }));
    const made = fixtureOf(work(silent) + spare(other), {
      router: "failover: [spare]\ntimeouts: { first_token_seconds: 0.4 }\nretries: { tries: 1 }\n",
      ...often,
    });
    const { events, text } = await run(made);
    expect(text).toBe("From the spare.");
    const [first] = waiting(events);
    expect(first).toMatchObject({ displayName: "Work", server: new URL(silent.url("anthropic")).host, limitMs: 400 });
    expect(first?.elapsedMs).toBeGreaterThan(0);
  });

  it("ends with a next step where there is no other", async () => {
    const silent = await start(() => ({ fault: "hang" }));
    const made = fixtureOf(work(silent), { router: "timeouts: { first_token_seconds: 0.2 }\n" });
    expect(await failure(run(made))).toMatchObject({ code: "unavailable", data: { reason: "timeout", action: "choose_model" } });
    // A second silence would most likely be followed by a third.
    expect(silent.requests.length).toBeLessThanOrEqual(2);
  });

  it.each([
    ["from the start", { fault: "hang" }],
    ["in the middle", { text: "word ".repeat(30), fault: "hang_midway" }],
  ] as const)("is left at once when the user stops the task: %s", async (_, turn) => {
    const silent = await start(() => turn);
    const made = fixtureOf(work(silent), often);
    const stop = new AbortController();
    const running = failure(run(made, stop.signal));
    await silent.requested(1);
    stop.abort();
    expect((await running).code).toBe("cancelled");
    await silent.closed(1);
  });
});

describe("retries of router.yaml", () => {
  it("wait a random part of a time that doubles", async () => {
    const server = await start(inOrder({ fault: "http500" }));
    let next = 0;
    const made = fixtureOf(work(server), {
      router: "retries: { tries: 5, base_seconds: 2 }\nbreaker: { failures: 99 }\n",
      random: () => [0, 0.25, 0.5, 1][next++] ?? 0,
    });
    await failure(run(made));
    expect(made.waits).toEqual([0, 1000, 4000, 16_000]);
  });

  it("are as many as the owner says, and none for what asks to wait longer than that", async () => {
    const server = await start(inOrder({ fault: "http429", retryAfter: 9 }));
    const made = fixtureOf(work(server), { router: "retries: { tries: 3, max_wait_seconds: 10 }\n" });
    await failure(run(made));
    expect(made.waits).toEqual([9000, 9000]);
    made.writeRouter("retries: { tries: 3, max_wait_seconds: 5 }\n");
    await failure(run(made));
    expect(server.requests.length).toBe(4);
  });
});

describe("without a network", () => {
  /** Names of `*.localhost` are found while `up`, and not found otherwise, as without a network. */
  function network() {
    const state = { up: false };
    const lookup = checkedLookup((hostname, _, done) =>
      state.up
        ? done(null, [{ address: "127.0.0.1", family: 4 }])
        : done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: "ENOTFOUND", hostname }), []),
    );
    return { state, gatedFetch: createGatedFetch({ env: {}, lookup }) };
  }
  const cloud = (name: string, server: ModelServer, kind: "anthropic" | "openai"): string =>
    `  ${name}: { kind: ${kind}, display_name: ${name}, base_url: "${server.url(kind).replace("127.0.0.1", `${name}.localhost`)}", fast: { model: quick } }\n`;
  const ready = localIn({ status: "ready" });

  it("the local model answers, says so, and the provider answers again by itself when it is back", async () => {
    const server = await start(inOrder({ text: "cloud words" }));
    const { state, gatedFetch } = network();
    let now = 0;
    const made = fixtureOf(cloud("work", server, "anthropic") + cloud("spare", server, "openai"), {
      gatedFetch,
      local: ready,
      now: () => now,
    });
    const { text, events } = await run(made);
    expect(text).toBe("local words");
    expect(reasons(events)).toHaveLength(1);
    expect(rules(made)).toEqual([
      ["offline", "local", true],
      ["default", "work", false],
    ]);
    expect(made.models.router.stats().offline).toBe(true);
    expect(server.requests).toEqual([]);

    // From now on nothing is tried that cannot work, until a look shows that it can.
    const second = await run(made);
    expect(second.events.filter((event) => event.type === "retry")).toEqual([]);
    expect(rules(made)[0]).toEqual(["offline", "local", true]);
    expect(made.receipts().filter(({ metadata }) => metadata["provider"] === "work")).toHaveLength(1);

    state.up = true;
    now += 60_000;
    const third = await run(made);
    expect(third.text).toBe("cloud words");
    expect(made.models.router.stats()).toMatchObject({ offline: false });
    expect(
      made.ledger
        .search({ query: "network", limit: 50 })
        .items.map(({ actionName }) => actionName)
        .filter((name) => name.startsWith("network_")),
    ).toEqual(["network_back", "network_lost"]);
  });

  it("a breaker that opened without it closes when it is back", async () => {
    const server = await start(inOrder({ text: "cloud words" }));
    const { state, gatedFetch } = network();
    let now = 0;
    const made = fixtureOf(cloud("work", server, "anthropic"), {
      gatedFetch,
      local: ready,
      now: () => now,
      router: "breaker: { failures: 1, open_seconds: 3600 }\n",
    });
    await run(made);
    expect(made.models.router.stats().breakers).toMatchObject([{ state: "open" }]);
    state.up = true;
    now += 60_000;
    expect((await run(made)).text).toBe("cloud words");
  });

  it.each([
    ["the owner said to wait", { local: ready, router: "offline: wait\n" }, {}, "resume"],
    ["there is no local model", { local: localIn({ status: "absent" }) }, {}, "download_model"],
    ["the local model is switched off", { local: ready, switchedOff: true }, {}, "download_model"],
    ["the owner chose the provider", { local: ready }, { override: { provider: "work" } }, "resume"],
  ])(
    "nothing answers when %s, and the next step is told",
    async (_, { switchedOff, ...options }: Options & { switchedOff?: boolean }, more, action) => {
      const server = await start(inOrder({ text: "cloud words" }));
      const { gatedFetch } = network();
      const made = fixtureOf(`${cloud("work", server, "anthropic")}${switchedOff === true ? "local: { enabled: false }\n" : ""}`, {
        gatedFetch,
        ...options,
      });
      for (let call = 0; call < 2; call++) {
        const error = await failure(ask(made.models, {}, undefined, { task: { ...chat, ...more } }));
        expect(error).toMatchObject({ code: "unavailable", data: { reason: "offline", action } });
      }
    },
  );

  it("a server on this machine that is in the owner's chain continues, a provider in it does not", async () => {
    const [server, here] = [await start(inOrder({ text: "cloud words" })), await start(inOrder({ text: "words from here" }))];
    const { gatedFetch } = network();
    const made = fixtureOf(
      `${cloud("work", server, "anthropic")}${cloud("spare", server, "openai")}  lab: { kind: openai_compatible, base_url: "${here.url("openai_compatible")}", fast: { model: m } }\n`,
      { gatedFetch, local: ready, router: "failover: [spare, lab]\n" },
    );
    expect((await run(made)).text).toBe("words from here");
    expect(rules(made)).toEqual([
      ["failover", "lab", true],
      ["default", "work", false],
    ]);
  });

  it("no provider is tried when the model on this machine fails too", async () => {
    const [server, here] = [await start(inOrder({ text: "cloud words" })), await start(inOrder({ fault: "http500" }))];
    const made = fixtureOf(
      `${cloud("work", server, "anthropic")}${cloud("spare", server, "openai")}local: { url: "${here.url("openai_compatible")}", model: m }\n`,
      { gatedFetch: network().gatedFetch, router: "retries: { tries: 1 }\nfailover: [spare]\n" },
    );
    await failure(run(made));
    expect(rules(made)).toEqual([
      ["offline", "local", false],
      ["default", "work", false],
    ]);
  });

  it("is not concluded while another provider can be reached", async () => {
    const server = await start(inOrder({ text: "cloud words" }));
    const { gatedFetch } = network();
    const reachable = `  spare: { kind: openai, base_url: "${server.url("openai")}", fast: { model: quick } }\n`;
    const made = fixtureOf(cloud("work", server, "anthropic") + reachable, { gatedFetch, local: ready });
    expect((await failure(run(made))).message).toContain("work.localhost");
    expect(made.models.router.stats().offline).toBe(false);
    // Looking sends no words of the owner's.
    expect(server.requests.every(({ messages }) => messages.length === 0)).toBe(true);
  });

  it("is not concluded from a server that refuses; where the local model is here it continues all the same", async () => {
    const port = await freePort();
    const refusing = `  work: { kind: anthropic, display_name: Work, base_url: "http://127.0.0.1:${port}", fast: { model: quick } }\n`;
    const alone = fixtureOf(refusing, { local: localIn({ status: "absent" }) });
    expect((await failure(run(alone))).message).toContain(`127.0.0.1:${port}`);
    const made = fixtureOf(refusing, { local: ready });
    expect((await run(made)).text).toBe("local words");
    expect(made.models.router.stats().offline).toBe(false);
    await start(inOrder({ text: "Back." }), port);
    made.writeConfig(`active: work\nproviders:\n${refusing.replace(`:${port}`, `:${port}/anthropic`)}`);
    expect((await run(made)).text).toBe("Back.");
  });
});
