/**
 * Trains the classifier of the intent lane and writes config/intent.json. The same model and samples give the same file:
 * `node test/support/models/train-intent.ts`. The held-out part is only reported, never used.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { intents } from "../../../agent-server/contract/intent.ts";
import { classify, featuresOf, type IntentWeights } from "../../../agent-server/models/tasks/intent-classifier.ts";
import { cueNames, cuesOf } from "../../../agent-server/models/tasks/intent-cues.ts";
import { openEmbedder, prepareIntentModel } from "./intent-model.ts";
import { type IntentSample, intentSamples, trainingSamples } from "./intent-samples.ts";
import { trainSoftmax } from "./logistic.ts";

/** Chosen on the dev part. A request of a person counts as much as `written` from a template. */
const settings = { penalty: 1, rounds: 200, written: 3 };
/** The dev part must be right so often above the threshold. */
const wanted = 0.95;

const missing = await prepareIntentModel();
if (missing !== null) throw new Error(missing);
const embedder = openEmbedder({ threads: () => 1 });
const signal = new AbortController().signal;
async function featuresOfAll(samples: readonly IntentSample[]): Promise<Float32Array[]> {
  const features: Float32Array[] = [];
  for (const { text } of samples) {
    const cues = cuesOf(text);
    const { vector } = await embedder.embed(cues.words, signal);
    features.push(featuresOf(vector, cues));
  }
  return features;
}

// A text without words of its own is not classified.
const samples = trainingSamples().filter(({ sample }) => cuesOf(sample.text).length > 0);
const features = await featuresOfAll(samples.map(({ sample }) => sample));
const dimensions = (features[0]?.length ?? 0) - cueNames.length - 1;
const train = (classes: readonly number[], count: number) =>
  trainSoftmax(features, classes, count, {
    ...settings,
    weightOf: (index) => (samples[index]?.written === true ? settings.written : 1),
  }).map((row) => row.map((value) => Number(value.toFixed(4))));
/** Two classes as one row: the difference of their scores. */
const binary = (holds: (sample: IntentSample) => boolean) => {
  const [not = [], yes = []] = train(
    samples.map(({ sample }) => (holds(sample) ? 1 : 0)),
    2,
  );
  return yes.map((value, index) => Number((value - (not[index] ?? 0)).toFixed(4)));
};
const weights: IntentWeights = {
  version: "1.0",
  model: embedder.sha256 ?? "",
  samples: createHash("sha256").update(JSON.stringify(trainingSamples())).digest("hex"),
  embedding: dimensions,
  cues: [...cueNames],
  temperature: 1,
  threshold: 0,
  intents: train(
    samples.map(({ sample }) => intents.indexOf(sample.intent)),
    intents.length,
  ),
  facts: {
    continuation: binary((sample) => sample.isContinuation),
    tools: binary((sample) => sample.requiresTools),
    change: binary((sample) => sample.writes),
  },
};

const dev = intentSamples("dev").filter(({ text }) => cuesOf(text).length > 0);
const devFeatures = await featuresOfAll(dev);
const judged = () => devFeatures.map((vector, index) => ({ ...classify(weights, vector), right: dev[index]?.intent }));
const loss = (temperature: number) => {
  weights.temperature = temperature;
  return judged().reduce(
    (sum, { probabilities, right }) => sum - Math.log(Math.max(right === undefined ? 0 : probabilities[right], 1e-9)),
    0,
  );
};
const temperatures = Array.from({ length: 60 }, (_, index) => 0.3 + index * 0.05);
const best = temperatures.reduce((one, other) => (loss(other) < loss(one) ? other : one));
weights.temperature = Number(best.toFixed(2));
const thresholds = Array.from({ length: 80 }, (_, index) => 0.2 + index * 0.01);
const accuracyAbove = (threshold: number) => {
  const above = judged().filter(({ confidence }) => confidence >= threshold);
  return above.filter(({ intent, right }) => intent === right).length / Math.max(1, above.length);
};
weights.threshold = Number((thresholds.find((threshold) => accuracyAbove(threshold) >= wanted) ?? 0.99).toFixed(2));

const heldOut = intentSamples("held-out").filter(({ text }) => cuesOf(text).length > 0);
const heldFeatures = await featuresOfAll(heldOut);
const rightOf = (vectors: readonly Float32Array[], of: readonly IntentSample[]) =>
  vectors.filter((vector, index) => classify(weights, vector).intent === of[index]?.intent).length / of.length;
await embedder.close();
writeFileSync(join(fileURLToPath(new URL("../../../config", import.meta.url)), "intent.json"), `${JSON.stringify(weights)}\n`);
console.log(
  `trained on ${samples.length}; temperature ${weights.temperature}, threshold ${weights.threshold}; right: dev ${rightOf(devFeatures, dev).toFixed(3)}, held out ${rightOf(heldFeatures, heldOut).toFixed(3)}`,
);
