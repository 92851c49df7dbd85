// node-llama-cpp as its own documentation uses it at the lowest level, in a process of its own: what the local model is measured against.
// Tokens of the chat, evaluate, detokenize each token. Arguments: runtime, model, context, threads. Each message is a request.
import { pathToFileURL } from "node:url";
import type { GrammarState, LlamaModule, Token } from "../../../agent-server/models/local/llama.ts";

export interface BareRequest {
  system: string;
  user: string;
  grammar: string | null;
  maxTokens: number;
}
export interface BareAnswer {
  text: string;
  tokens: number;
  /** Milliseconds from the request to the first and the last token. */
  firstMs: number;
  lastMs: number;
}

const [runtime = "", modelPath = "", contextSize = "", threads = ""] = process.argv.slice(2);
const module = (await import(pathToFileURL(runtime).href)) as LlamaModule;
const llama = await module.getLlama({
  gpu: false,
  build: "never",
  skipDownload: true,
  progressLogs: false,
  maxThreads: Number(threads),
  logLevel: "error",
  logger: () => undefined,
});
const model = await llama.loadModel({ modelPath, useMmap: true, gpuLayers: 0 });
const context = await model.createContext({ contextSize: Number(contextSize), batchSize: 512, threads: Number(threads) });
const sequence = context.getSequence();
const settings = { qwen: { thoughts: "discourage" }, jinjaTemplate: { reasoning: false } } as const;
const wrapper = module.resolveChatWrapper(model, { warningLogs: false, customWrapperSettings: settings });
let grammar: { text: string; made: Promise<object> } | undefined;

async function answer(request: BareRequest): Promise<BareAnswer> {
  const started = performance.now();
  let state: GrammarState | undefined;
  if (request.grammar !== null) {
    if (grammar?.text !== request.grammar) grammar = { text: request.grammar, made: llama.createGrammar({ grammar: request.grammar }) };
    state = new module.LlamaGrammarEvaluationState({ model, grammar: await grammar.made });
  }
  const system = request.system === "" ? [] : [{ type: "system" as const, text: request.system }];
  const chatHistory = [...system, { type: "user" as const, text: request.user }, { type: "model" as const, response: [] }];
  const prompt = wrapper.generateContextState({ chatHistory }).contextText.tokenize(model.tokenizer);
  await sequence.adaptStateToTokens(prompt.slice(0, -1), false);
  const recent: Token[] = [];
  const tokens = sequence.evaluate(prompt.slice(sequence.nextTokenIndex), {
    temperature: 0,
    ...(state !== undefined && { grammarEvaluationState: state }),
    repeatPenalty: { punishTokens: () => recent, penalty: 1.05 },
  });
  let text = "";
  let count = 0;
  let firstMs = 0;
  for await (const token of tokens) {
    count++;
    text += model.detokenize([token], false, recent.slice(-4));
    if (count === 1) firstMs = performance.now() - started;
    recent.push(token);
    if (recent.length > 64) recent.shift();
    if (count >= request.maxTokens) break;
  }
  return { text, tokens: count, firstMs, lastMs: performance.now() - started };
}

process.on("message", (request) => void answer(request as BareRequest).then((result) => process.send?.(result)));
process.on("disconnect", () => process.exit(0));
process.send?.("loaded");
