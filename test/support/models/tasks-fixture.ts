import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { noUsage } from "../../../agent-server/contract/chat.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Receipt } from "../../../agent-server/contract/receipts.ts";
import type { RouterDecision } from "../../../agent-server/contract/router.ts";
import type { Provider } from "../../../agent-server/models/providers/types.ts";
import {
  createTasks,
  type LocalTasks,
  type TaskContext,
  type TaskModel,
  type TasksDeps,
} from "../../../agent-server/models/tasks/tasks.ts";
import { createLedger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createPiiDetector, createRedactor } from "../../../agent-server/security/security.ts";
import { openMigratedStorage } from "../migrated-storage.ts";

export const configDir = fileURLToPath(new URL("../../../config", import.meta.url));

export interface TasksFixture {
  tasks: LocalTasks;
  /** Receipts, oldest first, and decisions in the order they were made. */
  receipts(): Receipt[];
  decisions: RouterDecision[];
  context: TaskContext;
  close(): void;
}

/** A model that could do every task. */
export const ableModel: TaskModel = {
  file: "able.gguf",
  loaded: true,
  contextWindow: 8_192,
  tasks: ["classify_intent", "extract_json", "summarize", "redact"],
};

/** The tasks over a ledger of their own; without a model and without the intent lane unless given. */
export function createTasksFixture(over: Partial<TasksDeps> = {}): TasksFixture {
  const dataDir = mkdtempSync(join(tmpdir(), "lancelot-tasks-"));
  const redactor = createRedactor();
  const storage = openMigratedStorage({ dataDir, migrations: receiptsMigrations });
  const ledger = createLedger({ storage, redactor });
  const decisions: RouterDecision[] = [];
  const tasks = createTasks({
    ledger,
    redactor,
    configDir,
    pii: createPiiDetector({ configDir, dataDir }),
    model: () => null,
    stream: scripted([]),
    keep: (decision) => decisions.push(decision),
    embedder: {
      sha256: null,
      state: () => ({ status: "absent", problem: null }),
      warm: () => false,
      embed: () => Promise.reject(new LancelotError("unavailable", "There is none.")),
    },
    ...over,
  });
  return {
    tasks,
    receipts() {
      ledger.flush();
      return ledger.search({ limit: 100 }).items.toReversed();
    },
    decisions,
    context: { questId: null, parentId: null, signal: new AbortController().signal },
    close() {
      storage.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A model that says these things one after the other; an Error is thrown, null never ends. */
export function scripted(answers: readonly (string | { cut: string } | Error | null)[]): Provider["stream"] {
  const left = [...answers];
  return async function* (_request, _call, signal) {
    const answer = left.shift();
    if (answer === undefined) throw new Error("the model was asked more often than the test says");
    if (answer instanceof Error) throw answer;
    if (answer === null) {
      await new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(new LancelotError("cancelled", "Stopped.")), { once: true }),
      );
      return;
    }
    const text = typeof answer === "string" ? answer : answer.cut;
    yield { type: "text", text };
    yield {
      type: "done",
      content: [{ type: "text", text }],
      malformed: [],
      stop: typeof answer === "string" ? "end" : "max_tokens",
      usage: { ...noUsage(), inputTokens: 20, outputTokens: 5 },
    };
  };
}
