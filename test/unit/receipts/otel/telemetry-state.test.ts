import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Receipt } from "../../../../agent-server/contract/receipts.ts";
import { createPipeline } from "../../../../agent-server/receipts/otel/pipeline.ts";
import { createTelemetry, type Telemetry } from "../../../../agent-server/receipts/otel/telemetry.ts";
import { createGatedFetch } from "../../../../agent-server/security/security.ts";
import { startCollector } from "../../../support/receipts/collector.ts";
import { LedgerFolder } from "../../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let collector: Awaited<ReturnType<typeof startCollector>>;
let tell: (receipt: Receipt) => void;
let listening: boolean;
let logged: string[];
let answer: number;
const open: Telemetry[] = [];

beforeEach(async () => {
  folder = new LedgerFolder();
  answer = 200;
  logged = [];
  listening = false;
  collector = await startCollector(() => answer);
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.end();
  await collector.close();
  folder.remove();
});

const receipt = (id: string, status: Receipt["status"] = "success"): Receipt => ({
  id,
  timestamp: "2026-11-21T12:00:00.000Z",
  actionType: "system",
  actionName: id,
  inputs: {},
  outputs: {},
  status,
  durationMs: 1,
  tokenCount: null,
  cognitionTier: "DETERMINISTIC",
  riskTier: "T0",
  parentId: null,
  questId: null,
  errorMessage: null,
  metadata: {},
  hash: "h",
  prevHash: "p",
});

function start(yaml: string | null, env: NodeJS.ProcessEnv = {}, more: { configDir?: string | null } = {}): Telemetry {
  mkdirSync(join(folder.dataDir, "config"), { recursive: true });
  if (yaml !== null) writeFileSync(join(folder.dataDir, "config/telemetry.yaml"), yaml);
  const made = createTelemetry({
    ledger: {
      onReceipt: (listener) => {
        tell = listener;
        listening = true;
        return () => {
          listening = false;
        };
      },
    },
    configDir: null,
    dataDir: folder.dataDir,
    env,
    gatedFetch: createGatedFetch(),
    log: (message) => logged.push(message),
    version: "1.2.3",
    delayMs: 5,
    endTimeoutMs: 60_000,
    ...more,
  });
  open.push(made);
  return made;
}
const here = () => `http://127.0.0.1:${collector.port}`;
const names = () => collector.spans.map(({ name }) => name);

describe("telemetry", () => {
  it.each<[string, string | null, NodeJS.ProcessEnv, object]>([
    ["by default", null, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }, { state: "off", problem: null }],
    ["that is switched off", "enabled: false\n", {}, { state: "off", problem: null }],
    ["switched off by the environment", "enabled: true\n", { OTEL_SDK_DISABLED: "TRUE" }, { state: "off", problem: null }],
    [
      "without a collector",
      "enabled: true\n",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "" },
      {
        state: "refused",
        problem: "Tracing is enabled without a collector. Set OTEL_EXPORTER_OTLP_ENDPOINT, or endpoint in config/telemetry.yaml.",
      },
    ],
    [
      "to no address",
      "enabled: true\n",
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `nowhere ${"x".repeat(300)}` },
      {
        state: "refused",
        problem: `Traces are not sent: ${`nowhere ${"x".repeat(300)}`.slice(0, 200)} is not a URL. Write it as https://host.`,
      },
    ],
    [
      "in the open to another machine",
      "enabled: true\nendpoint: http://collector.example\n",
      {},
      { state: "refused", problem: expect.stringMatching(/^Traces are not sent: \S.*not encrypted/) as string },
    ],
    [
      "with settings that cannot be used",
      "enabled: maybe\n",
      {},
      { state: "refused", problem: expect.stringMatching(/^config\/telemetry\.yaml in the data folder, line 1: /) as string },
    ],
    [
      "with an endpoint that is none",
      "enabled: true\nendpoint: ftp://x\n",
      {},
      { state: "refused", problem: expect.stringContaining("endpoint") as string },
    ],
    ["with a setting nobody knows", "enabled: true\nhost: x\n", {}, { state: "refused", problem: expect.any(String) as string }],
  ])("%s listens to nothing, and says why", async (_, yaml, env, state) => {
    const made = start(yaml, env);
    expect(made.state()).toEqual({ sent: 0, dropped: 0, ...state });
    expect(listening).toBe(false);
    await made.end();
  });

  it("keeps what is closed while its library loads, and sends it with what follows; nothing after its end", async () => {
    const made = start(`enabled: true\nendpoint: ${here()}\n`);
    expect(made.state()).toEqual({ state: "on", problem: null, sent: 0, dropped: 0 });
    tell(receipt("first"));
    tell(receipt("open", "pending"));
    await vi.waitFor(() => expect(names()).toEqual(["first"]));
    tell(receipt("second", "cancelled"));
    tell(receipt("still open", "pending"));
    await vi.waitFor(() => expect(names()).toEqual(["first", "second"]));
    // The collector has them before their answer is back.
    await vi.waitFor(() => expect(made.state()).toEqual({ state: "on", problem: null, sent: 2, dropped: 0 }));
    expect(collector.requests.map(({ path }) => path)).toEqual(["/v1/traces", "/v1/traces"]);
    await made.end();
    expect(listening).toBe(false);
    expect(collector.problems).toEqual([]);
  });

  it("keeps a thousand receipts while its library loads, and counts the others", async () => {
    const made = start("enabled: true\n", { OTEL_EXPORTER_OTLP_ENDPOINT: `${here()}///` });
    for (let index = 0; index < 1_003; index += 1) tell(receipt(`r${index}`));
    expect(made.state().dropped).toBe(3);
    await made.end();
    expect(made.state()).toMatchObject({ sent: 1_000, dropped: 3 });
    expect(names()).toHaveLength(1_000);
    expect(collector.requests.every(({ path }) => path === "/v1/traces")).toBe(true);
  });

  it.each<[string, string, () => NodeJS.ProcessEnv]>([
    [
      "the variable for traces before the common one",
      "",
      () => ({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${here()}/v1/traces`, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }),
    ],
    ["the common variable before the owner's file", "endpoint: http://127.0.0.1:1\n", () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: here() })],
    ["a variable that is empty not at all", "", () => ({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "", OTEL_EXPORTER_OTLP_ENDPOINT: here() })],
    ["a switch of the environment that is not on", "", () => ({ OTEL_SDK_DISABLED: "false", OTEL_EXPORTER_OTLP_ENDPOINT: here() })],
  ])("takes %s", async (_, yaml, env) => {
    const made = start(`enabled: true\n${yaml}`, env());
    tell(receipt("one"));
    await made.end();
    expect(names()).toEqual(["one"]);
  });

  it("is off while the owner's file cannot be used, whatever is shipped", async () => {
    const shipped = join(folder.dataDir, "shipped");
    mkdirSync(shipped);
    writeFileSync(join(shipped, "telemetry.yaml"), `enabled: true\nendpoint: ${here()}\n`);
    const made = start("include_content: perhaps\n", {}, { configDir: shipped });
    expect(made.state()).toMatchObject({ state: "refused", problem: expect.stringContaining("include_content") as string });
    expect(listening).toBe(false);
    await made.end();
  });

  it("sends what was read and written only where it is asked to", async () => {
    const made = start(`enabled: true\ninclude_content: true\nendpoint: ${here()}\n`);
    tell({ ...receipt("one"), inputs: { a: 1 } });
    await made.end();
    expect(collector.spans[0]?.attributes["lancelot.inputs"]).toBe('{"a":1}');
    expect(collector.resources[0]).toEqual({ "service.name": "lancelot", "service.version": "1.2.3" });
  });
});

describe("the queue of spans", () => {
  const pipe = (delayMs: number) =>
    createPipeline({ url: `${here()}/v1/traces`, content: false, version: "1", delayMs, endTimeoutMs: 60_000 });

  it("sends at once what fills a batch of 512, and the rest after the delay or at the end", async () => {
    const pipeline = pipe(60_000);
    for (let index = 0; index < 600; index += 1) pipeline.add(receipt(`r${index}`));
    await vi.waitFor(() => expect(pipeline.sent()).toBe(512));
    await pipeline.end();
    expect([collector.spans.length, pipeline.sent(), pipeline.dropped()]).toEqual([600, 600, 0]);
    expect(collector.requests).toHaveLength(2);
  });

  it("holds 2,048 that wait; more are given up and counted", async () => {
    const pipeline = pipe(60_000);
    for (let index = 0; index < 2_100; index += 1) pipeline.add(receipt(`r${index}`));
    expect(pipeline.dropped()).toBe(52);
    await pipeline.end();
    expect(pipeline.sent() + pipeline.dropped()).toBe(2_100);
    expect(pipeline.sent()).toBe(2_048);
  });

  it("counts what the collector does not take, and continues", async () => {
    answer = 400;
    const pipeline = pipe(5);
    pipeline.add(receipt("refused"));
    await vi.waitFor(() => expect(pipeline.dropped()).toBe(1));
    answer = 200;
    pipeline.add(receipt("taken"));
    await vi.waitFor(() => expect(pipeline.sent()).toBe(1));
    await pipeline.end();
    expect([pipeline.sent(), pipeline.dropped()]).toEqual([1, 1]);
    expect(names()).toEqual(["taken"]);
  });
});
