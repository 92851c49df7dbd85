import { describe, expect, it } from "vitest";
import { StatusError } from "../../../../agent-server/models/providers/stream-errors.ts";
import { createServerMemory, withoutRefused } from "../../../../agent-server/models/providers/server-memory.ts";

const connection = { kind: "openai_compatible" as const, displayName: "S", baseUrl: "http://localhost/v1", key: null, fetch };
const parts = {
  temperature: { says: /temperature/ },
  replay: { says: /signature/, onlyHere: true },
  schema: { says: /^(400|422)\b/ },
};

/** A server that refuses some parts; what each request carried. */
function server(refuses: Record<string, [number, string]>) {
  const sent: string[][] = [];
  const memory = createServerMemory();
  const ask = (wanted: string[], model = "m"): Promise<string> =>
    withoutRefused({ ...connection, memory }, model, parts, (may) => {
      const carried = wanted.filter((part) => may(part));
      sent.push(carried);
      for (const part of carried) {
        const refusal = refuses[part];
        if (refusal !== undefined) return Promise.reject(new StatusError(refusal[0], { error: { message: refusal[1] } }));
      }
      return Promise.resolve("answer");
    });
  return { sent, ask };
}

describe("what a server refuses", () => {
  it("is left out, which is remembered for that model", async () => {
    const { sent, ask } = server({ temperature: [400, "Unsupported parameter: 'temperature'"] });
    expect(await ask(["temperature", "schema"])).toBe("answer");
    expect(await ask(["temperature", "schema"])).toBe("answer");
    await ask(["temperature"], "other");
    expect(sent).toEqual([["temperature", "schema"], ["schema"], ["schema"], ["temperature"], []]);
  });

  it("is forgotten where it was the conversation's", async () => {
    const { sent, ask } = server({ replay: [400, "Invalid `signature`"] });
    await ask(["replay"]);
    await ask(["replay"]);
    expect(sent).toEqual([["replay"], [], ["replay"], []]);
  });

  it("may be several parts, one after the other", async () => {
    const { sent, ask } = server({ temperature: [422, "no temperature"], schema: [400, "template failed"] });
    await ask(["temperature", "schema"]);
    expect(sent).toEqual([["temperature", "schema"], ["schema"], []]);
  });

  it.each<[string, number, string]>([
    ["another status", 500, "temperature"],
    ["a key", 400, "temperature: invalid api key"],
    ["a prompt past the window", 400, "maximum context length is 4096 tokens"],
    ["a part that was not sent", 400, "signature"],
  ])("is told, not tried again: %s", async (_, status, message) => {
    const { sent, ask } = server({ temperature: [status, message] });
    await expect(ask(["temperature"])).rejects.toBeInstanceOf(StatusError);
    expect(sent.length).toBe(1);
  });

  it("is not remembered where leaving it out did not help", async () => {
    const { sent, ask } = server({ temperature: [400, "temperature"], schema: [403, "no"] });
    await expect(ask(["temperature", "schema"])).rejects.toThrow();
    await expect(ask(["temperature", "schema"])).rejects.toThrow();
    expect(sent).toEqual([["temperature", "schema"], ["schema"], ["temperature", "schema"], ["schema"]]);
  });
});
