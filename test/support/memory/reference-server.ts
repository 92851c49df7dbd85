import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as z from "zod";

const Graph = z.object({ entities: z.array(z.object({ name: z.string(), observations: z.array(z.string()) })) });

export interface ReferenceServer {
  /** Names of the entities that `search_nodes` gives, in its order. */
  search(query: string): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * @modelcontextprotocol/server-memory as its own process, asked over its real protocol. An item is an entity with one observation. Its
 * file is written here as the server writes it: `create_entities` would write the whole file anew with each call.
 */
export async function startReferenceServer(
  folder: string,
  items: Iterable<{ readonly id: string; readonly kind: string; readonly content: string }>,
): Promise<ReferenceServer> {
  const file = join(folder, "reference.jsonl");
  const out = createWriteStream(file);
  let first = true;
  for (const { id, kind, content } of items) {
    const line = JSON.stringify({ type: "entity", name: id, entityType: kind, observations: [content] });
    if (!out.write(`${first ? "" : "\n"}${line}`)) await once(out, "drain");
    first = false;
  }
  out.end();
  await once(out, "close");
  const server = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-memory/dist/index.js");
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [server],
    env: { MEMORY_FILE_PATH: file },
    stderr: "ignore",
  });
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(transport);
  return {
    search: async (query) => {
      const { content } = await client.callTool({ name: "search_nodes", arguments: { query } }, undefined, { timeout: 120_000 });
      const [part] = z.array(z.object({ text: z.string() })).parse(content);
      return Graph.parse(JSON.parse(part?.text ?? "{}")).entities.map(({ name }) => name);
    },
    close: () => client.close(),
  };
}
