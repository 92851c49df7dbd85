import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, lstatSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Change } from "../../agent-server/contract/changes.ts";
import type { AskEditor } from "../../agent-server/contract/editor.ts";
import type { Mode, Posture } from "../../agent-server/contract/governance.ts";
import { createGovernance, type Governance, governanceMigrations } from "../../agent-server/governance/governance.ts";
import { estimateTokens } from "../../agent-server/context/context.ts";
import { createMemory, type Memory, type MemoryDeps, memoryMigrations } from "../../agent-server/memory/memory.ts";
import { createLedger, type Ledger, receiptsMigrations } from "../../agent-server/receipts/receipts.ts";
import { createRedactor, createSanitizer } from "../../agent-server/security/security.ts";
import type { Storage } from "../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "./migrated-storage.ts";
import { workspaceMigrations } from "../../agent-server/workspace/workspace.ts";
import type { Tool } from "../../agent-server/tools/tool.ts";
import { removeTree } from "./remove-tree.ts";
import { type ComposedTools, composeTools, type GivenTools } from "./compose-tools.ts";
import type { ToolCall, ToolOutcome } from "../../agent-server/tools/tools.ts";

export interface ToolsFixture {
  readonly tools: ComposedTools;
  readonly governance: Governance;
  readonly ledger: Ledger;
  readonly storage: Storage;
  /** Null unless it was asked for. */
  readonly memory: Memory | null;
  readonly workspace: string;
  readonly dataDir: string;
  /** Every change event, in order. */
  readonly events: Change[];
  /** Runs a tool in quest `q1` unless said. */
  run(tool: string, args: unknown, more?: Partial<ToolCall>): Promise<ToolOutcome>;
  /** Answers the questions of the gate that come from now on. */
  answer(decision: "allow_once" | "deny", reason?: string): void;
  path(relative: string): string;
  write(relative: string, content: string | Buffer): void;
  read(relative: string): string;
  close(): void;
}

export interface ToolsFixtureOptions {
  readonly base?: string;
  readonly workspace?: string;
  readonly dataDir?: string;
  readonly configDir?: string;
  readonly home?: string;
  readonly posture?: Posture;
  readonly mode?: Mode;
  readonly trusted?: boolean;
  /** Off unless said, as the flag is. */
  readonly networkEnabled?: () => boolean;
  readonly askEditor?: AskEditor | null;
  readonly catalog?: readonly Tool[];
  readonly boundaryTimeoutMs?: number;
  readonly verificationQueue?: number;
  /** Stands between the tools and the real gate. */
  readonly wrap?: (governance: Governance) => Governance;
  /** A real memory, with what of it is not as usual; none unless said. */
  readonly memory?: Partial<MemoryDeps>;
  /** What else the tools are given: shells, a way to the network, flags. */
  readonly given?: Partial<GivenTools>;
}

/** The ripgrep program of this platform. */
export const ripgrepPath = createRequire(import.meta.url).resolve(
  `@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg${process.platform === "win32" ? ".exe" : ""}`,
);

/** The tools over their real neighbours: SQLite, ledger, gate, ripgrep, a workspace on disk. */
export function createToolsFixture(options: ToolsFixtureOptions = {}): ToolsFixture {
  const base = options.base ?? realpathSync(mkdtempSync(join(tmpdir(), "lancelot-tools-")));
  const workspace = options.workspace ?? join(base, "proj");
  const dataDir = options.dataDir ?? join(base, "data");
  mkdirSync(workspace, { recursive: true });
  mkdirSync(dataDir, { recursive: true });
  const storage = openMigratedStorage({
    dataDir,
    migrations: [...receiptsMigrations, ...governanceMigrations, ...workspaceMigrations, ...memoryMigrations],
  });
  const redactor = createRedactor();
  const ledger = createLedger({ storage, redactor });
  const events: Change[] = [];
  let reply: { decision: "allow_once" | "deny"; reason: string | undefined } | null = null;
  const real = createGovernance({
    storage,
    ledger,
    redactor,
    workspace,
    dataDir,
    configDir: options.configDir ?? join(import.meta.dirname, "../../config"),
    trusted: options.trusted ?? true,
    ...(options.networkEnabled === undefined ? {} : { networkEnabled: options.networkEnabled }),
    posture: options.posture ?? "supervised",
    approvalTimeoutSeconds: 60,
    home: options.home ?? join(base, "home"),
    editsOf: () => null,
    hasTaskCopy: () => false,
    emit: (topic, payload) => {
      if (topic !== "approval" || !("status" in payload) || payload.status !== "pending" || reply === null) return;
      const { decision, reason } = reply;
      const { id } = payload as { id: string };
      queueMicrotask(() => real.approvals.decide(id, decision, reason));
    },
  });
  const governance = options.wrap?.(real) ?? real;
  const configDir = options.configDir ?? join(import.meta.dirname, "../../config");
  const memory =
    options.memory === undefined
      ? null
      : createMemory({
          ...{ storage, ledger, redactor, workspace, dataDir, configDir, estimateTokens },
          sanitizer: createSanitizer(configDir),
          enabled: () => true,
          emit: () => undefined,
          log: () => undefined,
          soul: () => null,
          forbids: (content) => real.soul.active()?.forbidsMemory(content) ?? null,
          evidence: () => null,
          timeline: { message: () => null, since: () => [], quest: () => [] },
          ...options.memory,
        });
  const tools = composeTools({
    storage,
    ledger,
    governance,
    redactor,
    workspace,
    dataDir,
    ripgrepPath,
    askEditor: options.askEditor ?? null,
    ...(memory === null ? {} : { memory }),
    ...(options.catalog === undefined ? {} : { catalog: options.catalog }),
    ...(options.boundaryTimeoutMs === undefined ? {} : { boundaryTimeoutMs: options.boundaryTimeoutMs }),
    ...(options.verificationQueue === undefined ? {} : { verificationQueue: options.verificationQueue }),
    emit: (topic, payload) => {
      if (topic === "change") events.push(payload as Change);
    },
    ...options.given,
  });
  return {
    tools,
    governance,
    ledger,
    storage,
    memory,
    workspace,
    dataDir,
    events,
    run: (tool, args, more = {}) =>
      tools.invoke({
        tool,
        args,
        quest: "q1",
        parent: null,
        actor: "agent",
        mode: options.mode ?? "normal",
        signal: new AbortController().signal,
        ...more,
      }),
    answer(decision, reason) {
      reply = { decision, reason };
    },
    path: (relative) => join(workspace, relative),
    write(relative, content) {
      mkdirSync(dirname(join(workspace, relative)), { recursive: true });
      writeFileSync(join(workspace, relative), content);
    },
    read: (relative) => readFileSync(join(workspace, relative), "utf8"),
    close() {
      tools.routing.close();
      storage.close();
      if (options.base === undefined) removeTree(base);
    },
  };
}

/** Every entry below a folder with its kind, mode and content, to see that nothing changed. */
export function snapshotTree(folder: string, skip: (path: string) => boolean = () => false): Record<string, string> {
  const entries: Record<string, string> = {};
  const visit = (at: string) => {
    for (const name of readdirSync(at).sort()) {
      const path = join(at, name);
      if (skip(path)) continue;
      const stats = lstatSync(path);
      const mode = (stats.mode & 0o7777).toString(8);
      if (stats.isDirectory()) {
        entries[path] = `folder ${mode}`;
        visit(path);
      } else if (stats.isFile()) entries[path] = `file ${mode} ${readFileSync(path).toString("base64")}`;
      else entries[path] = `other ${stats.mode}`;
    }
  };
  visit(folder);
  return entries;
}
