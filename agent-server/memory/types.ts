import type {
  CompiledContext,
  CoreBlock,
  MemoryCommit,
  MemoryItem,
  MemoryJob,
  MemoryJobName,
  QuarantineEntry,
} from "../contract/memory.ts";
import type { Emit } from "../contract/events.ts";
import type { Params, Result } from "../contract/table.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor, Sanitizer } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { Author, Evidence, ProposedEdit, Timeline } from "./item-types.ts";
import type { Finished, RollbackRequest, RolledBack, Staged } from "./commit-types.ts";

export interface CompileQuery {
  readonly objective: string;
  readonly questId: string | null;
  readonly mode: "normal" | "crusader";
  readonly maxTokens?: number | undefined;
  /**
   * The word in the marks around data; without one it is made from the marked text. Parts of the prompt that stand elsewhere are
   * omitted here: the persona next to the whole soul, and the owner's files where they are included.
   */
  readonly chat?: { readonly marker: string; readonly small: boolean } | undefined;
  /** Parent of the compilation's receipt. */
  readonly parentId?: string | null | undefined;
}

/**
 * Lancelot's memory: core blocks, working, episodic and archival memory, changed only by commits. Every change is one
 * transaction with its receipt. Functions that change something are called through the execution pipeline (tools/memory/) or by a
 * maintenance job; they do not authorize the caller themselves.
 * @throws LancelotError `disabled` from every function while the flag MEMORY_VNEXT is off; `not_found`, `conflict`, `denied` (with
 * the gate's rule in `data.rule`), `too_large`, with messages for the user.
 */
export interface Memory {
  enabled(): boolean;
  /** False when the settings exclude proposals at the end of a task. */
  proposes(): boolean;
  status(): Result<"memory.status">;
  core(): CoreBlock[];
  search(params: Params<"memory.search">, questId?: string | null): Result<"memory.search">;
  item(id: string): Result<"memory.item">;

  begin(author: Author, reason: string): { commitId: string };
  /** Judges and stages an edit. Nothing is stored before the gates accept it. `parentId`: parent of its receipts. */
  edit(commitId: string, edit: ProposedEdit, author: Author, parentId?: string | null): Staged;
  /** The staged edits, for the approval question and for governance. */
  staged(commitId: string): { author: Author; edits: readonly { op: string; target: string; content: string | null; reason: string }[] };
  finish(commitId: string, author: Author, parentId?: string | null): Finished;
  abandon(commitId: string, author: Author): void;
  rollback(request: RollbackRequest, author: Author, parentId?: string | null): RolledBack;
  commits(params: Params<"memory.commits">): Result<"memory.commits">;
  commit(id: string): MemoryCommit;
  /** The commits that a rollback of the last `count` would roll back, newest first. */
  lastCommits(count: number): MemoryCommit[];

  quarantine(params: Params<"memory.quarantine">): QuarantineEntry[];
  /** One entry, pending or decided. */
  quarantined(id: string): QuarantineEntry;
  promote(id: string, author: Author, reason: string | null, parentId?: string | null): Result<"memory.promote">;
  deny(id: string, author: Author, reason: string | null, parentId?: string | null): QuarantineEntry;
  quarantineItem(
    of: { id: string } | { target: ProposedEdit["target"]; selector: string },
    reason: string,
    author: Author,
    parentId?: string | null,
  ): Result<"memory.setAside">;

  /** Where a statement of the owner belongs: a rule, a preference, or a fact of the project. It looks at the words alone. */
  placeOf(text: string): Pick<ProposedEdit, "target" | "kind" | "namespace">;
  /** The item that the text names, or the candidates. */
  meant(text: string, questId: string | null): { item: MemoryItem | null; candidates: MemoryItem[] };

  compile(query: CompileQuery): CompiledContext;
  contexts(params: Params<"memory.contexts">): Result<"memory.contexts">;
  context(id: string): CompiledContext;

  export(format: "markdown" | "jsonl" | "backup"): Promise<Result<"memory.export">>;
  /** Stages a whole file as one commit and finishes it. */
  import(params: Params<"memory.import">, author: Author, parentId?: string | null): Promise<Result<"memory.import">>;

  jobs(): MemoryJob[];
  runJob(name: MemoryJobName, signal: AbortSignal): Promise<MemoryJob>;
  /** Runs the jobs that are due, in one window at a time; called while the host is idle. */
  maintain(signal: AbortSignal): Promise<void>;

  /** A task ended: references its messages and writes its outcome as an event. */
  questEnded(of: {
    questId: string;
    title: string;
    outcome: "done" | "failed" | "cancelled";
    actions: readonly string[];
    durationMs: number;
    strategy?: string;
    gaps?: readonly string[];
  }): void;
  /** A task was deleted: deletes the data that was stored for it alone. */
  questDeleted(questId: string): void;
  /** Calls `emit` when another window changed something. */
  notice(): void;
  /** Why the owner's config/memory.yaml is not used; null when it is, or there is none. */
  configProblem(): string | null;
  /** Abandons the open commits of dead hosts. Called once at start. */
  reconcile(): number;
}

export interface MemoryDeps {
  readonly storage: Storage;
  readonly ledger: Pick<Ledger, "open" | "close" | "record" | "get" | "find" | "search">;
  readonly redactor: Redactor;
  readonly sanitizer: Sanitizer | null;
  readonly enabled: () => boolean;
  /** Absolute path; null without one. */
  readonly workspace: string | null;
  readonly dataDir: string;
  /** The shipped `config/` folder; null: defaults hold. */
  readonly configDir: string | null;
  readonly emit: Emit;
  readonly log: Log;
  /** Estimated tokens of a text, rounded up. */
  readonly estimateTokens: (text: string) => number;
  /** The active soul as the model sees it; null while it is off. */
  readonly soul: () => { readonly text: string; readonly version: string } | null;
  /** The `memory_ethics` rule of the soul that forbids a content; `personal`: the owner may still ask to save it. */
  readonly forbids: (content: string) => { readonly rule: string; readonly message: string; readonly personal: boolean } | null;
  /** The text of a reference (`message:<id>`, `receipt:<id>`); null when it does not exist. */
  readonly evidence: (ref: string) => Evidence | null;
  readonly timeline: Timeline;
  /** Summarizes within so many tokens; without it, rules summarize. */
  readonly summarize?: ((text: string, maxTokens: number, signal: AbortSignal) => Promise<string>) | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Changes of memory through the execution pipeline, on behalf of one caller. Quests bind it to their caller. */
export interface MemoryActions {
  begin(params: Params<"memory.begin">): Promise<Result<"memory.begin">>;
  edit(params: Params<"memory.edit">): Promise<Result<"memory.edit">>;
  finish(commitId: string): Promise<Result<"memory.finish">>;
  abandon(commitId: string): Promise<unknown>;
  forget(params: Params<"memory.forget">): Promise<Result<"memory.forget">>;
}

/** Quests, as recall needs them. */
export interface RecallQuests {
  /** The text that memory is searched with. */
  objective(questId: string): string;
  mode(questId: string): CompileQuery["mode"];
  /** The word in the marks around data in the quest's prompts. */
  marker(questId: string): string;
  /** Shows a warning in the quest unless it is shown there already. */
  warnOnce(questId: string, message: string): void;
}
