import { describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { answerRpc } from "../../../agent-server/gateway/json-rpc.ts";

const call = { owner: false, signal: new AbortController().signal };
const dispatch = async (name: string, params: unknown) => {
  if (name === "echo") return { params };
  if (name === "unknown") throw new LancelotError("not_found", "There is no method unknown.", { data: { method: "unknown" } });
  throw new LancelotError("denied", "No.", { data: { rule: "r" } });
};

describe("JSON-RPC 2.0", () => {
  it.each([
    ["a request", { jsonrpc: "2.0", id: 1, method: "echo", params: { a: 1 } }, { jsonrpc: "2.0", id: 1, result: { params: { a: 1 } } }],
    ["the editor's spelling of a method", { jsonrpc: "2.0", id: "x", method: "lancelot/echo" }, { jsonrpc: "2.0", id: "x", result: {} }],
    ["a notification", { jsonrpc: "2.0", method: "echo" }, undefined],
    ["a notification that fails", { jsonrpc: "2.0", method: "no" }, undefined],
    [
      "an error",
      { jsonrpc: "2.0", id: 1, method: "no" },
      { jsonrpc: "2.0", id: 1, error: { code: -32003, message: "No.", data: { rule: "r", code: "denied" } } },
    ],
    [
      "an unknown method",
      { jsonrpc: "2.0", id: 1, method: "unknown" },
      {
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32601, message: "There is no method unknown.", data: { method: "unknown", code: "not_found" } },
      },
    ],
    [
      "another version",
      { jsonrpc: "1.0", id: 1, method: "echo" },
      {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32600, message: "This is not a JSON-RPC 2.0 request.", data: { code: "invalid_params" } },
      },
    ],
    [
      "an empty batch",
      [],
      { jsonrpc: "2.0", id: null, error: { code: -32600, message: expect.any(String) as string, data: { code: "invalid_params" } } },
    ],
    ["a batch of notifications", [{ jsonrpc: "2.0", method: "echo" }], undefined],
  ])("%s", async (_what, body, answer) => expect(await answerRpc(body, dispatch, call)).toEqual(answer));

  it("answers a batch in its order, notifications left out", async () => {
    const body = [1, 2, 3].map((id) => ({ jsonrpc: "2.0", ...(id === 2 ? {} : { id }), method: "echo" }));
    expect(await answerRpc(body, dispatch, call)).toMatchObject([{ id: 1 }, { id: 3 }]);
  });

  it("refuses a batch without end", async () => {
    const body = Array.from({ length: 101 }, (_, id) => ({ jsonrpc: "2.0", id, method: "echo" }));
    expect(await answerRpc(body, dispatch, call)).toMatchObject({ error: { code: -32600 } });
  });
});
