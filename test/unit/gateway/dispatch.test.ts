import { describe, expect, it } from "vitest";
import { errorCodes, httpStatus, LancelotError, rpcNumbers } from "../../../agent-server/contract/errors.ts";
import { unimplementedMethods } from "../../../agent-server/contract/unimplemented.ts";
import { type Handlers, isMethodName, methods } from "../../../agent-server/contract/table.ts";
import { createDispatch } from "../../../agent-server/gateway/dispatch.ts";
import { long, token } from "../../support/secret-samples.ts";

const call = { owner: false, signal: new AbortController().signal };

/** Handlers that fail the test when they are reached, but for the given ones. */
function handlers(some: Partial<Handlers>): Handlers {
  return new Proxy(some, {
    get: (known, name) =>
      known[name as keyof Handlers] ??
      (() => {
        throw new Error(`${String(name)} was reached`);
      }),
  }) as Handlers;
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "none",
    (error: unknown) => (error instanceof LancelotError ? error.code : `not ours: ${String(error)}`),
  );

describe("dispatch", () => {
  it.each([
    ["a method nobody knows", "no.such", {}, "not_found"],
    ["a prototype name", "constructor", {}, "not_found"],
    ["a method of a later version", "skills.list", {}, "unavailable"],
    ["params that do not fit", "receipts.get", {}, "invalid_params"],
    ["params that are not an object", "receipts.get", [1], "invalid_params"],
    ["an owner method without the token", "approvals.decide", { id: "a", decision: "deny" }, "unauthorized"],
    ["an owner method without the token, before its params are looked at", "vault.set", {}, "unauthorized"],
  ])("%s", async (_what, name, params, code) => {
    const dispatch = createDispatch(handlers({}), () => undefined);
    expect(await codeOf(dispatch(name, params, call))).toBe(code);
  });

  it("fills in defaults and passes parsed params to the handler", async () => {
    let got: unknown;
    const dispatch = createDispatch(
      handlers({
        "receipts.search": (params) => {
          got = params;
          return { items: [] };
        },
      }),
      () => undefined,
    );
    await dispatch("receipts.search", {}, call);
    expect(got).toEqual({ limit: 100 });
  });

  it("hides internal errors from the caller and logs them", async () => {
    const logged: unknown[] = [];
    const dispatch = createDispatch(
      handlers({
        "host.info": () => {
          throw new Error("SQLITE_CORRUPT at /home/somebody/secret");
        },
      }),
      (_method, error) => logged.push(error),
    );
    const error = await dispatch("host.info", {}, call).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(LancelotError);
    expect((error as LancelotError).code).toBe("internal");
    expect(JSON.stringify((error as LancelotError).toBody())).not.toContain("/home");
    expect(logged).toHaveLength(1);
  });

  it.each([
    ["/etc/passwd was not added.", false],
    ["link leads to /home/somebody/keys/id.", false],
    ['It is "/root/.ssh/id_ed25519".', false],
    ["(/var/lib/x/y)", false],
    ["C:\\Users\\somebody\\key is outside.", false],
    ["\\\\server\\share\\file is outside.", false],
    ["path=/srv/data/a", false],
    ["/home/me/space/../other/secret is outside.", false],
    ["/home/me/space2/secret is outside.", false],
    ["/home/me/space/src/a.ts has changed.", true],
    ["/sent/by/caller was not found.", true],
    ["src/a.ts and/or b/c.ts", true],
    ["See https://docs.test/a/b or config/models.yaml.", true],
    ["Use /crusader first.", true],
  ])("names no path outside the workspace that the caller did not send: %s", async (message, stays) => {
    const search = (() => {
      throw new LancelotError("not_found", message, { data: { where: [message] } });
    }) as unknown as Handlers["receipts.search"];
    const dispatch = createDispatch(handlers({ "receipts.search": search }), () => undefined, undefined, undefined, "/home/me/space");
    const error = (await dispatch("receipts.search", { query: "/sent/by/caller" }, call).catch(
      (caught: unknown) => caught,
    )) as LancelotError;
    expect(error.code).toBe("not_found");
    expect(error.message === message).toBe(stays);
    expect(JSON.stringify(error.data) === JSON.stringify({ where: [message] })).toBe(stays);
    if (!stays) expect(error.message).not.toMatch(/etc|somebody|ssh|server|srv|lib|secret/);
  });

  it("returns what the method's result has, and no more", async () => {
    const results: unknown[] = [{ status: "alive", internal: "/home/somebody" }, { status: 5 }];
    const live = (() => results.shift()) as unknown as Handlers["health.live"];
    const dispatch = createDispatch(handlers({ "health.live": live }), () => undefined);
    expect(await dispatch("health.live", {}, call)).toEqual({ status: "alive" });
    expect(await codeOf(dispatch("health.live", {}, call))).toBe("internal");
  });

  it.each([
    ["message", (secret: string) => new LancelotError("conflict", `It contains ${secret}.`)],
    ["data", (secret: string) => new LancelotError("conflict", "It does not fit.", { data: { found: [{ line: secret }] } })],
  ])("removes secrets from the %s of an error", async (_where, errorWith) => {
    const secret = token("ghp_", long(36));
    const dispatch = createDispatch(
      handlers({
        "host.info": () => {
          throw errorWith(secret);
        },
      }),
      () => undefined,
    );
    const error = await dispatch("host.info", {}, call).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "conflict" });
    expect(JSON.stringify((error as LancelotError).toBody())).not.toContain(secret);
  });

  it("a handler that fails after its call was canceled returns cancelled", async () => {
    const abort = new AbortController();
    const dispatch = createDispatch(
      handlers({
        "receipts.verify": async () => {
          abort.abort();
          throw new Error("aborted");
        },
      }),
      () => undefined,
    );
    expect(await codeOf(dispatch("receipts.verify", {}, { owner: false, signal: abort.signal }))).toBe("cancelled");
  });
});

describe("the contract table", () => {
  it("names every method once: here or later", () => {
    const both = unimplementedMethods.filter((name) => isMethodName(name));
    expect(both).toEqual([]);
    expect(new Set(unimplementedMethods).size).toBe(unimplementedMethods.length);
  });

  it("has a one-sentence summary for each method", () => {
    for (const [name, method] of Object.entries(methods)) expect(method.summary, name).toMatch(/^[A-Z].*\.$/);
  });

  it("has a JSON-RPC number of its own and an HTTP status for every code", () => {
    expect(new Set(errorCodes.map((code) => rpcNumbers[code])).size).toBe(errorCodes.length);
    for (const code of errorCodes) expect(httpStatus[code]).toBeGreaterThanOrEqual(400);
  });

  it("lets only the owner decide, restore, invoke and touch secrets", () => {
    const owned = Object.entries(methods)
      .filter(([, method]) => method.access === "owner")
      .map(([name]) => name);
    for (const name of [
      "approvals.decide",
      "changes.decide",
      "checkpoints.restore",
      "tools.invoke",
      "vault.set",
      "vault.delete",
      "vault.list",
      "models.local.download",
    ])
      expect(owned).toContain(name);
  });
});
