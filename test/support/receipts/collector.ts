import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import * as z from "zod";

const Value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: z.union([z.string(), z.number()]) }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ arrayValue: z.strictObject({ values: z.array(z.strictObject({ stringValue: z.string() })) }) }),
]);
const KeyValue = z.strictObject({ key: z.string(), value: Value });
const Nanoseconds = z.string().regex(/^\d{18,20}$/);
const Span = z.strictObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  traceState: z.string().optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: Nanoseconds,
  endTimeUnixNano: Nanoseconds,
  attributes: z.array(KeyValue),
  droppedAttributesCount: z.literal(0),
  events: z.array(z.never()),
  droppedEventsCount: z.literal(0),
  links: z.array(z.never()),
  droppedLinksCount: z.literal(0),
  status: z.strictObject({ code: z.int().min(0).max(2), message: z.string().optional() }),
  flags: z.int().optional(),
});
/** `ExportTraceServiceRequest` in the JSON of OTLP 1.x, as a collector takes it. */
const ExportRequest = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes: z.array(KeyValue), droppedAttributesCount: z.literal(0) }),
      schemaUrl: z.string().optional(),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string().optional() }),
          schemaUrl: z.string().optional(),
          spans: z.array(Span),
        }),
      ),
    }),
  ),
});

export type CollectedSpan = Omit<z.infer<typeof Span>, "attributes"> & { attributes: Record<string, unknown> };

/** An OTLP/HTTP endpoint: takes `POST /v1/traces` as the protocol has it, refuses everything else. */
export async function startCollector(answer: (request: number) => number | "never" = () => 200) {
  const spans: CollectedSpan[] = [];
  const requests: { path: string; headers: IncomingMessage["headers"] }[] = [];
  const resources: Record<string, unknown>[] = [];
  const problems: string[] = [];

  const take = (body: Buffer): void => {
    const { resourceSpans } = ExportRequest.parse(JSON.parse(body.toString("utf8")));
    for (const { resource, scopeSpans } of resourceSpans) {
      resources.push(toFields(resource.attributes));
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) spans.push({ ...span, attributes: toFields(span.attributes) });
    }
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push({ path: request.url ?? "", headers: request.headers });
      const status = answer(requests.length);
      if (status === "never") return;
      const body = Buffer.concat(chunks);
      if (request.method !== "POST" || request.url !== "/v1/traces" || request.headers["content-type"] !== "application/json") {
        problems.push(`${request.method} ${request.url} ${request.headers["content-type"]}`);
        response.writeHead(404).end();
        return;
      }
      try {
        if (status === 200) take(request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body);
      } catch (error) {
        problems.push(String(error));
        response.writeHead(400).end();
        return;
      }
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    spans,
    requests,
    resources,
    problems,
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function toFields(attributes: readonly z.infer<typeof KeyValue>[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      if ("stringValue" in value) return [key, value.stringValue];
      if ("intValue" in value) return [key, Number(value.intValue)];
      if ("boolValue" in value) return [key, value.boolValue];
      return [key, value.arrayValue.values.map((item) => item.stringValue)];
    }),
  );
}
