import { describe, expect, it } from "vitest";
import type { AskEditor, EditorParams, EditorResult } from "../../../../agent-server/contract/editor.ts";
import type { ModelEvent, ModelRequest } from "../../../../agent-server/models/models.ts";
import { createEditorModels } from "../../../../agent-server/models/providers/vscode.ts";

type Next = EditorResult<"languageModelNext">;
type Started = EditorParams<"languageModelStart">;

const copilot = { model: "copilot/gpt-x", name: "GPT X", vendor: "copilot", family: "gpt", maxInputTokens: 64_000, images: false };
const request: ModelRequest = { system: "Be short.", tools: [], messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }] };
const call = { model: "copilot/gpt-x", maxTokens: 500, temperature: undefined, thinking: undefined };
const end: Next["end"] = { kind: "end", inputTokens: 12, outputTokens: 3 };

/** An editor that offers models and answers with what is given, piece by piece. */
function editor(answers: Next[], models: (typeof copilot)[] | null = [copilot]) {
  const started: Started[] = [];
  const stopped: string[] = [];
  const asked: string[] = [];
  const ask = (async (name: string, params: unknown) => {
    asked.push(name);
    if (name === "languageModels") return { available: models !== null, items: models ?? [] };
    if (name === "languageModelStart") started.push(params as Started);
    if (name === "languageModelStop") stopped.push((params as { requestId: string }).requestId);
    if (name === "languageModelNext") return answers.shift() ?? new Promise<never>(() => undefined);
    return {};
  }) as AskEditor;
  return { provider: createEditorModels("VS Code language models", ask), started, stopped, asked };
}

async function all(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const found: ModelEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}
const signal = (): AbortSignal => new AbortController().signal;

describe("a model of the editor", () => {
  it("is not one that has no window", async () => {
    const chooser = { ...copilot, model: "copilotcli/auto", maxInputTokens: 0 };
    const { provider } = editor([], [chooser, copilot]);
    expect((await provider.listModels(signal())).map(({ model }) => model)).toEqual([copilot.model]);
  });

  it("streams words and calls as they come, and counts as the editor does", async () => {
    const { provider, started, stopped } = editor([
      { parts: [{ type: "text", text: "I " }], end: null },
      { parts: [{ type: "text", text: "look." }], end: null },
      { parts: [{ type: "tool_call", id: "c1", name: "read_file", args: { path: "a.ts" } }], end },
    ]);
    const events = await all(provider.stream(request, call, signal()));
    expect(events.slice(0, 2)).toEqual([
      { type: "text", text: "I " },
      { type: "text", text: "look." },
    ]);
    expect(events.at(-1)).toMatchObject({
      type: "done",
      stop: "tool_calls",
      malformed: [],
      content: [
        { type: "text", text: "I look." },
        { type: "tool_call", id: "c1", name: "read_file", args: { path: "a.ts" } },
      ],
      usage: { inputTokens: 12, outputTokens: 3, cachedInputTokens: 0 },
    });
    expect(started).toHaveLength(1);
    expect(started[0]).toMatchObject({ model: "copilot/gpt-x", maxTokens: 500 });
    expect(stopped).toEqual([]);
  });

  it("is told a whole conversation: turns alternate, results follow their calls, pictures it cannot see are named", async () => {
    const { provider, started } = editor([{ parts: [], end }]);
    await all(
      provider.stream(
        {
          ...request,
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: "See" },
                { type: "image", mediaType: "image/png", data: "AAAA" },
              ],
            },
            {
              role: "assistant",
              content: [
                { type: "thinking", text: "hm" },
                { type: "tool_call", id: "c1", name: "read_file", args: {} },
              ],
            },
            { role: "tool", results: [{ callId: "c1", name: "read_file", text: "no such file", isError: true }] },
          ],
        },
        call,
        signal(),
      ),
    );
    expect(started[0]?.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Be short." },
          { type: "text", text: "See" },
          { type: "text", text: "[An image was attached, which this model cannot see.]" },
        ],
      },
      { role: "assistant", content: [{ type: "tool_call", id: "c1", name: "read_file", args: {} }] },
      { role: "user", content: [{ type: "tool_result", callId: "c1", text: "Failed: no such file" }] },
    ]);
  });

  it("is stopped in the editor when the task is stopped, and when nobody reads on", async () => {
    const first = editor([{ parts: [{ type: "text", text: "I" }], end: null }]);
    const iterator = first.provider.stream(request, call, signal())[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
    expect(first.stopped).toEqual([first.started[0]?.requestId]);

    const abort = new AbortController();
    const second = editor([{ parts: [{ type: "text", text: "I" }], end: null }]);
    const events = second.provider.stream(request, call, abort.signal)[Symbol.asyncIterator]();
    await events.next();
    abort.abort();
    expect(second.stopped).toEqual([second.started[0]?.requestId]);
  });

  it("`auto` is the first that is offered", async () => {
    const { provider, started } = editor([{ parts: [], end }]);
    await all(provider.stream(request, { ...call, model: "auto" }, signal()));
    expect(started[0]?.model).toBe("copilot/gpt-x");
    expect(await provider.listModels(signal())).toEqual([
      { model: "copilot/gpt-x", displayName: "GPT X (copilot)", contextWindow: 64_000 },
    ]);
  });

  it.each<[string, Next[], (typeof copilot)[] | null, string, string, string]>([
    [
      "no consent",
      [{ parts: [], end: { kind: "failed", reason: "permission", message: "no" } }],
      [copilot],
      "denied",
      "refused",
      "Allow it",
    ],
    [
      "a quota",
      [{ parts: [], end: { kind: "failed", reason: "blocked", message: "too many" } }],
      [copilot],
      "unavailable",
      "rate_limited",
      "too many",
    ],
    [
      "a model that went",
      [{ parts: [], end: { kind: "failed", reason: "missing", message: "" } }],
      [copilot],
      "unavailable",
      "model",
      "another",
    ],
    ["a failure", [{ parts: [], end: { kind: "failed", reason: "failed", message: "boom" } }], [copilot], "unavailable", "server", "boom"],
    ["another model", [], [{ ...copilot, model: "copilot/other" }], "unavailable", "model", '"copilot/gpt-x"'],
    ["no model", [], [], "unavailable", "model", "Install or sign in"],
    ["an editor without such models", [], null, "unavailable", "model", "no language models"],
  ])("%s is reported", async (_name, answers, models, code, reason, expectedText) => {
    const { provider } = editor(answers, models);
    const failed = all(provider.stream(request, call, signal()));
    await expect(failed).rejects.toMatchObject({ code, data: { reason }, message: expect.stringContaining(expectedText) });
  });
});
