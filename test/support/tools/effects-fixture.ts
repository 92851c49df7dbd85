import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { AskEditor } from "../../../agent-server/contract/editor.ts";
import type { ToolPart } from "../../../agent-server/contract/chat.ts";
import { createGovernance, type Governance, governanceMigrations } from "../../../agent-server/governance/governance.ts";
import { createLedger, type Ledger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../../agent-server/security/security.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "../migrated-storage.ts";
import { createTierBoundary } from "../../../agent-server/execution/tier-boundary.ts";
import type { Collector } from "../../../agent-server/workspace/checkpoints/checkpoint-collector.ts";
import { createCheckpointServices, type CheckpointServices } from "../../../agent-server/workspace/checkpoints/checkpoint-services.ts";
import { createRestore, type Restore } from "../../../agent-server/execution/restore.ts";
import { createPathLocks } from "../../../agent-server/workspace/path-locks.ts";
import { createPipeline, type ExecutionPipeline } from "../../../agent-server/execution/pipeline.ts";
import type { Action, Result } from "../../../agent-server/execution/action.ts";
import { workspaceMigrations } from "../../../agent-server/workspace/workspace.ts";
import { createVerifications } from "../../../agent-server/execution/verifications.ts";
import { createVerificationStore } from "../../../agent-server/execution/verification-store.ts";
import { createWorkspaceFiles } from "../../../agent-server/workspace/workspace-files.ts";

export interface EffectsFixture extends CheckpointServices {
  readonly storage: Storage;
  readonly ledger: Ledger;
  readonly governance: Governance;
  readonly pipeline: ExecutionPipeline;
  readonly restore: Restore;
  readonly collector: Collector;
  readonly workspace: string;
  readonly dataDir: string;
  /** What hosts that died left under way was put right. */
  readonly ready: Promise<void>;
  /** Runs a script with `sh` in the workspace by the pipeline, watched, as a task's command. */
  sh(script: string, more?: Partial<CommandOptions>): Promise<CommandEnd>;
  path(relative: string): string;
  write(relative: string, content: string | Buffer): void;
  read(relative: string): string;
  close(): void;
}

export interface CommandOptions {
  readonly questId: string | null;
  readonly signal: AbortSignal;
  readonly approved: readonly string[];
  /** Instead of a script. */
  readonly run: () => Promise<void | Pick<Result<null>, "stillRunning">>;
  /** What the script prints. */
  readonly onOutput: (text: string) => void;
}

export interface CommandEnd {
  readonly receiptId: string;
  readonly touched: NonNullable<ToolPart["touched"]>;
}

export interface EffectsFixtureOptions {
  readonly base?: string;
  readonly workspace?: string;
  /** Laid over the shipped `checkpoints.yaml`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly askEditor?: AskEditor;
  readonly isQuestOpen?: (questId: string) => boolean;
  readonly now?: () => Date;
}

/** What watches commands over its real neighbours: SQLite, ledger, gate, pipeline, git, a workspace on disk. */
export function createEffectsFixture(options: EffectsFixtureOptions = {}): EffectsFixture {
  const base = options.base ?? realpathSync(mkdtempSync(join(tmpdir(), "lancelot-effects-")));
  const workspace = options.workspace ?? join(base, "proj");
  const dataDir = join(base, "data");
  mkdirSync(workspace, { recursive: true });
  mkdirSync(join(dataDir, "config"), { recursive: true });
  if (options.settings !== undefined) writeFileSync(join(dataDir, "config/checkpoints.yaml"), JSON.stringify(options.settings));
  const configDir = join(import.meta.dirname, "../../../config");
  const storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...governanceMigrations, ...workspaceMigrations] });
  const redactor = createRedactor();
  const ledger = createLedger({ storage, redactor });
  const governance: Governance = createGovernance({
    storage,
    ledger,
    redactor,
    workspace,
    dataDir,
    configDir,
    trusted: true,
    posture: "autonomous",
    approvalTimeoutSeconds: 60,
    home: join(base, "home"),
    editsOf: () => null,
    hasTaskCopy: () => false,
    emit: (topic, payload) => {
      if (topic !== "approval" || !("status" in payload) || payload.status !== "pending") return;
      const { id } = payload as { id: string };
      queueMicrotask(() => governance.approvals.decide(id, "allow_once"));
    },
  });
  const now = options.now ?? (() => new Date());
  const problems: unknown[] = [];
  const log = (message: string, error?: unknown) => void problems.push([message, error]);
  const keeping = createCheckpointServices({
    storage,
    ledger,
    governance,
    workspace,
    configDir,
    isQuestOpen: options.isQuestOpen ?? (() => true),
    now,
    log,
  });
  const { objects, checkpoints, effects } = keeping;
  if (effects === null) throw new Error("There is a workspace.");
  const locks = createPathLocks();
  const verifications = createVerifications({
    storage,
    store: createVerificationStore(storage, workspace, now),
    ledger,
    redactor,
    governance,
    checkpoints,
    rollBack: (checkpointId, of) => restore.rollBack(checkpointId, of),
    outcome: (report) => governance.outcome(report),
    log,
  });
  const pipeline = createPipeline({
    governance,
    ledger,
    checkpoints,
    verifications,
    boundary: createTierBoundary({ ledger, verifications }),
    effects,
    tasks: null,
    log,
  });
  const files = createWorkspaceFiles(options.askEditor ?? null);
  const restore: Restore = createRestore({
    checkpoints,
    objects,
    files,
    governance,
    pipeline,
    locks,
    ledger,
    verifications,
    ready: () => ready,
  });
  checkpoints.sweep();
  const ready = (async () => {
    await effects.recover();
    await restore.resume();
  })();
  // Those that close the room at once do not wait for it.
  ready.catch(() => undefined);

  return {
    ...keeping,
    storage,
    ledger,
    governance,
    pipeline,
    restore,
    workspace,
    dataDir,
    ready,
    async sh(script, { questId = "q1", signal = new AbortController().signal, approved, run, onOutput } = {}) {
      let receiptId = "";
      let touched: CommandEnd["touched"] | null = null;
      const action: Action<null> = {
        quest: questId,
        parent: null,
        actor: "agent",
        mode: "normal",
        signal,
        actionType: "tool_call",
        actionName: "run_command",
        inputs: { command: script },
        steps: [{ capability: "shell_exec", action: "run", args: { command: "true" }, cwd: workspace }],
        question: { title: "Run", detail: script },
        consent: "ask",
        touches: [],
        watch: "workspace",
        ...(approved === undefined ? {} : { approvedPaths: approved }),
        onReceipt: (id) => (receiptId = id),
        onTouched: (found) => (touched = found),
        provider: { name: "sh", version: "1" },
        run: async () => {
          const ran = await (run === undefined ? shell(script, workspace, onOutput) : run());
          // The changes of such a command are recorded later.
          if (ran?.stillRunning !== undefined) touched = { files: [], total: 0, checkpointId: null };
          return { value: null, outputs: {}, ...ran };
        },
      };
      await pipeline.execute(action);
      if (touched === null) throw new Error("Nothing was told of what it changed.");
      return { receiptId, touched };
    },
    path: (relative) => join(workspace, relative),
    write(relative, content) {
      mkdirSync(dirname(join(workspace, relative)), { recursive: true });
      writeFileSync(join(workspace, relative), content);
    },
    read: (relative) => readFileSync(join(workspace, relative), "utf8"),
    close() {
      storage.close();
      if (options.base === undefined) rmSync(base, { recursive: true, force: true });
    },
  };
}

/** Runs a script; throws when it fails, with what it printed. */
async function shell(script: string, cwd: string, onOutput: (text: string) => void = () => undefined): Promise<void> {
  const child = spawn("sh", ["-e", "-c", script], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: cwd,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: "A",
      GIT_AUTHOR_EMAIL: "a@example.org",
      GIT_COMMITTER_NAME: "A",
      GIT_COMMITTER_EMAIL: "a@example.org",
    },
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
    onOutput(chunk.toString());
  });
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The script ended with ${String(code)}: ${said}`);
}
