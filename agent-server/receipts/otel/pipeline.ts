import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { Receipt } from "../../contract/receipts.ts";
import { checkedLookup } from "../../security/security.ts";
import { createToSpan } from "./spans.ts";

/** Maximum queued spans, and spans per request. */
const queue = 2_048;
const batch = 512;
/** Timeout of one request (ms). */
const sendTimeout = 10_000;

export interface Pipeline {
  add(receipt: Receipt): void;
  sent(): number;
  dropped(): number;
  end(): Promise<void>;
}

/**
 * Queues, batches and exports spans. The exporter cannot use `gatedFetch`, so this code applies the same checks: the caller has
 * checked the URL, every socket connects to an address that `checkedLookup` allows, and the exporter follows no redirects.
 */
export function createPipeline(deps: {
  url: string;
  content: boolean;
  version: string;
  delayMs: number;
  /** Timeout of `end` (ms). */
  endTimeoutMs?: number | undefined;
}): Pipeline {
  let queued = 0;
  let sent = 0;
  let dropped = 0;
  const exporter = new OTLPTraceExporter({
    url: deps.url,
    timeoutMillis: sendTimeout,
    httpAgentOptions: { keepAlive: true, maxSockets: 1, lookup: checkedLookup() },
  });
  const counting: SpanExporter = {
    export: (spans: ReadableSpan[], done) => {
      exporter.export(spans, (result) => {
        queued -= spans.length;
        const code: number = result.code;
        if (code === 0) sent += spans.length;
        else dropped += spans.length;
        // Failures are only counted: passed on, they would be reported as host errors.
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
  const processor = new BatchSpanProcessor(counting, {
    maxQueueSize: queue,
    maxExportBatchSize: batch,
    scheduledDelayMillis: deps.delayMs,
    exportTimeoutMillis: sendTimeout + 1_000,
  });
  const resource = resourceFromAttributes({ "service.name": "lancelot", "service.version": deps.version });
  const toSpan = createToSpan({ resource, version: deps.version, content: deps.content });

  return {
    add: (receipt) => {
      if (queued >= queue) {
        dropped += 1;
        return;
      }
      queued += 1;
      processor.onEnd(toSpan(receipt));
    },
    sent: () => sent,
    dropped: () => dropped,
    end: async () => {
      const over = Promise.withResolvers<void>();
      const timer = setTimeout(() => over.resolve(), deps.endTimeoutMs ?? 2_000);
      await Promise.race([processor.shutdown().catch(() => undefined), over.promise]);
      clearTimeout(timer);
      dropped += queued;
      queued = 0;
    },
  };
}
