import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { HealthStatus } from "../../../agent-server/contract/providers.ts";
import type { ReceiptClosing, ReceiptOpening } from "../../../agent-server/receipts/receipts.ts";
import type { ToolProvider } from "../../../agent-server/tools/routing/capabilities.ts";
import { createHealth, type Health } from "../../../agent-server/tools/routing/provider-health.ts";

let health: Health;
let status: HealthStatus | "hangs" | "throws" = "ok";
let probes = 0;
let records: string[] = [];
let events = 0;
beforeEach(() => {
  vi.useFakeTimers();
  status = "ok";
  probes = 0;
  records = [];
  events = 0;
  const one: ToolProvider = {
    id: "one",
    title: "One",
    version: () => "1",
    priority: 1,
    local: () => true,
    flag: null,
    offers: {},
    probe: () => {
      probes += 1;
      if (status === "throws") throw new Error("probe");
      return status === "hangs" ? new Promise(() => undefined) : Promise.resolve({ status, message: `One is ${status}.`, nextStep: null });
    },
  };
  health = createHealth({
    providers: [one, { ...one, id: "two", title: "Two", probe: () => Promise.resolve({ status: "ok", message: "", nextStep: null }) }],
    ledger: {
      record: ({ actionType, actionName, inputs }: ReceiptOpening, { status: closing }: ReceiptClosing) => {
        records.push(
          `${actionType} ${actionName} ${String(inputs["provider"])} ${String(inputs["from"])}→${String(inputs["to"])} ${closing}`,
        );
        return "id";
      },
    },
    emit: (topic) => {
      if (topic === "providers") events += 1;
    },
    log: () => undefined,
  });
});
afterEach(() => {
  health.close();
  vi.useRealTimers();
});

const fail = (times: number) => {
  for (let time = 0; time < times; time += 1) health.failed("one", "it broke");
};

describe("a provider's health", () => {
  it("is unknown before the first check, which is announced without a receipt", async () => {
    expect(health.of("one").status).toBe("unknown");
    await health.check("one");
    expect(health.of("one")).toMatchObject({ status: "ok", checkedAt: expect.any(String) as string });
    expect([records, events]).toEqual([[], 1]);
  });

  it("is checked once for concurrent calls", async () => {
    await Promise.all([health.check("one"), health.check("one"), health.check("one")]);
    expect(probes).toBe(1);
  });

  it.each<typeof status>(["hangs", "throws"])("is down when the probe %s", async (how) => {
    status = how;
    const looking = health.check("one");
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await looking).toMatchObject({ status: "down", message: expect.stringMatching(/^One /) as string });
    expect(health.of("two").status).toBe("unknown");
  });

  it("has one receipt for each change", async () => {
    await health.check("one");
    for (const next of ["degraded", "down", "down", "ok"] as const) {
      status = next;
      await health.check("one");
    }
    expect(records).toEqual([
      "system health_degraded one ok→degraded failure",
      "system health_degraded one degraded→down failure",
      "system health_recovered one down→ok success",
    ]);
    expect(events).toBe(4);
  });

  it("is checked for all providers shortly after the start", async () => {
    health.start(1_000);
    await vi.advanceTimersByTimeAsync(999);
    expect(probes).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(probes).toBe(1);
  });

  it("is checked every 30 seconds only while the provider is in use", async () => {
    health.used("one");
    await vi.advanceTimersByTimeAsync(300_000);
    const while_used = probes;
    expect(while_used).toBeGreaterThanOrEqual(9);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(probes).toBeLessThanOrEqual(while_used + 1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is not checked after the host closed", async () => {
    health.start(1_000);
    health.used("one");
    health.close();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(probes).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a provider that fails although its probe succeeds", () => {
  beforeEach(() => health.check("one"));

  it("is down after three failures in a row", () => {
    fail(2);
    expect(health.of("one").status).toBe("ok");
    fail(1);
    expect(health.of("one")).toMatchObject({
      status: "down",
      message: expect.stringMatching(/^One .*3 .*it broke$/) as string,
    });
    expect(records).toEqual(["system health_degraded one ok→down failure"]);
  });

  it("is not down for failures with successes between them", () => {
    for (let time = 0; time < 10; time += 1) {
      fail(2);
      health.succeeded("one");
    }
    expect(health.of("one").status).toBe("ok");
  });

  it("has a cooldown of 30 seconds, which doubles after each further failure", async () => {
    for (const rest of [30_000, 60_000, 120_000, 240_000, 300_000, 300_000]) {
      fail(health.of("one").status === "degraded" ? 1 : 3);
      expect(health.isCoolingDown("one")).toBe(true);
      await vi.advanceTimersByTimeAsync(rest - 1);
      expect(health.isCoolingDown("one")).toBe(true);
      await vi.advanceTimersByTimeAsync(1);
      expect(health.isCoolingDown("one")).toBe(false);
      await health.check("one");
      expect(health.of("one")).toMatchObject({
        status: "degraded",
        message: expect.stringContaining("it broke") as string,
      });
    }
  });

  it("is degraded when its probe succeeds again, and ok after a success", async () => {
    fail(3);
    await health.check("one");
    expect(health.of("one").status).toBe("degraded");
    health.succeeded("one");
    expect(health.of("one").status).toBe("ok");
    fail(2);
    expect(health.of("one").status).toBe("ok");
  });

  it("stays down while its probe fails", async () => {
    fail(3);
    status = "down";
    await health.check("one");
    expect(health.of("one").status).toBe("down");
    health.succeeded("one");
    expect(health.of("one").status).toBe("ok");
  });
});
