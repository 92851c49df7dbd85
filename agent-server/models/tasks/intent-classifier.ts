import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { type Intent, intents } from "../../contract/intent.ts";
import { cueNames, type Cues, cueVector } from "./intent-cues.ts";

const Row = z.array(z.number());

/** config/intent.json: made by `test/support/models/train-intent.ts`, never by hand. */
export const IntentWeights = z
  .strictObject({
    version: z.literal("1.0"),
    /** SHA-256 of the embedding model the weights belong to, and of what they were trained on. */
    model: z.string(),
    samples: z.string(),
    embedding: z.int().min(1),
    cues: z.array(z.string()),
    /** Divides the scores, so that confidence is the share of texts that are right. */
    temperature: z.number().positive(),
    /** Below this confidence the embedding does not decide alone. */
    threshold: z.number().min(0).max(1),
    /** One row an intent, in the order of the contract: for the embedding, for the cues, and the bias. */
    intents: z.array(Row),
    /** The same for what is true or not of a request. */
    facts: z.strictObject({ continuation: Row, tools: Row, change: Row }),
  })
  .refine(
    ({ embedding, cues, intents: rows, facts }) =>
      rows.length === intents.length && [...rows, ...Object.values(facts)].every((row) => row.length === embedding + cues.length + 1),
    "rows of another length than embedding, cues and bias together",
  )
  .refine(({ cues }) => cues.join() === cueNames.join(), "made for other cues: train it anew");
export type IntentWeights = z.infer<typeof IntentWeights>;

export interface Classified {
  intent: Intent;
  /** 0–1, calibrated on requests that were not trained on. */
  confidence: number;
  probabilities: Record<Intent, number>;
  continuation: number;
  tools: number;
  change: number;
}

/** @throws Error when the shipped file is not one, or does not belong to these cues. */
export function readIntentWeights(configDir: string): IntentWeights {
  return IntentWeights.parse(JSON.parse(readFileSync(join(configDir, "intent.json"), "utf8")));
}

/** The features of a request: what it means, and what can be seen of it. The last stands for the bias. */
export function featuresOf(embedding: Float32Array | readonly number[], cues: Cues): Float32Array {
  return Float32Array.from([...embedding, ...cueVector(cues), 1]);
}

/** Logistic regression over the features. */
export function classify(weights: IntentWeights, features: Float32Array): Classified {
  const scores = weights.intents.map((row) => dot(row, features) / weights.temperature);
  const shares = softmax(scores);
  const best = shares.indexOf(Math.max(...shares));
  const { continuation, tools, change } = weights.facts;
  return {
    intent: intents[best] ?? "CONVERSATIONAL",
    confidence: shares[best] ?? 0,
    probabilities: {
      PLAN_REQUEST: shares[0] ?? 0,
      EXEC_REQUEST: shares[1] ?? 0,
      MIXED_REQUEST: shares[2] ?? 0,
      KNOWLEDGE_REQUEST: shares[3] ?? 0,
      CONVERSATIONAL: shares[4] ?? 0,
    },
    continuation: sigmoid(dot(continuation, features)),
    tools: sigmoid(dot(tools, features)),
    change: sigmoid(dot(change, features)),
  };
}

function dot(row: readonly number[], features: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < features.length; index++) sum += (row[index] ?? 0) * (features[index] ?? 0);
  return sum;
}

/** Shares of one, by scores. */
export function softmax(scores: readonly number[]): number[] {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

function sigmoid(score: number): number {
  return 1 / (1 + Math.exp(-score));
}
