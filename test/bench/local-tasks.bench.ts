// The tasks of the local lanes: how often they are right, by the intent lane, by rules and by TinyLlama, side by side; and what they cost.
import * as fc from "fast-check";
import * as z from "zod";
import { decide } from "../../agent-server/models/tasks/intent.ts";
import { readIntentWeights } from "../../agent-server/models/tasks/intent-classifier.ts";
import { cuesOf } from "../../agent-server/models/tasks/intent-cues.ts";
import { intentByRules } from "../../agent-server/models/tasks/intent-rules.ts";
import type { LocalTasks, TaskContext } from "../../agent-server/models/tasks/tasks.ts";
import { openEmbedder, prepareIntentModel } from "../support/models/intent-model.ts";
import { type IntentSample, intentSamples } from "../support/models/intent-samples.ts";
import { openLocal, prepareLocalModel, tinyModel } from "../support/models/local-models.ts";
import { randomSchema } from "../support/models/random-schemas.ts";
import { ableModel, configDir, createTasksFixture } from "../support/models/tasks-fixture.ts";
import type { BenchRow } from "./bench-row.ts";
import { extractions, namedPeople, summaries } from "./local-tasks-samples.ts";

const signal = new AbortController().signal;
/** TinyLlama takes seconds for each: every so many of the held-out requests. */
const everySo = 9;

export async function* run(): AsyncGenerator<BenchRow> {
  const missing = (await prepareLocalModel()) ?? (await prepareIntentModel());
  if (missing !== null) throw new Error(missing);
  for (const part of [intentRows, costRows, grammarRows, modelRows]) yield* await part();
}

const percent = (count: number, of: number) => (100 * count) / Math.max(1, of);
const row = (name: string, ours: number, bare: number, unit: string, note: string): BenchRow => ({
  name,
  ours,
  bare,
  ratio: ours / bare,
  unit,
  note,
});
/** In Latin letters without accents, and mostly English by its words. */
const isEnglish = ({ text }: IntentSample) => !/[^\p{Script=Latin}\p{N}\s\p{P}\p{S}\p{Emoji}]|[äöüßéèêàçñ¿¡ìò]/iu.test(text);

async function intentRows(): Promise<BenchRow[]> {
  const embedder = openEmbedder();
  const weights = readIntentWeights(configDir);
  const judged: { sample: IntentSample; lane: ReturnType<typeof decide>; rules: ReturnType<typeof intentByRules> }[] = [];
  for (const sample of intentSamples("held-out")) {
    const { vector } = await embedder.embed(cuesOf(sample.text).words, signal);
    judged.push({ sample, lane: decide(weights, vector, sample.text), rules: intentByRules(sample.text) });
  }
  await embedder.close();
  const compare = (name: string, of: typeof judged, right: (reported: ReturnType<typeof decide>, sample: IntentSample) => boolean) =>
    row(
      name,
      percent(of.filter(({ lane, sample }) => right(lane, sample)).length, of.length),
      percent(of.filter(({ rules, sample }) => right(rules, sample)).length, of.length),
      "%",
      `${of.length} requests nobody trained on; bare: the rules`,
    );
  const kind = (reported: { intent: string }, sample: IntentSample) => reported.intent === sample.intent;
  const sure = judged.filter(({ lane }) => lane.confidence >= 0.8);
  return [
    compare("intent right", judged, kind),
    compare(
      "intent right, plain English letters",
      judged.filter(({ sample }) => isEnglish(sample)),
      kind,
    ),
    compare(
      "intent right, other letters and accents",
      judged.filter(({ sample }) => !isEnglish(sample)),
      kind,
    ),
    compare("intent right where the lane is 80 % sure", sure, kind),
    compare("follow-up told", judged, (reported, sample) => reported.isContinuation === sample.isContinuation),
    compare("need for tools told", judged, (reported, sample) => reported.requiresTools === sample.requiresTools),
    compare(
      "changes taken for high risk",
      judged.filter(({ sample }) => sample.writes),
      (reported) => reported.risk === "high",
    ),
    compare(
      "others taken for low risk",
      judged.filter(({ sample }) => !sample.writes),
      (reported) => reported.risk === "low",
    ),
  ];
}

async function costRows(): Promise<BenchRow[]> {
  const embedder = openEmbedder();
  const fixture = createTasksFixture({ embedder });
  const texts = intentSamples("dev").map(({ text }) => text);
  await embedder.embed("warm", signal);
  const ours: number[] = [];
  const bare: number[] = [];
  for (const text of texts) {
    const message = cuesOf(text).words;
    let began = performance.now();
    await embedder.embed(message, signal);
    bare.push(performance.now() - began);
    began = performance.now();
    await fixture.tasks.classifyIntent({ text }, fixture.context);
    ours.push(performance.now() - began);
  }
  const began = performance.now();
  for (const text of texts) intentByRules(text);
  const rules = (performance.now() - began) / texts.length;
  fixture.close();
  await embedder.close();
  const median = (values: number[]) => values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
  return [
    row("intent by the lane, with its receipt, p50", median(ours), median(bare), "ms", "bare: the embedding alone"),
    row("intent by rules", rules, median(bare), "ms", "bare: the embedding alone"),
  ];
}

async function grammarRows(): Promise<BenchRow[]> {
  const local = openLocal({ env: { ...process.env, LANCELOT_LOCAL_MODEL: tinyModel() } });
  const counts = { parsed: 0, held: 0, cut: 0 };
  const began = performance.now();
  for (const [schema, message] of fc.sample(
    fc.tuple(randomSchema(), fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 })),
    1_000,
  )) {
    const messages = [{ role: "user" as const, content: [{ type: "text" as const, text: message }] }];
    let answer = "";
    const request = { system: "", messages, tools: [], maxTokens: 200, responseSchema: { name: "answer", schema } };
    for await (const event of local.provider.stream(request, { model: "", maxTokens: 200, temperature: 1, thinking: undefined }, signal)) {
      if (event.type === "text") answer += event.text;
      if (event.type !== "done") continue;
      if (event.stop === "max_tokens") counts.cut++;
      else if (z.fromJSONSchema(schema).safeParse(JSON.parse(answer)).success) counts.held++;
      if (event.stop !== "max_tokens") counts.parsed++;
    }
  }
  await local.close();
  const took = (performance.now() - began) / 1_000;
  return [
    row(
      "answers in a grammar that parse",
      counts.parsed,
      1_000 - counts.cut,
      "of 1000",
      `random schemas, texts and weights; ${counts.cut} cut off and told so; ${took.toFixed(1)} ms each`,
    ),
    row(
      "of these, hold ranges and patterns too",
      counts.held,
      counts.parsed,
      "answers",
      "beyond a grammar; checked afterwards, the rest is asked again or replaced",
    ),
  ];
}

async function modelRows(): Promise<BenchRow[]> {
  const local = openLocal({ env: { ...process.env, LANCELOT_LOCAL_MODEL: "" } });
  const model = createTasksFixture({
    model: () => ({ ...ableModel, contextWindow: 2_048 }),
    stream: local.provider.stream,
    timeoutFactor: 30,
  });
  const rules = createTasksFixture();
  const rows: BenchRow[] = [];
  const note = "bare: the rules; where TinyLlama fails its check, the rules that stand in count as its miss";

  const sampled = intentSamples("held-out").filter((_, index) => index % everySo === 0);
  const right = (reported: { intent: string; method: string }, sample: IntentSample) =>
    reported.intent === sample.intent && reported.method !== "rules";
  let tiny = 0;
  let silent = 0;
  for (const sample of sampled) {
    const reported = await model.tasks.classifyIntent({ text: sample.text }, model.context);
    if (right(reported, sample)) tiny++;
    if (reported.method === "rules") silent++;
  }
  const byRules = sampled.filter((sample) => intentByRules(sample.text).intent === sample.intent).length;
  rows.push(
    row(
      "intent right, TinyLlama",
      percent(tiny, sampled.length),
      percent(byRules, sampled.length),
      "%",
      `${sampled.length} of the same requests, ${silent} of them without an answer that holds; ${note}`,
    ),
  );

  const extracted = async (tasks: LocalTasks, context: TaskContext, wants: "model" | "rules") => {
    let count = 0;
    for (const { text, schema, wanted } of extractions) {
      const found = await tasks.extractJson(text, z.toJSONSchema(schema), context).catch(() => null);
      if (found?.method === wants && JSON.stringify(found.value) === JSON.stringify(wanted)) count++;
    }
    return percent(count, extractions.length);
  };
  rows.push(
    row(
      "extraction right, TinyLlama",
      await extracted(model.tasks, model.context, "model"),
      await extracted(rules.tasks, rules.context, "rules"),
      "%",
      `${extractions.length} texts; ${note}`,
    ),
  );

  const kept = async (tasks: LocalTasks, context: TaskContext, wants: "model" | "rules") => {
    let facts = 0;
    for (const sample of summaries) {
      const { text, method } = await tasks.summarize(sample.text, 70, context);
      if (method === wants) facts += sample.facts.filter((fact) => text.includes(fact)).length;
    }
    return percent(
      facts,
      summaries.reduce((sum, sample) => sum + sample.facts.length, 0),
    );
  };
  rows.push(
    row(
      "facts kept in 70 tokens, TinyLlama",
      await kept(model.tasks, model.context, "model"),
      await kept(rules.tasks, rules.context, "rules"),
      "%",
      `${summaries.length} texts; ${note}`,
    ),
  );

  const found = async (tasks: LocalTasks, context: TaskContext) => {
    let hits = 0;
    let wrong = 0;
    for (const { text, names } of namedPeople) {
      const { matches } = await tasks.redact(text, context);
      const hidden = matches.filter(({ kind }) => kind === "person").map(({ start, end }) => text.slice(start, end));
      hits += names.filter((name) => hidden.some((one) => one.includes(name))).length;
      wrong += hidden.filter((one) => !names.some((name) => one.includes(name))).length;
    }
    return {
      recall: percent(
        hits,
        namedPeople.reduce((sum, { names }) => sum + names.length, 0),
      ),
      wrong,
    };
  };
  const withModel = await found(model.tasks, model.context);
  const without = await found(rules.tasks, rules.context);
  rows.push(
    row(
      "names found, rules and TinyLlama",
      withModel.recall,
      without.recall,
      "%",
      `${namedPeople.length} texts; ${withModel.wrong} wrong, rules alone ${without.wrong}`,
    ),
  );
  model.close();
  rules.close();
  await local.close();
  return rows;
}
