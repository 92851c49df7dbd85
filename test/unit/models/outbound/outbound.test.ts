import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noUsage } from "../../../../agent-server/contract/chat.ts";
import { type Destination, leavesMachine, type OutboundDeps, prepareOutbound } from "../../../../agent-server/models/outbound/outbound.ts";
import type { ModelEvent, ModelRequest } from "../../../../agent-server/models/request.ts";
import type { Candidate } from "../../../../agent-server/models/provider-selection.ts";
import { createPlaceholders, createRedactor, type Placeholders } from "../../../../agent-server/security/security.ts";
import { allPersonal } from "../../../support/placeholders/small-detector.ts";
import { token } from "../../../support/secret-samples.ts";

let dataDir: string;
let placeholders: Placeholders;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-outbound-"));
  placeholders = createPlaceholders({ dataDir });
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const email = "jane.doe@firma-nord.de";
const apiKey = token("sk-proj-", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fXaB3dE6gH");

let quests = 0;
const deps = (more: Partial<OutboundDeps> = {}): OutboundDeps => ({
  placeholders,
  redactor: createRedactor(),
  personal: allPersonal,
  ...more,
});
const cloud = (questId = `quest-${String((quests += 1))}`): Destination => ({
  questId,
  leavesMachine: true,
  signal: new AbortController().signal,
});
const user = (text: string): ModelRequest["messages"][number] => ({ role: "user", content: [{ type: "text", text }] });
const request = (...messages: ModelRequest["messages"]): ModelRequest => ({ system: "You help.", messages, tools: [] });
const done = (content: Extract<ModelEvent, { type: "done" }>["content"]): ModelEvent => ({
  type: "done",
  content,
  malformed: [],
  stop: "end",
  usage: noUsage(),
});

async function* playing(events: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events;
}

async function collected(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe("a request", () => {
  it("goes as it is where it holds nothing to hide, and the answer comes as it is, piece by piece", async () => {
    const given = request(user("Add 1 and 2."), { role: "assistant", content: [{ type: "text", text: "3" }] }, user("And 4?"));
    const outbound = await prepareOutbound(given, deps(), cloud());
    expect(outbound.request).toEqual(given);
    expect(outbound.hidden).toEqual({});
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ minLength: 1, maxLength: 9 }), { maxLength: 20 }), async (pieces) => {
        const text = pieces.join("");
        const events = [...pieces.map((piece): ModelEvent => ({ type: "text", text: piece })), done([{ type: "text", text }])];
        const out = await collected(outbound.restore(playing(events)));
        expect(out.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("")).toBe(text);
        expect(out.at(-1)).toEqual(events.at(-1));
      }),
      { numRuns: 200 },
    );
  });

  it("is hidden in every text of it, and says once what the words stand for", async () => {
    const given = request(
      user(`I am ${email}`),
      {
        role: "assistant",
        content: [
          { type: "thinking", text: `thinks of ${email}` },
          { type: "text", text: `Hello ${email}` },
          { type: "tool_call", id: "1", name: "write_file", args: { path: "a", nested: [{ to: email }], count: 1 } },
        ],
      },
      { role: "tool", results: [{ callId: "1", name: "write_file", text: `${email} ${apiKey}`, isError: false }] },
    );
    const outbound = await prepareOutbound({ ...given, system: `Owner: ${email}` }, deps(), cloud());
    const sent = JSON.stringify(outbound.request);
    expect(sent).not.toContain(email);
    expect(sent).not.toContain(apiKey);
    expect(new Set(JSON.stringify(outbound.request.messages).match(/EMAIL_\w{9}/g)).size).toBe(1);
    expect(outbound.request.system).toMatch(/^Owner: EMAIL_\w{9}\n\nWords like EMAIL_k482p137f or HIDDEN_t905b221m stand for values/);
    expect(outbound.hidden).toEqual({ email: 1, secret: 1 });
    // Nothing more changes on a second way out.
    const again = await prepareOutbound(outbound.request, deps({ personal: undefined }), cloud());
    expect(again.request.messages).toEqual(outbound.request.messages);
  });

  it("hides a value that only a later text gives away in the texts before it too, and the same after a restart", async () => {
    const given = request(user("Anna Schmidt asked"), user('name: "Anna Schmidt"'));
    const to = cloud();
    const outbound = await prepareOutbound(given, deps(), to);
    expect(JSON.stringify(outbound.request)).not.toContain("Anna");
    const restarted = createPlaceholders({ dataDir });
    expect((await prepareOutbound(given, deps({ placeholders: restarted }), to)).request).toEqual(outbound.request);
  });

  it("hides what a model on this machine finds besides", async () => {
    let looks = 0;
    const more: OutboundDeps["more"] = (text) => {
      looks += 1;
      const start = text.indexOf("Ulm");
      return Promise.resolve(start === -1 ? [] : [{ start, end: start + 3, kind: "address" }]);
    };
    const to = cloud();
    const outbound = await prepareOutbound(request(user("I live in Ulm"), user("Ulm is nice")), deps({ more }), to);
    expect(JSON.stringify(outbound.request.messages)).not.toContain("Ulm");
    // A text is looked at once, however often it is sent.
    expect(looks).toBe(2);
    await prepareOutbound(request(user("I live in Ulm"), user("Ulm is nice"), user("Good.")), deps({ more }), to);
    expect(looks).toBe(3);
  });

  it("keeps personal data where it stays on this machine, never secrets", async () => {
    const given = request(user(`${email} ${apiKey}`));
    const outbound = await prepareOutbound(given, deps(), { ...cloud(), leavesMachine: false });
    expect(JSON.stringify(outbound.request)).toContain(email);
    expect(JSON.stringify(outbound.request)).not.toContain(apiKey);
    const plain = await prepareOutbound(given, deps({ placeholders: undefined }), cloud());
    expect(JSON.stringify(plain.request)).toContain("[redacted:openai-key]");
  });

  it("leaves images and the providers' own blocks alone", async () => {
    const image = { type: "image", mediaType: "image/png", data: Buffer.from(email).toString("base64") } as const;
    const block = { signature: "s", text: `as ${email} was told` };
    const given = request(
      { role: "user", content: [image, { type: "text", text: email }] },
      { role: "assistant", content: [{ type: "thinking", text: "", replay: { provider: "anthropic", block } }] },
    );
    const { messages } = (await prepareOutbound(given, deps(), cloud())).request;
    expect(messages[0]?.role === "user" && messages[0].content[0]).toEqual(image);
    expect(messages[1]?.role === "assistant" && messages[1].content[0]).toEqual({
      type: "thinking",
      text: "",
      replay: { provider: "anthropic", block },
    });
  });
});

describe("an answer", () => {
  const prepared = async (to = cloud()) => {
    const outbound = await prepareOutbound(request(user(`${email} ${apiKey}`)), deps(), to);
    const text = JSON.stringify(outbound.request.messages);
    return { outbound, mail: /EMAIL_\w{9}/.exec(text)?.[0] ?? "", secret: /HIDDEN_\w{9}/.exec(text)?.[0] ?? "", to };
  };

  it("comes with personal data in its place and secrets hidden, in text, reasoning and arguments", async () => {
    const { outbound, mail, secret } = await prepared();
    const events: ModelEvent[] = [
      { type: "thinking", text: `of ${mail.slice(0, 8)}` },
      { type: "thinking", text: `${mail.slice(8)}, then EMA` },
      { type: "text", text: `to ${mail} and ${secret.slice(0, 3)}` },
      { type: "text", text: secret.slice(3) },
      done([
        { type: "thinking", text: `of ${mail}` },
        { type: "text", text: `to ${mail} and ${secret}` },
        { type: "tool_call", id: "1", name: "send", args: { to: [mail, { cc: mail.toLowerCase() }], body: secret } },
      ]),
    ];
    const out = await collected(outbound.restore(playing(events)));
    const of = (type: "text" | "thinking"): string => out.map((event) => (event.type === type ? event.text : "")).join("");
    expect(of("thinking")).toBe(`of ${email}, then EMA`);
    expect(of("text")).toBe(`to ${email} and ${secret}`);
    // What was held back of the thoughts comes before the first word.
    expect(out.map(({ type }) => type)).toEqual(["thinking", "thinking", "thinking", "text", "text", "done"]);
    const last = out.at(-1);
    expect(last?.type === "done" && last.content).toEqual([
      { type: "thinking", text: `of ${email}` },
      { type: "text", text: `to ${email} and ${secret}` },
      { type: "tool_call", id: "1", name: "send", args: { to: [email, { cc: email }], body: secret } },
    ]);
  });

  it("is told again as the provider signed it", async () => {
    const { outbound, mail, to } = await prepared();
    const call = {
      type: "tool_call",
      id: "1",
      name: "send",
      args: { to: mail.toLowerCase() },
      replay: { provider: "gemini", block: { thoughtSignature: "x" } },
    } as const;
    const out = await collected(outbound.restore(playing([done([call])])));
    const last = out.at(-1);
    const content = last?.type === "done" ? last.content : [];
    expect(content[0]?.type === "tool_call" && content[0].args).toEqual({ to: email });
    const next = await prepareOutbound(request(user(email), { role: "assistant", content }), deps(), to);
    const sent = next.request.messages[1];
    expect(sent?.role === "assistant" && sent.content[0]?.type === "tool_call" && sent.content[0].args).toEqual(call.args);
    // A model on this machine is told what was really called.
    const here = await prepareOutbound(request(user(email), { role: "assistant", content }), deps(), { ...to, leavesMachine: false });
    expect(JSON.stringify(here.request.messages[1])).toContain(`"args":{"to":"${email}"}`);
  });

  it("of a try that failed leaves nothing behind", async () => {
    const { outbound, mail } = await prepared();
    const retry: ModelEvent = { type: "retry", attempt: 2, delayMs: 0, reason: "cut" };
    const out = await collected(
      outbound.restore(playing([{ type: "text", text: `x ${mail.slice(0, 10)}` }, retry, { type: "text", text: "y" }, done([])])),
    );
    expect(out.map((event) => (event.type === "text" ? event.text : event.type))).toEqual(["x ", "retry", "y", "done"]);
  });

  it("that could not be read shows what it was", async () => {
    const { outbound, mail } = await prepared();
    const broken = { ...done([]), malformed: [{ id: "1", name: "send", raw: `{"to": "${mail}` }] } as ModelEvent;
    const out = await collected(outbound.restore(playing([broken])));
    expect(out[0]?.type === "done" && out[0].malformed[0]?.raw).toBe(`{"to": "${email}`);
  });
});

describe("what leaves this machine", () => {
  const at = (kind: Candidate["kind"], baseUrl: string | null): boolean =>
    leavesMachine({ kind, connection: baseUrl === null ? null : ({ baseUrl } as NonNullable<Candidate["connection"]>) });

  it.each<[Candidate["kind"], string | null, boolean]>([
    ["local", null, false],
    ["vscode", null, true],
    ["local", "http://127.0.0.1:8080/v1", false],
    ["local", "http://192.168.1.7:8080/v1", true],
    ["openai_compatible", "http://localhost:11434/v1", false],
    ["openai_compatible", "http://[::1]:11434/v1", false],
    ["openai_compatible", "https://cluster.firma-nord.de/v1", true],
    ["openai_compatible", "https://localhost.evil.example/v1", true],
    ["anthropic", "https://api.anthropic.com", true],
    ["anthropic", "http://127.0.0.1:9000", true],
  ])("%s at %s: %s", (kind, baseUrl, leaves) => {
    expect(at(kind, baseUrl)).toBe(leaves);
  });
});
