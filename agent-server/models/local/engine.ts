import { fitChat, type ChatItem } from "./context-fit.ts";
import type {
  ChatHistoryItem,
  ChatWrapper,
  GrammarState,
  Llama,
  LlamaModel,
  LlamaModule,
  LlamaSequence,
  LlamaText,
  Token,
} from "./llama.ts";
import type { Done, Generate, Load } from "./model-protocol.ts";
import type { OpenedModel } from "./open-model.ts";
import { repeatsItself } from "./reply.ts";

/**
 * A prompt is evaluated in steps, since an abort takes effect between them. Small steps are slow (TinyLlama on one core: 32 tokens 73 a
 * second, 64: 97, 128: 110), so a step has as many tokens as the machine evaluates in about `stepMs`.
 */
const steps = { first: 64, smallest: 64, largest: 512 };
const stepMs = 1_200;

/** The model in this process: one context and one sequence, whose KV cache is reused for the common prefix of prompts. */
export interface Engine {
  contextSize: number;
  /** Generates one reply and streams it to `onText`. @throws LancelotError `too_large` */
  generate(request: Generate, signal: AbortSignal, onText: (text: string) => void): Promise<Omit<Done, "type" | "id" | "memoryBytes">>;
}

export async function createEngine({ module, llama, model }: OpenedModel, load: Load): Promise<Engine> {
  const context = await model.createContext({
    contextSize: Math.min(load.contextSize, model.trainContextSize),
    batchSize: steps.largest,
    threads: load.threads,
  });
  const wrapper = module.resolveChatWrapper(model, {
    warningLogs: false,
    customWrapperSettings: { qwen: { thoughts: "discourage" }, jinjaTemplate: { reasoning: false } },
  });
  return {
    contextSize: context.contextSize,
    generate: createGenerate({ module, llama, model, wrapper, sequence: context.getSequence(), contextSize: context.contextSize }),
  };
}

interface Parts {
  module: LlamaModule;
  llama: Llama;
  model: LlamaModel;
  wrapper: ChatWrapper;
  sequence: LlamaSequence;
  contextSize: number;
}

function createGenerate({ module, llama, model, wrapper, sequence, contextSize }: Parts): Engine["generate"] {
  let lastGrammar: { text: string; grammar: Promise<object> } | undefined;

  async function grammarState(text: string | null): Promise<GrammarState | undefined> {
    if (text === null) return undefined;
    if (lastGrammar?.text !== text) lastGrammar = { text, grammar: llama.createGrammar({ grammar: text }) };
    return new module.LlamaGrammarEvaluationState({ model, grammar: await lastGrammar.grammar });
  }

  function render(chat: readonly ChatItem[]) {
    const chatHistory = chat.map(
      ({ role, text }): ChatHistoryItem => (role === "assistant" ? { type: "model", response: [text] } : { type: role, text }),
    );
    return wrapper.generateContextState({ chatHistory: [...chatHistory, { type: "model", response: [] }] });
  }

  return async (request, signal, onText) => {
    const started = performance.now();
    const state = await grammarState(request.grammar);
    // The reply gets the requested space, but at most a third of the context; the prompt gets the rest.
    const reserve = Math.min(request.maxTokens, Math.floor(contextSize / 3));
    let rendered: ReturnType<typeof render> | undefined;
    let prompt: Token[] = [];
    // The last candidate that was counted is the one that is used.
    const { leftOut } = fitChat(request, contextSize - reserve - 8, (items) => {
      rendered = render(items);
      // The wrapper keeps text apart from control tokens, so text of the conversation never becomes one.
      prompt = rendered.contextText.tokenize(model.tokenizer);
      return prompt.length;
    });
    const cachedTokens = await reuse(sequence, prompt);
    const result = { inputTokens: prompt.length, cachedTokens, outputTokens: 0, promptMs: 0, generateMs: 0, leftOut };

    // The last step generates the first new token too.
    let step = steps.first;
    let at = cachedTokens;
    while (prompt.length - at > step) {
      if (signal.aborted) return { ...result, stop: "aborted" };
      const began = performance.now();
      await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(at, at + step));
      at += step;
      const fitting = Math.floor((step * stepMs) / (performance.now() - began));
      step = Math.min(Math.max(fitting, steps.smallest), steps.largest);
    }
    result.promptMs = performance.now() - started;

    const writer = createWriter(
      model,
      request.grammar === null ? textTriggers(rendered?.stopGenerationTriggers ?? []) : [],
      prompt.slice(-8),
      onText,
    );
    const limit = Math.min(request.maxTokens, contextSize - prompt.length - 1);
    const recent: Token[] = [];
    const tokens = sequence.evaluate(prompt.slice(at), {
      temperature: request.temperature,
      ...(state !== undefined && { grammarEvaluationState: state }),
      // Weak models repeat themselves; with a higher penalty they can no longer quote code.
      repeatPenalty: { punishTokens: () => recent, penalty: 1.05 },
    });
    let stop: Done["stop"] = "end";
    if (signal.aborted) return { ...result, stop: "aborted" };
    for await (const token of tokens) {
      result.outputTokens++;
      if (result.outputTokens === 1) result.promptMs = performance.now() - started;
      recent.push(token);
      if (recent.length > 64) recent.shift();
      if (writer.push(token)) break;
      if (signal.aborted) {
        stop = "aborted";
        break;
      }
      if (!request.mayRepeat && result.outputTokens % 16 === 0 && repeatsItself(writer.text())) {
        stop = "circles";
        break;
      }
      if (result.outputTokens >= limit) {
        stop = "max_tokens";
        break;
      }
    }
    writer.end();
    result.generateMs = performance.now() - started - result.promptMs;
    return { ...result, stop };
  };
}

/** Trims the KV cache to the longest prefix it shares with the prompt, leaving at least the last token to evaluate. */
async function reuse(sequence: LlamaSequence, prompt: Token[]): Promise<number> {
  await sequence.adaptStateToTokens(prompt.slice(0, -1), false);
  if (sequence.nextTokenIndex > prompt.length - 1) await sequence.clearHistory();
  return sequence.nextTokenIndex;
}

/** Stop triggers that are plain text; special tokens end the generation by themselves. */
function textTriggers(triggers: readonly LlamaText[]): string[] {
  return triggers.flatMap(({ values }) => {
    const text = values.every((value) => typeof value === "string") ? values.join("") : "";
    return text === "" ? [] : [text];
  });
}

/** Turns tokens into text: holds back incomplete characters and possible stop triggers. `push` returns whether a trigger was reached. */
function createWriter(model: LlamaModel, triggers: readonly string[], before: readonly Token[], onText: (text: string) => void) {
  let context: Token[] = [...before];
  let pending: Token[] = [];
  let held = "";
  let written = "";
  const write = (text: string) => {
    written += text;
    onText(text);
  };

  function flush(): boolean {
    const found = Math.min(...triggers.map((trigger) => held.indexOf(trigger)).filter((index) => index >= 0));
    if (Number.isFinite(found)) {
      held = held.slice(0, found);
      return true;
    }
    const risky = Math.max(0, ...triggers.map((trigger) => overlap(held, trigger)));
    const ready = held.slice(0, held.length - risky);
    held = held.slice(held.length - risky);
    if (ready !== "") write(ready);
    return false;
  }

  return {
    text: () => written,
    push(token: Token): boolean {
      pending.push(token);
      const text = model.detokenize(pending, false, context);
      // A character of several bytes may be split over several tokens.
      if (text.endsWith("\ufffd") && pending.length < 8) return false;
      context = [...context, ...pending].slice(-8);
      pending = [];
      held += text;
      return flush();
    },
    end() {
      if (pending.length > 0) held += model.detokenize(pending, false, context);
      if (held !== "") write(held);
    },
  };
}

/** Length of the longest end of `text` that begins `trigger`. */
function overlap(text: string, trigger: string): number {
  for (let length = Math.min(text.length, trigger.length - 1); length > 0; length--)
    if (trigger.startsWith(text.slice(-length))) return length;
  return 0;
}
