import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import * as z from "zod";

export interface PlayedServer {
  port: number;
  origin: string;
  /** Method, path and body of every request. */
  asked: { method: string; path: string; body: unknown }[];
  close(): Promise<void>;
}

type Answer = (request: { path: string; body: unknown }, response: ServerResponse) => void;

const window = 8_192;
const json = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

/** What the servers answer to what only they know, as their current versions do. */
const kinds = {
  ollama: (models: string[]): Record<string, Answer> => ({
    "/api/tags": (_, response) =>
      json(response, { models: models.map((name) => ({ name, model: name, size: 1, digest: "", details: { family: "qwen3" } })) }),
    "/api/show": ({ body }, response) =>
      json(response, {
        details: { family: "qwen3" },
        model_info: { "general.architecture": "qwen3", "qwen3.context_length": 262_144 },
        ...(z.object({ model: z.string() }).parse(body).model.includes("set") && { parameters: 'stop    "<|im_end|>"\nnum_ctx    16384' }),
      }),
    "/v1/models": (_, response) =>
      json(response, { object: "list", data: models.map((id) => ({ id, object: "model", created: 1, owned_by: "library" })) }),
  }),
  "llama-server": (models: string[]): Record<string, Answer> => ({
    "/props": (_, response) =>
      json(response, { default_generation_settings: { id: 0, n_ctx: window }, total_slots: 1, model_path: "/m/x.gguf", chat_template: "" }),
    // It answers Ollama's list too.
    "/api/tags": (_, response) => json(response, { models: models.map((name) => ({ name, model: name, details: { format: "gguf" } })) }),
    "/v1/models": (_, response) =>
      json(response, {
        models: [],
        object: "list",
        data: models.map((id) => ({ id, object: "model", owned_by: "llamacpp", meta: { n_ctx_train: 40_960, n_params: 4e9 } })),
      }),
  }),
  "lm-studio": (models: string[]): Record<string, Answer> => ({
    "/api/v0/models": (_, response) =>
      json(response, {
        object: "list",
        data: [
          ...models.map((id) => ({
            id,
            object: "model",
            type: "llm",
            state: "loaded",
            max_context_length: 32_768,
            loaded_context_length: window,
          })),
          { id: "text-embedding-nomic", object: "model", type: "embeddings", state: "not-loaded", max_context_length: 2_048 },
        ],
      }),
    "/v1/models": (_, response) =>
      json(response, {
        object: "list",
        data: [...models, "text-embedding-nomic"].map((id) => ({ id, object: "model", owned_by: "organization_owner" })),
      }),
    // What it does not know it answers with 200 and an error.
    "*": (_, response) => json(response, { error: "Unexpected endpoint or method." }),
  }),
  vllm: (models: string[]): Record<string, Answer> => ({
    "/version": (_, response) => json(response, { version: "0.11.0" }),
    "/v1/models": (_, response) =>
      json(response, {
        object: "list",
        data: models.map((id) => ({ id, object: "model", owned_by: "vllm", root: id, max_model_len: window })),
      }),
  }),
  other: (models: string[]): Record<string, Answer> => ({
    "/v1/models": (_, response) => json(response, { data: models.map((id) => ({ id })) }),
  }),
};
export type PlayedKind = keyof typeof kinds;

/** A server that answers as one of them does: its lists, and chats that stream `words`. `schema`: what it does with a JSON schema. */
export function playModelServer(
  kind: PlayedKind,
  models: string[],
  options: { expectedText?: string; schema?: "holds" | "refuses" | "ignores" } = {},
): Promise<PlayedServer> {
  const { expectedText = "Good day to you.", schema = "holds" } = options;
  return serve({
    ...kinds[kind](models),
    "/v1/chat/completions": ({ body }, response) => {
      const asked = z.looseObject({ stream: z.boolean().optional(), response_format: z.unknown().optional() }).parse(body);
      if (asked.response_format !== undefined && schema === "refuses")
        return void json(response, { error: { message: "failed to parse grammar", type: "invalid_request_error" } }, 400);
      const content =
        asked.response_format !== undefined && schema === "holds" ? '{"city": "Tokyo", "inhabitants": 14000000}' : expectedText;
      if (asked.stream !== true)
        return void json(response, { choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] });
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const piece of content.split(/(?<= )/))
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: piece }, finish_reason: null }] })}\n\n`);
      response.end(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 9, completion_tokens: 4 } })}\n\ndata: [DONE]\n\n`,
      );
    },
  });
}

/** A server with these answers, `*` for anything else; 404 without it. */
export async function serve(answers: Record<string, Answer>): Promise<PlayedServer> {
  const asked: PlayedServer["asked"] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? "/";
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      const body: unknown = text === "" ? undefined : JSON.parse(text);
      asked.push({ method: request.method ?? "", path, body });
      const answer = answers[path] ?? answers["*"];
      if (answer === undefined) json(response, { error: "not found" }, 404);
      else answer({ path, body }, response);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
