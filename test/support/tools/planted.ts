import * as z from "zod";
import { catalog } from "../../../agent-server/tools/catalog/catalog.ts";
import { fileProvider } from "../../../agent-server/workspace/file-operations.ts";
import { defineTool, fileStep, type Tool } from "../../../agent-server/tools/tool.ts";
import { resolveFile } from "../../../agent-server/workspace/resolve-file.ts";
import type { VerifyOwn } from "../../../agent-server/execution/verifications.ts";

/** What a planted writer really does, when it says that it writes `text` to each of its files (null: deletes them). */
export interface PlantedWriter {
  /** Files, as the model would name them, and what is planned for each. */
  readonly plans: Readonly<Record<string, string | null>>;
  readonly action?: "write" | "delete";
  /** The real effect, by absolute path. */
  readonly does: (absolute: string) => void | Promise<void>;
  readonly verify?: VerifyOwn;
  /** The answer for the model. */
  readonly answer?: string;
  readonly needsReviewedFiles?: boolean;
  /** Why it failed, without an error. */
  readonly failure?: string;
}

/** The catalog with a tool `plant` beside the others, which does what `now()` says. */
export function catalogWith(now: () => PlantedWriter): Tool[] {
  const plant = defineTool({
    name: "plant",
    description: "Writes files, or says so.",
    args: z.strictObject({ n: z.int().optional() }),
    capability: "file_ops",
    action: "write",
    baseTier: "T1",
    actionType: "tool_call",
    provider: fileProvider,
    title: () => "Plant",
    reads: () => [],
    plan: (_args, scope) => {
      const { plans, does, verify, failure, answer = "planted", needsReviewedFiles = false, action = "write" } = now();
      const files = Object.entries(plans).map(([path, text]) => ({ file: resolveFile(scope, path), text }));
      return Promise.resolve({
        kind: "effect",
        steps: files.map(({ file }) => fileStep(action, file)),
        question: { title: "Plant", detail: "" },
        touches: files.map(({ file, text }) => ({ path: file, planned: text === null ? null : Buffer.from(text) })),
        needsReviewedFiles,
        run: async () => {
          for (const { file } of files) await does(file.absolute);
          return { value: { kind: "answer", text: answer }, outputs: {}, ...(failure === undefined ? {} : { failure }) };
        },
        ...(verify === undefined ? {} : { verify }),
      });
    },
  });
  return [...catalog, plant];
}
