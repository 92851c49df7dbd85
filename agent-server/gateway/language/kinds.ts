import * as z from "zod";
import { capabilities } from "../../contract/governance.ts";
import { SoulDocument, type SoulIssue } from "../../contract/soul.ts";
import { soulKinds } from "../../governance/governance.ts";
import { ModelsConfig, PriceTable, RouterConfig, UsageSettings } from "../../models/models.ts";
import { RedactionSettings } from "../../security/security.ts";
import type { Dispatch } from "../dispatch.ts";

type Schema = Record<string, unknown>;

/** A kind of YAML document that the user edits. A new kind needs an entry here and one in extension/host/documents.ts. */
export interface DocumentKind {
  readonly name: string;
  /** Matches the end of the path. */
  readonly path: RegExp;
  readonly schema: () => Schema;
  /** Checks that need the host, through a method of the contract. */
  readonly lint?: (yaml: string, dispatch: Dispatch, signal: AbortSignal) => Promise<readonly SoulIssue[]>;
}

const LintResult = z.object({
  issues: z.array(
    z.object({
      rule: z.string(),
      severity: z.enum(["critical", "warning"]),
      message: z.string(),
      line: z.int().optional(),
      column: z.int().optional(),
    }),
  ),
});

/** The JSON Schema of the input, where defaults are optional. `lint` covers checks that JSON Schema cannot express. */
function jsonSchema(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: "input", target: "draft-7", unrepresentable: "any" });
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Adds suggested values to a property or to a list's items; other values stay valid. */
function offer(schema: Schema, path: readonly string[], words: readonly string[]): void {
  let at: unknown = schema;
  for (const name of path) at = isSchema(at) && isSchema(at["properties"]) ? at["properties"][name] : undefined;
  if (!isSchema(at)) throw new Error(`The schema has no ${path.join(".")}.`);
  const target = isSchema(at["items"]) ? at["items"] : at;
  target["examples"] = [...words];
}

function soulSchema(): Schema {
  const schema = jsonSchema(SoulDocument);
  offer(schema, ["autonomy_posture", "allowed_autonomous"], soulKinds);
  offer(schema, ["autonomy_posture", "requires_approval"], [...soulKinds, ...capabilities]);
  offer(schema, ["approval_rules", "channels"], ["war_room", "chat", "notification", "terminal"]);
  offer(schema, ["approval_rules", "escalation_on_timeout"], ["skip_and_log", "stop_task"]);
  return schema;
}

/** The JSON Schema of a file that overlays the shipped one: every property is optional, and the host reports missing ones. */
function overlaySchema(schema: z.ZodType): Schema {
  const open = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(open);
    if (!isSchema(value)) return value;
    const entries = Object.entries(value).filter(([key, inner]) => key !== "required" || !Array.isArray(inner));
    return Object.fromEntries(entries.map(([key, inner]) => [key, open(inner)]));
  };
  const opened = open(jsonSchema(schema));
  return isSchema(opened) ? opened : {};
}

function modelsLint(file: "models" | "router"): NonNullable<DocumentKind["lint"]> {
  return async (yaml, dispatch, signal) => LintResult.parse(await dispatch("models.lint", { file, yaml }, { owner: false, signal })).issues;
}

export const documentKinds: readonly DocumentKind[] = [
  {
    name: "soul",
    path: /\/(?:soul_versions\/[^/]+|soul|soul_v\d[^/]*)\.ya?ml$/,
    schema: soulSchema,
    async lint(yaml, dispatch, signal) {
      return LintResult.parse(await dispatch("soul.lint", { yaml }, { owner: false, signal })).issues;
    },
  },
  { name: "prices", path: /\/config\/prices\.ya?ml$/, schema: () => jsonSchema(PriceTable) },
  { name: "redaction", path: /\/config\/redaction\.ya?ml$/, schema: () => jsonSchema(RedactionSettings) },
  { name: "usage", path: /\/config\/usage\.ya?ml$/, schema: () => jsonSchema(UsageSettings) },
  { name: "models", path: /\/config\/models\.ya?ml$/, schema: () => overlaySchema(ModelsConfig), lint: modelsLint("models") },
  { name: "router", path: /\/config\/router\.ya?ml$/, schema: () => overlaySchema(RouterConfig), lint: modelsLint("router") },
];

/** The kind of the document with this URI; null for other documents. */
export function kindOf(uri: string): DocumentKind | null {
  let path = uri;
  try {
    path = decodeURIComponent(uri.replace(/[?#].*/s, ""));
  } catch {
    // A URI with invalid encoding is compared unchanged.
  }
  return documentKinds.find((kind) => kind.path.test(path)) ?? null;
}
