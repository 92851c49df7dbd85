/**
 * The model server as a process: `node test/support/model-server/main.ts --script FILE [--port N] [--key K]`.
 * FILE is JSON, an object from a word of the owner's to the turns that answer it (script.ts, byWords), or a module that
 * exports `script`. Prints one line of JSON with the base URLs when it is ready; SIGTERM or the end of stdin ends it.
 */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { byWords } from "./script.ts";
import { startModelServer } from "./server.ts";
import type { Script, Turn } from "./turn.ts";

const { values } = parseArgs({
  options: { script: { type: "string" }, port: { type: "string" }, key: { type: "string", multiple: true } },
});
if (values.script === undefined) {
  console.error("--script FILE is missing");
  process.exit(2);
}
const file = resolve(values.script);
const script: Script = file.endsWith(".json")
  ? byWords(JSON.parse(await readFile(file, "utf8")) as Record<string, Turn[]>)
  : ((await import(pathToFileURL(file).href)) as { script: Script }).script;
const server = await startModelServer({
  script,
  port: Number(values.port ?? 0),
  ...(values.key === undefined ? {} : { keys: values.key }),
});
const kinds = ["anthropic", "openai", "gemini", "xai", "openai_compatible"] as const;
console.log(JSON.stringify(Object.fromEntries(kinds.map((kind) => [kind, server.url(kind)]))));

const end = (): void => {
  void server.close().then(() => process.exit(0));
};
process.on("SIGTERM", end);
process.on("SIGINT", end);
process.stdin.on("end", end).resume();
