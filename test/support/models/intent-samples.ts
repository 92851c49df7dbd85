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
  return linesOf(part)
    .filter((line) => !line.startsWith("#"))
    .map((line) => Line.parse(line));
}

/** A request whose form decides; `writes` says that it is of high risk. */
export interface FormSample extends IntentSample {
  readonly form: string;
}

/** A half of the requests whose form decides: negations, questions about a word, follow-ups, mixed and risky requests. */
export function formSamples(half: "tuning" | "held-out"): FormSample[] {
  let form = "";
  return linesOf(`forms-${half}`).flatMap((line): FormSample[] => {
    if (line.startsWith("## ")) form = line.slice("## ".length);
    return line.startsWith("#") ? [] : [{ ...Line.parse(line), form }];
  });
}

function linesOf(name: string): string[] {
  const file = fileURLToPath(new URL(`../../fixtures/intents/${name}.txt`, import.meta.url));
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

/** What the classifier is trained on, in its order; `written` by a person rather than made from a template. */
export function trainingSamples(): { sample: IntentSample; written: boolean }[] {
  return [
    ...templatedSamples(10).map((sample) => ({ sample, written: false })),
    ...intentSamples("train").map((sample) => ({ sample, written: true })),
  ];
}
