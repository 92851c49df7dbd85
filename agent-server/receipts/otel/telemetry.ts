import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import type { Receipt } from "../../contract/receipts.ts";
import type { GatedFetch, Log } from "../../security/security.ts";
import type { Ledger } from "../types.ts";
import { readSettings } from "../settings.ts";
import type { Pipeline } from "./pipeline.ts";

const TelemetrySettings = z.strictObject({
  version: z.literal(1).default(1),
  enabled: z.boolean().default(false),
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  include_content: z.boolean().default(false),
});

export interface TelemetryState {
  /** `off`: not asked for; `on`: spans are sent; `refused`: asked for, and `problem` says why not. */
  state: "off" | "on" | "refused";
  problem: string | null;
  /** Spans that reached the collector, and those that were given up: the queue was full, or the collector did not take them. */
  sent: number;
  dropped: number;
}

export interface Telemetry {
  state(): TelemetryState;
  /** Sends what waits, two seconds at most, and stops. */
  end(): Promise<void>;
}

export interface TelemetryDeps {
  ledger: Pick<Ledger, "onReceipt">;
  /** Folder of the shipped `telemetry.yaml`. */
  configDir: string | null;
  /** The owner's `config/telemetry.yaml` is below it: alone it, never a workspace, switches this on. */
  dataDir: string;
  env: NodeJS.ProcessEnv;
  /** The gate judges the collector's address. */
  gatedFetch: GatedFetch;
  log: Log;
  version: string;
  /** Milliseconds that spans wait to be sent together. */
  delayMs?: number;
}

/** Receipts kept while the library loads. */
const maxEarly = 1_000;

/**
 * Sends closed receipts as spans to an OpenTelemetry collector (OTLP over HTTP), when the owner asked for it. The library is loaded
 * then alone. A collector that is slow, dead or wrong costs nothing but its spans: they wait in a bounded queue and are dropped
 * from it, counted.
 */
export function createTelemetry(deps: TelemetryDeps): Telemetry {
  const { settings, problem } = readSettings(TelemetrySettings, {
    configDir: deps.configDir,
    dataDir: deps.dataDir,
    file: "telemetry.yaml",
  });
  const url = tracesUrl(deps.env, settings.endpoint);
  const off = (state: "off" | "refused", why: string | null): Telemetry => ({
    state: () => ({ state, problem: why, sent: 0, dropped: 0 }),
    end: () => Promise.resolve(),
  });
  if (!settings.enabled || deps.env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true")
    return off(problem === null ? "off" : "refused", problem);
  if (url === null)
    return off(
      "refused",
      "Traces are switched on, and no collector is named. Set OTEL_EXPORTER_OTLP_ENDPOINT, or endpoint in config/telemetry.yaml.",
    );
  try {
    if (!URL.canParse(url)) throw new LancelotError("invalid_params", `${url.slice(0, 200)} is not an address. Write it as https://host.`);
    // Refuses what the gate would refuse: in the open to another machine, the local link.
    deps.gatedFetch([url]);
  } catch (error) {
    return off("refused", `Traces are not sent: ${error instanceof Error ? error.message : "the collector's address cannot be used."}`);
  }

  let pipeline: Pipeline | null = null;
  let failed = false;
  let early: Receipt[] = [];
  let dropped = 0;
  const stop = deps.ledger.onReceipt((receipt) => {
    if (receipt.status === "pending" || failed) return;
    if (pipeline !== null) pipeline.add(receipt);
    else if (early.length < maxEarly) early.push(receipt);
    else dropped += 1;
  });
  const loading = import("./pipeline.ts").then(
    ({ createPipeline }) => {
      pipeline = createPipeline({ url, content: settings.include_content, version: deps.version, delayMs: deps.delayMs ?? 5_000 });
      for (const receipt of early) pipeline.add(receipt);
      early = [];
    },
    (error: unknown) => {
      failed = true;
      deps.log("traces cannot be sent: the library did not load", error);
    },
  );

  return {
    state: () => ({
      state: failed ? "refused" : "on",
      problem: failed ? "Traces are not sent: the library for it did not load. Reinstall Lancelot." : problem,
      sent: pipeline?.sent() ?? 0,
      dropped: dropped + (pipeline?.dropped() ?? 0),
    }),
    end: async () => {
      stop();
      await loading;
      await pipeline?.end();
    },
  };
}

/** As the specification of the exporter has it: the address for traces as it stands, the common one with its path. */
function tracesUrl(env: NodeJS.ProcessEnv, endpoint: string | undefined): string | null {
  const traces = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  if (traces !== undefined && traces !== "") return traces;
  const common = env["OTEL_EXPORTER_OTLP_ENDPOINT"] || endpoint;
  return common === undefined || common === "" ? null : `${common.replace(/\/+$/, "")}/v1/traces`;
}
