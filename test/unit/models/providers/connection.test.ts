import { describe, expect, it } from "vitest";
import { watchFetch } from "../../../../agent-server/models/providers/connection.ts";
import { ReportedError, UnusableAnswerError } from "../../../../agent-server/models/providers/stream-errors.ts";

/** A server that answers with these pieces under this type. */
function answering(type: string | null, pieces: string[]): typeof fetch {
  return () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    return Promise.resolve(new Response(body, { headers: type === null ? {} : { "content-type": type } }));
  };
}

const read = async (type: string | null, pieces: string[]): Promise<string> =>
  (await watchFetch(answering(type, pieces), () => undefined).fetch("http://localhost")).text();

describe("an answer that should be a stream", () => {
  it.each<[string | null, string[]]>([
    ["text/event-stream; charset=utf-8", ["data: a\n\n", "data: b\n\n"]],
    ["TEXT/EVENT-STREAM", ["<not looked at>"]],
    // Under another name, or none.
    ["application/json", ["data: a\n\n", "data: b\n\n"]],
    ["text/plain", [": hello\n\n", "data: b\n\n"]],
    ["text/html", ["\n\nevent: x\n", "data: b\n\n"]],
    [null, ["da", "ta: a\n\n"].map((piece, index) => (index === 0 ? `data: first\n\n${piece}` : piece))],
    [null, [""]],
    ["application/json", []],
  ])("is one: %j %j", async (type, pieces) => {
    expect(await read(type, pieces)).toBe(pieces.join(""));
  });

  it.each<[string | null, string[], string]>([
    ["text/html", ["<!doctype html><html>", "sign in</html>"], "page"],
    [null, ["  <html>"], "page"],
    ["application/json", ['{"choices": [', "]}"], "no_stream"],
    ["text/plain", ["Bad gateway"], "no_stream"],
  ])("is none: %j %j", async (type, pieces, what) => {
    const error: unknown = await read(type, pieces).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(UnusableAnswerError);
    expect(error).toMatchObject({ what });
  });

  it.each<[string, string, string]>([
    ['{"error": {"type": "overloaded_error", "message": "busy"}}', "overloaded_error", "busy"],
    ['{"error": "out of memory"}', "server_error", "out of memory"],
    ['{"error": {"code": "rate_limit_exceeded"}}', "rate_limit_exceeded", ""],
  ])("is a failure: %s", async (body, type, message) => {
    const error: unknown = await read("application/json", [body]).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(ReportedError);
    expect(error).toMatchObject({ type, message });
  });

  it("ends the connection when nobody reads on", async () => {
    let cancelled = false;
    const endless: typeof fetch = () =>
      Promise.resolve(
        new Response(
          new ReadableStream<Uint8Array>({
            pull: (controller) => controller.enqueue(new TextEncoder().encode("data: a\n\n")),
            cancel: () => {
              cancelled = true;
            },
          }),
        ),
      );
    const response = await watchFetch(endless, undefined).fetch("http://localhost");
    await response.body?.cancel();
    expect(cancelled).toBe(true);
  });
});
