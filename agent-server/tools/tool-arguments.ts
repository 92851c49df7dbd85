import * as z from "zod";
import type { Tool } from "./tool.ts";

/** Argument names that models use by habit, mapped to the names here. */
const aliases: Record<string, string> = {
  file_path: "path",
  filepath: "path",
  filename: "path",
  file: "path",
  directory: "path",
  dir: "path",
  pattern: "query",
  text: "query",
  contents: "content",
  file_text: "content",
  old_string: "old_text",
  old_str: "old_text",
  new_string: "new_text",
  new_str: "new_text",
  replaceAll: "replace_all",
  diff: "patch",
  start_line: "offset",
  max_results: "limit",
};

export type ParsedArguments = { readonly ok: true; readonly args: unknown } | { readonly ok: false; readonly problem: string };

/** Parses the model's arguments. A null optional argument counts as absent. */
export function parseArguments(tool: Tool, given: unknown): ParsedArguments {
  const parsed = tool.args.safeParse(withoutNulls(given));
  if (parsed.success) return { ok: true, args: parsed.data };
  const wrong = parsed.error.issues.slice(0, 8).map((issue) => {
    if (issue.code === "unrecognized_keys") return issue.keys.map(unknownArgument).join(" ");
    return `${issue.path.length === 0 ? "arguments" : issue.path.join(".")}: ${issue.message}.`;
  });
  return { ok: false, problem: `Invalid arguments for ${tool.name}. ${wrong.join(" ")} Parameters: ${describeParameters(tool)}.` };
}

/** Cached, because each request to a model includes the schemas and building one takes a millisecond. */
const parameters = new WeakMap<Tool, Record<string, unknown>>();

/** The JSON Schema of a tool's arguments that models receive. */
export function parametersOf(tool: Tool): Record<string, unknown> {
  const known = parameters.get(tool);
  if (known !== undefined) return known;
  const { $schema: _, ...schema } = z.toJSONSchema(tool.args, { io: "output", target: "draft-2020-12" });
  parameters.set(tool, schema);
  return schema;
}

/** The arguments as stored on the card and the receipt. */
export function asRecord(given: unknown): Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given) ? { ...given } : { value: given };
}

function withoutNulls(given: unknown): unknown {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return given ?? {};
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== undefined));
}

function unknownArgument(name: string): string {
  const meant = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
  return `${name}: there is no such argument${meant === undefined ? "" : `; did you mean ${meant}?`}.`;
}

function describeParameters(tool: Tool): string {
  const schema = parametersOf(tool) as { properties?: Record<string, { type?: string }>; required?: string[] };
  const required = new Set(schema.required);
  const parts = Object.entries(schema.properties ?? {}).map(
    ([name, { type }]) => `${name} (${type ?? "any"}${required.has(name) ? "" : ", optional"})`,
  );
  return parts.length === 0 ? "no arguments" : parts.join(", ");
}
