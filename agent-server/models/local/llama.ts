/** The part of node-llama-cpp used here. The package is not a dependency: it is installed on first use and imported by its path. */
export interface LlamaModule {
  getLlama(options: {
    gpu: false | "auto";
    build: "never";
    skipDownload: true;
    progressLogs: false;
    maxThreads: number;
    logLevel: "error";
    logger: (level: string, message: string) => void;
  }): Promise<Llama>;
  resolveChatWrapper(
    model: LlamaModel,
    options: {
      warningLogs: boolean;
      customWrapperSettings: { qwen: { thoughts: "discourage" }; jinjaTemplate: { reasoning: false | null } };
    },
  ): ChatWrapper;
  LlamaGrammarEvaluationState: new (options: { model: LlamaModel; grammar: LlamaGrammar }) => GrammarState;
}

export type Token = number & { readonly token: never };
export type GrammarState = object;
type LlamaGrammar = object;

export interface Llama {
  loadModel(options: { modelPath: string; gpuLayers?: number | "auto"; useMmap: boolean; loadSignal?: AbortSignal }): Promise<LlamaModel>;
  createGrammar(options: { grammar: string }): Promise<LlamaGrammar>;
  readonly gpu: "metal" | "cuda" | "vulkan" | false;
  /** Bytes. */
  getVramState(): Promise<{ total: number }>;
}

export interface LlamaModel {
  readonly tokenizer: object;
  readonly trainContextSize: number;
  readonly fileInfo: { readonly metadata: { readonly tokenizer?: { readonly chat_template?: string } } };
  detokenize(tokens: readonly Token[], specialTokens: boolean, lastTokens: readonly Token[]): string;
  readonly gpuLayers: number;
  createContext(options: { contextSize: number; batchSize: number; threads: number }): Promise<LlamaContext>;
}

interface LlamaContext {
  readonly contextSize: number;
  getSequence(): LlamaSequence;
}

export interface LlamaSequence {
  readonly nextTokenIndex: number;
  adaptStateToTokens(tokens: Token[], allowShift: boolean): Promise<void>;
  clearHistory(): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: Token[]): Promise<void>;
  evaluate(
    tokens: Token[],
    options: {
      temperature: number;
      topK?: number;
      topP?: number;
      grammarEvaluationState?: GrammarState;
      repeatPenalty?: { punishTokens: () => Token[]; penalty: number };
    },
  ): AsyncGenerator<Token, void>;
}

export interface LlamaText {
  readonly values: readonly unknown[];
  tokenize(tokenizer: object): Token[];
}

export type ChatHistoryItem = { type: "system"; text: string } | { type: "user"; text: string } | { type: "model"; response: string[] };

export interface ChatWrapper {
  generateContextState(options: { chatHistory: readonly ChatHistoryItem[] }): {
    contextText: LlamaText;
    stopGenerationTriggers: LlamaText[];
  };
}
