import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { Receipt } from "../../contract/receipts.ts";
import { checkedLookup } from "../../security/security.ts";
import { createToSpan } from "./spans.ts";

/** Spans that wait at most, and that go together. */
const queue = 2_048;
const batch = 512;
/** Milliseconds that one sending, and the end, may take. */
const sendTimeout = 10_000;
const endTimeout = 2_000;

export interface Pipeline {
  add(receipt: Receipt): void;
  sent(): number;
  dropped(): number;
  end(): Promise<void>;
}

/**
 * Queue, batches and exporter. The exporter speaks HTTP by itself (not `gatedFetch`: it takes no `fetch`), so what the gate does is
 * done here: the caller had the address judged, every socket connects to an address that `checkedLookup` let pass, and the
 * exporter follows no redirect.
 */
export function createPipeline(deps: { url: string; content: boolean; version: string; delayMs: number }): Pipeline {
  let waiting = 0;
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
        waiting -= spans.length;
        const code: number = result.code;
        if (code === 0) sent += spans.length;
        else dropped += spans.length;
        // A failure is counted and no more: thrown on, it would be reported as an error of the host.
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
      if (waiting >= queue) {
        dropped += 1;
        return;
      }
      waiting += 1;
      processor.onEnd(toSpan(receipt));
    },
    sent: () => sent,
    dropped: () => dropped,
    end: async () => {
      const over = Promise.withResolvers<void>();
      const timer = setTimeout(() => over.resolve(), endTimeout);
      await Promise.race([processor.shutdown().catch(() => undefined), over.promise]);
      clearTimeout(timer);
      dropped += waiting;
      waiting = 0;
    },
  };
}
