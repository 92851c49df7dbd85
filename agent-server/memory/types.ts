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
import type { Finished, RollbackWish, RolledBack, Staged } from "./commit-types.ts";

export interface CompileWish {
  readonly objective: string;
  readonly questId: string | null;
  readonly mode: "normal" | "crusader";
  readonly maxTokens?: number | undefined;
  /**
   * The word in the marks around what is data; without one a word is made from what it marks. What stands elsewhere in the prompt is
   * left out here: the persona where the soul is told whole, the owner's files where they are.
   */
  readonly chat?: { readonly marker: string; readonly small: boolean } | undefined;
  /** Receipt under which that of the compilation hangs. */
  readonly parentId?: string | null | undefined;
}

/**
 * What Lancelot remembers: core blocks, working, episodic and archival memory, changed by commits alone. Every change is one
 * transaction with its receipt. Functions that change something are called on the road (tools/memory/) or by a job of this room;
 * none of them asks the gate itself.
 * @throws LancelotError `disabled` from every function while the flag MEMORY_VNEXT is off; `not_found`, `conflict`, `denied` (with
 * the gate's rule in `data.rule`), `too_large` in words for the owner.
 */
export interface Memory {
  enabled(): boolean;
  /** False while ended tasks are to propose nothing, by the owner's settings. */
  proposes(): boolean;
  status(): Result<"memory.status">;
  core(): CoreBlock[];
  search(params: Params<"memory.search">, questId?: string | null): Result<"memory.search">;
  item(id: string): Result<"memory.item">;

  begin(author: Author, reason: string): { commitId: string };
  /** Judges and stages an edit. Nothing of it is on disk before the gates let it through. `parentId`: its receipts hang under this. */
  edit(commitId: string, edit: ProposedEdit, author: Author, parentId?: string | null): Staged;
  /** What is staged, for the question to the owner and for the gate. */
  staged(commitId: string): { author: Author; edits: readonly { op: string; target: string; content: string | null; reason: string }[] };
  finish(commitId: string, author: Author, parentId?: string | null): Finished;
  abandon(commitId: string, author: Author): void;
  rollback(wish: RollbackWish, author: Author, parentId?: string | null): RolledBack;
  commits(params: Params<"memory.commits">): Result<"memory.commits">;
  commit(id: string): MemoryCommit;
  /** Those that a rollback of the last so many takes back, the newest first. */
  lastCommits(count: number): MemoryCommit[];

  quarantine(params: Params<"memory.quarantine">): QuarantineEntry[];
  /** One entry, decided or not. */
  quarantined(id: string): QuarantineEntry;
  promote(id: string, author: Author, reason: string | null, parentId?: string | null): Result<"memory.promote">;
  deny(id: string, author: Author, reason: string | null, parentId?: string | null): QuarantineEntry;
  setAside(
    of: { id: string } | { target: ProposedEdit["target"]; selector: string },
    reason: string,
    author: Author,
    parentId?: string | null,
  ): Result<"memory.setAside">;

  /** Where the owner's words belong: a rule, a preference of theirs, a fact of the project. By words alone. */
  placeOf(text: string): Pick<ProposedEdit, "target" | "kind" | "namespace">;
  /** The item that words name, or those that might be meant. */
  meant(text: string, questId: string | null): { item: MemoryItem | null; candidates: MemoryItem[] };

  compile(wish: CompileWish): CompiledContext;
  contexts(params: Params<"memory.contexts">): Result<"memory.contexts">;
  context(id: string): CompiledContext;

  export(format: "markdown" | "jsonl" | "backup"): Promise<Result<"memory.export">>;
  /** Stages a whole file as one commit and finishes it. */
  import(params: Params<"memory.import">, author: Author, parentId?: string | null): Promise<Result<"memory.import">>;

  jobs(): MemoryJob[];
  runJob(name: MemoryJobName, signal: AbortSignal): Promise<MemoryJob>;
  /** Runs the jobs that are due, in one window at a time; called while the host rests. */
  maintain(signal: AbortSignal): Promise<void>;

  /** A task ended: its messages are referred to, and what came of it is an event. */
  questEnded(of: {
    questId: string;
    title: string;
    outcome: "done" | "failed" | "cancelled";
    actions: readonly string[];
    durationMs: number;
  }): void;
  /** A task was deleted: what was kept for it alone goes with it. */
  questDeleted(questId: string): void;
  /** Tells `emit` when another window changed something. */
  notice(): void;
  /** Drops what dead hosts left open. Called once at start. */
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
  /** Tokens a text is likely to cost, on the high side. */
  readonly estimateTokens: (text: string) => number;
  /** The soul in force as the model is told of it; null while it is switched off. */
  readonly soul: () => { readonly text: string; readonly version: string } | null;
  /** What the soul's `memory_ethics` forbid to keep; `personal` is what the owner may ask for all the same. */
  readonly forbids: (content: string) => { readonly rule: string; readonly message: string; readonly personal: boolean } | null;
  /** What a reference (`message:<id>`, `receipt:<id>`) says; null when there is no such thing. */
  readonly evidence: (ref: string) => Evidence | null;
  readonly timeline: Timeline;
  /** A summary of a text in so many tokens; without it rules summarize. */
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
  mode(questId: string): CompileWish["mode"];
  /** The word in the marks around data in the quest's prompts. */
  marker(questId: string): string;
  /** Shows a warning in the quest unless it is shown there already. */
  warnOnce(questId: string, message: string): void;
}
