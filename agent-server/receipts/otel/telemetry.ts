import { trimEnd } from "../../contract/trim-end.ts";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import type { Receipt } from "../../contract/receipts.ts";
import type { GatedFetch, Log } from "../../security/security.ts";
import { createLayeredConfig } from "../../storage/storage.ts";
import type { Ledger } from "../types.ts";
import type { Pipeline } from "./pipeline.ts";

const TelemetrySettings = z.strictObject({
  version: z.literal(1).default(1),
  enabled: z.boolean().default(false),
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  include_content: z.boolean().default(false),
});

export interface TelemetryState {
  /** `off`: not enabled; `on`: spans are sent; `refused`: enabled but not possible, for the reason in `problem`. */
  state: "off" | "on" | "refused";
  problem: string | null;
  /** Spans delivered to the collector, and spans dropped because the queue was full or the collector rejected them. */
  sent: number;
  dropped: number;
}

export interface Telemetry {
  state(): TelemetryState;
  /** Why the owner's config/telemetry.yaml is not used; null for a valid or missing file, also when it was corrected since. */
  configProblem(): string | null;
  /** Sends queued spans until its timeout, then stops. */
  end(): Promise<void>;
}

export interface TelemetryDeps {
  ledger: Pick<Ledger, "onReceipt">;
  /** Folder of the shipped `telemetry.yaml`. */
  configDir: string | null;
  /** Contains the owner's `config/telemetry.yaml`, which alone can enable telemetry; a workspace cannot. */
  dataDir: string;
  env: NodeJS.ProcessEnv;
  /** Checks the collector's address. */
  gatedFetch: GatedFetch;
  log: Log;
  version: string;
  /** Batching delay and the timeout of `end`, in milliseconds: 5 and 2 seconds by default. */
  delayMs?: number;
  endTimeoutMs?: number;
}

/** Maximum receipts queued while the library loads. */
const maxEarly = 1_000;

/**
 * Sends closed receipts as spans to an OpenTelemetry collector (OTLP over HTTP) when the owner has enabled it. The library is loaded
 * only then. A slow, unreachable or failing collector only loses spans: the queue is bounded, and dropped spans are counted.
 */
export function createTelemetry(deps: TelemetryDeps): Telemetry {
  const { configDir, dataDir } = deps;
  const file = createLayeredConfig({
    configDir,
    dataDir,
    name: "telemetry.yaml",
    schema: TelemetrySettings,
    consequence: "No traces are sent until you correct it and restart Lancelot.",
  });
  const { value: settings, problem } = file.read();
  const url = tracesUrl(deps.env, settings.endpoint);
  const off = (state: "off" | "refused", why: string | null): Telemetry => ({
    state: () => ({ state, problem: why, sent: 0, dropped: 0 }),
    configProblem: () => file.read().problem,
    end: () => Promise.resolve(),
  });
  if (problem !== null) return off("refused", problem);
  if (!settings.enabled || deps.env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return off("off", null);
  if (url === null)
    return off("refused", "Tracing is enabled without a collector. Set OTEL_EXPORTER_OTLP_ENDPOINT, or endpoint in config/telemetry.yaml.");
  try {
    if (!URL.canParse(url)) throw new LancelotError("invalid_params", `${url.slice(0, 200)} is not a URL. Write it as https://host.`);
    // Throws for unencrypted connections to other machines and for link-local addresses.
    deps.gatedFetch([url]);
  } catch (error) {
    return off("refused", `Traces are not sent: ${error instanceof Error ? error.message : "the collector's URL cannot be used."}`);
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
      const { version, delayMs = 5_000, endTimeoutMs } = deps;
      pipeline = createPipeline({ url, content: settings.include_content, version, delayMs, endTimeoutMs });
      for (const receipt of early) pipeline.add(receipt);
      early = [];
    },
    (error: unknown) => {
      failed = true;
      deps.log("could not load the OpenTelemetry library", error);
    },
  );

  return {
    state: () => ({
      state: failed ? "refused" : "on",
      problem: failed ? "Traces are not sent: the OpenTelemetry library failed to load. Reinstall Lancelot." : null,
      sent: pipeline?.sent() ?? 0,
      dropped: dropped + (pipeline?.dropped() ?? 0),
    }),
    configProblem: () => file.read().problem,
    end: async () => {
      stop();
      await loading;
      await pipeline?.end();
    },
  };
}

/** As in the OTLP exporter specification: the traces endpoint is used as is, the common endpoint gets the path `/v1/traces`. */
function tracesUrl(env: NodeJS.ProcessEnv, endpoint: string | undefined): string | null {
  const traces = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  if (traces !== undefined && traces !== "") return traces;
  const common = env["OTEL_EXPORTER_OTLP_ENDPOINT"] || endpoint;
  return common === undefined || common === "" ? null : `${trimEnd(common, "/")}/v1/traces`;
}
