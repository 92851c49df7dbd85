import { describe, expect, test } from "vitest";
import { asLancelotError, createCall } from "../../../extension/host/call.ts";

describe("calls to the host", () => {
  test("carry the wire name and plain params, and parse the answer", async () => {
    const sent: unknown[] = [];
    const call = createCall((method, params) => {
      sent.push([method, params]);
      return Promise.resolve({ status: "alive", extra: 1 });
    });
    await expect(call("health.live", {})).resolves.toEqual({ status: "alive" });
    expect(sent).toEqual([["lancelot/health.live", {}]]);
  });

  test("an answer that is not of the contract is an error, not a surprise later", async () => {
    const call = createCall(() => Promise.resolve({ status: "dead" }));
    await expect(call("health.live", {})).rejects.toMatchObject({ code: "internal" });
  });

  test.each([
    [
      { code: -32003, message: "No.", data: { code: "denied", rule: "x" } },
      { code: "denied", message: "No.", data: { rule: "x" } },
    ],
    [{ code: -32800, message: "cancelled" }, { code: "cancelled" }],
    [{ code: -32097, message: "Pending response rejected since connection got disposed" }, { code: "unavailable" }],
    [
      { code: -32603, message: "odd", data: { code: "no such word" } },
      { code: "internal", message: "odd" },
    ],
    [new Error("boom"), { code: "internal", message: "boom" }],
    ["boom", { code: "internal", message: "boom" }],
  ])("%j becomes the contract's error", (thrown, expected) => {
    expect(asLancelotError(thrown)).toMatchObject(expected);
  });
});
