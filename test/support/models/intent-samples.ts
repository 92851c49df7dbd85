import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import type { Intent } from "../../../agent-server/contract/intent.ts";
import { templatedSamples } from "./intent-templates.ts";

/** A request with what a person says it is. */
export interface IntentSample {
  text: string;
  intent: Intent;
  isContinuation: boolean;
  requiresTools: boolean;
  /** It changes something. */
  writes: boolean;
}

const kinds = {
  PLAN: "PLAN_REQUEST",
  EXEC: "EXEC_REQUEST",
  MIXED: "MIXED_REQUEST",
  KNOW: "KNOWLEDGE_REQUEST",
  CHAT: "CONVERSATIONAL",
} as const;
const Line = z
  .string()
  .regex(/^(?:PLAN|EXEC|MIXED|KNOW|CHAT) (?:-|[ctw]+) \| \S/, "not a line of the labelled set")
  .transform((line): IntentSample => {
    const [, kind, flags = "", text = ""] = /^(\w+) (\S+) \| (.*)$/s.exec(line) ?? [];
    return {
      text: text.replaceAll(String.raw`\n`, "\n"),
      intent: kinds[z.enum(["PLAN", "EXEC", "MIXED", "KNOW", "CHAT"]).parse(kind)],
      isContinuation: flags.includes("c"),
      requiresTools: flags.includes("t"),
      writes: flags.includes("w"),
    };
  });

/** A part of the labelled set in test/fixtures/intents. @throws Error naming a line that is not one. */
export function intentSamples(part: "train" | "dev" | "held-out"): IntentSample[] {
  const file = fileURLToPath(new URL(`../../fixtures/intents/${part}.txt`, import.meta.url));
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => Line.parse(line));
}

/** What the classifier is trained on, in its order; `written` by a person rather than made from a template. */
export function trainingSamples(): { sample: IntentSample; written: boolean }[] {
  return [
    ...templatedSamples(10).map((sample) => ({ sample, written: false })),
    ...intentSamples("train").map((sample) => ({ sample, written: true })),
  ];
}
