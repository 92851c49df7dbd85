import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Document, isMap, parseDocument } from "yaml";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import type { UsageCaps } from "../../contract/usage.ts";
import { readUserFile, writeUserFile } from "../../storage/storage.ts";
import { createSettingsFile, parseSettings } from "./settings-file.ts";

const Usd = z
  .number()
  .max(1_000_000)
  .refine((usd) => usd > 0, "must be more than 0, or null for no cap");
export const UsageSettings = z.strictObject({
  version: z.literal("1.0").optional(),
  /** US dollars; null: no cap. */
  caps: z.strictObject({ quest_usd: Usd.nullable().optional(), day_usd: Usd.nullable().optional() }).nullable().optional(),
  /** Whether models without a known price may be called while a cap is set. */
  allow_unpriced: z.boolean().optional(),
});
type UsageSettings = z.infer<typeof UsageSettings>;

/** `config/usage.yaml`: the user's file over the shipped one. */
export interface CapsFile {
  /** `problem`: the user's file is invalid, so the intended limits are unknown. */
  read(): { caps: UsageCaps; allowUnpriced: boolean; problem: string | null };
  /** Writes the caps into the user's file; comments stay. @throws LancelotError `conflict`, `unavailable` */
  write(caps: UsageCaps): void;
  changed(): boolean;
}

const file = { name: "usage.yaml", schema: UsageSettings };
const fileName = `config/${file.name}`;
const heading = " Spending caps for models, in US dollars; null: no cap. Changes apply at once.";

export function createCapsFile(deps: { configDir: string; dataDir: string }): CapsFile {
  const path = join(deps.dataDir, "config", "usage.yaml");
  const owners = createSettingsFile({ dataDir: deps.dataDir, ...file });
  let shipped: UsageSettings | null = null;

  return {
    read() {
      shipped ??= parseSettings(readFileSync(join(deps.configDir, "usage.yaml"), "utf8"), file);
      const { value, problem } = owners.read();
      const caps = { ...shipped.caps, ...value?.caps };
      return {
        caps: { questUsd: caps.quest_usd ?? null, dayUsd: caps.day_usd ?? null },
        allowUnpriced: value?.allow_unpriced ?? shipped.allow_unpriced ?? false,
        problem,
      };
    },

    write(caps) {
      const { problem } = owners.read();
      if (problem !== null) throw new LancelotError("conflict", `${problem} Correct it, then set the caps again.`);
      const document: Document = parseDocument(readUserFile(path, fileName) ?? "");
      if (!isMap(document.contents)) {
        document.contents = document.createNode({ version: "1.0" });
        document.commentBefore = heading;
      }
      if (!isMap(document.get("caps"))) document.set("caps", document.createNode({}));
      document.setIn(["caps", "quest_usd"], caps.questUsd);
      document.setIn(["caps", "day_usd"], caps.dayUsd);
      writeUserFile(path, fileName, document.toString({ lineWidth: 0 }));
    },

    changed: () => owners.changed(),
  };
}
