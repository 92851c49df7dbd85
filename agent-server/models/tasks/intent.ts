import * as z from "zod";
import { noUsage } from "../../contract/chat.ts";
import { Intent, type IntentResult } from "../../contract/intent.ts";
import type { Params } from "../../contract/table.ts";
import { askModel } from "./ask-model.ts";
import { classify, featuresOf, type IntentWeights } from "./intent-classifier.ts";
import { cuesOf } from "./intent-cues.ts";
import { continues, factsOf, intentByRules, riskOf } from "./intent-rules.ts";
import type { Task, ModelMethod } from "./task-runner.ts";
import type { TaskServices } from "./task-services.ts";

type Request = Params<"intent.classify">;

const quickMs = 10_000;
/** It takes 5 to 15 ms; more on a busy machine. */
const embeddingMs = 1_000;

/** The intent of a request (A1): by the embedding model and its classifier, otherwise a capable language model, otherwise rules. */
export function classifyTask(parts: TaskServices, request: Request): Task<IntentResult> {
  return {
    name: "classify_intent",
    inputs: { text: request.text.slice(0, 500), characters: request.text.length },
    methods: [embeddingMethod(parts, request.text), modelMethod(parts, request)],
    rules: () => {
      const value = intentByRules(request.text);
      return { value, outputs: { ...value } };
    },
  };
}

function embeddingMethod(parts: TaskServices, text: string): ModelMethod<IntentResult> {
  const { embedder } = parts;
  return {
    method: "embedding",
    model: "all-MiniLM-L6-v2",
    unfit: whyNoEmbedding(embedder),
    timeoutMs: embeddingMs,
    async work(signal) {
      const weights = parts.weights();
      if (weights === null || weights.model !== embedder.sha256)
        return { value: null, why: "The classifier was trained for a different model." };
      const cues = cuesOf(text);
      // Only pasted code, whose meaning says nothing about the request.
      if (cues.length === 0) return { value: null, why: "The text has no words of the user." };
      const { vector, tokens } = await embedder.embed(cues.words, signal);
      const usage = { ...noUsage(), inputTokens: tokens };
      const value = decide(weights, vector, text);
      if (value.confidence < weights.threshold)
        return { value: null, why: `The confidence is too low (${Math.round(value.confidence * 100)} %).`, usage };
      return { value, usage, outputs: { ...value } };
    },
  };
}

/** The first message does not wait a second for the classifier to load: rules classify it. */
function whyNoEmbedding(embedder: TaskServices["embedder"]): string | null {
  const { status, problem } = embedder.state();
  if (status !== "ready") return problem ?? "The intent classifier's model is not on this machine.";
  return embedder.warm() ? null : (problem ?? "The intent classifier is loading.");
}

/** The classifier's result, whatever its confidence. */
export function decide(weights: IntentWeights, vector: Float32Array, text: string): IntentResult {
  const cues = cuesOf(text);
  const told = classify(weights, featuresOf(vector, cues));
  const { confidence } = told;
  // Few words, whose meaning is the same in every conversation.
  const intent = cues.interrupts ? "CONVERSATIONAL" : told.intent;
  const acts = intent === "EXEC_REQUEST" || intent === "MIXED_REQUEST";
  return {
    intent,
    confidence,
    isContinuation: continues(intent, cues) || (told.continuation >= 0.5 && cues.length <= 12 && !cues.pasted),
    requiresTools: intent === "MIXED_REQUEST" || (intent !== "CONVERSATIONAL" && told.tools >= 0.5),
    // One of the two is enough: treating a harmless request as a change costs a question, the reverse an unrequested change.
    risk: riskOf(intent, cues) === "high" || (acts && told.change >= 0.5) ? "high" : "low",
    method: "embedding",
  };
}

const Told = z.object({ intent: Intent });

function modelMethod(parts: TaskServices, { text, history }: Request): ModelMethod<IntentResult> {
  return {
    ...parts.modelMethod("classify_intent", { quick: true, text: text.slice(0, 2_000) }),
    timeoutMs: quickMs,
    async work(signal) {
      const before = (history ?? []).slice(-2).map((turn) => `${turn.role}: ${turn.text.slice(0, 300)}`);
      const answer = await askModel(
        parts.stream,
        {
          system:
            "You sort requests made to a coding assistant. PLAN_REQUEST: wants a plan or design. EXEC_REQUEST: wants something done. MIXED_REQUEST: wants a plan and its execution. KNOWLEDGE_REQUEST: a question. CONVERSATIONAL: greeting, thanks, small talk.",
          text: [...before, `Request: ${text.slice(0, 2_000)}`].join("\n"),
          schema: z.toJSONSchema(Told),
          maxTokens: 40,
        },
        signal,
      );
      if (answer.failed !== null) return { value: null, why: answer.failed, usage: answer.usage };
      const { intent } = Told.parse(answer.value);
      // A model's own confidence means little. This is about the accuracy of models that may do the task.
      const value: IntentResult = { intent, confidence: 0.8, ...factsOf(intent, cuesOf(text)), method: "model" };
      return { value, usage: answer.usage, outputs: { ...value } };
    },
  };
}
