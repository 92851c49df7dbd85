import * as z from "zod";
import { capabilities } from "../../contract/governance.ts";
import { SoulDocument, type SoulIssue } from "../../contract/soul.ts";
import { soulKinds } from "../../governance/governance.ts";
import { ModelsConfig, PriceTable, RouterConfig, UsageSettings } from "../../models/models.ts";
import { RedactionSettings } from "../../security/security.ts";
import type { Dispatch } from "../dispatch.ts";

type Schema = Record<string, unknown>;

/** A kind of YAML document that the owner writes. One joins with an entry here and one in the client's selector. */
export interface DocumentKind {
  readonly name: string;
  /** Tells by the last parts of the path. */
  readonly path: RegExp;
  readonly schema: () => Schema;
  /** What only the host can say, by a method of the table; with its places in the text. */
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

/** JSON Schema of what is written: defaults may be left out. What JSON Schema cannot say (a check in code) is left to `lint`. */
function jsonSchema(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: "input", target: "draft-7", unrepresentable: "any" });
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Words to offer for the items of a list, or for a value, at a path of properties; others stay allowed. */
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

/** JSON Schema of a file that is laid over the shipped one: any part may be left out, and what is really missing the host says. */
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
    path: /\/(?:soul_versions\/[^/]+|soul|soul_v\d+[^/]*)\.ya?ml$/,
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

/** The kind of the document with this address; null when it is none of ours. */
export function kindOf(uri: string): DocumentKind | null {
  let path = uri;
  try {
    path = decodeURIComponent(uri.replace(/[?#].*$/s, ""));
  } catch {
    // An address that is not encoded is compared as it stands.
  }
  return documentKinds.find((kind) => kind.path.test(path)) ?? null;
}
