import { createDocument } from "zod-openapi";
import type * as z from "zod";
import { ErrorBody, errorCodes, httpStatus } from "../contract/errors.ts";
import type { Method } from "../contract/method.ts";
import { methods } from "../contract/table.ts";

const json = (schema: z.ZodType) => ({ content: { "application/json": { schema } } });

/** The OpenAPI 3.1 document of the gateway, derived from the contract table. */
export function openApiDocument(version: string) {
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, method] of Object.entries<Method>(methods)) {
    const responses = {
      200: { description: "The result", ...json(method.result) },
      default: { description: "An error", ...json(ErrorBody) },
    };
    const about = { summary: method.summary, ...(name === "health.live" || name === "health.ready" ? { security: [] } : {}) };
    (paths[`/rpc/${name}`] ??= {}).post = {
      ...about,
      operationId: name,
      tags: [name.split(".")[0]],
      requestBody: json(method.params),
      responses,
    };
    for (const [route, suffix] of [[method.route, "rest"] as const, [method.alias, "alias"] as const]) {
      if (route === undefined) continue;
      const body = route.method === "GET" ? {} : { requestBody: json(method.params) };
      (paths[route.path] ??= {})[route.method.toLowerCase()] = { ...about, operationId: `${name}:${suffix}`, ...body, responses };
    }
  }
  return createDocument({
    openapi: "3.1.0",
    info: {
      title: "Lancelot",
      version,
      description: `JSON-RPC 2.0 at POST /rpc (single or batch); each method also at POST /rpc/<method>. Events at GET /ws. Error codes: ${errorCodes.map((code) => `${code} (${httpStatus[code]})`).join(", ")}.`,
    },
    security: [{ bearer: [] }],
    components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
    paths,
  });
}
