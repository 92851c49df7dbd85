import { join } from "node:path";
import { createExecution, type Execution, type ExecutionDeps } from "../../agent-server/execution/execution.ts";
import { createPageFetch, createPlaceholders, createSanitizer } from "../../agent-server/security/security.ts";
import type { ShellProvider } from "../../agent-server/sandbox/shell-provider.ts";
import type { Memory } from "../../agent-server/memory/memory.ts";
import { createTools, type Tools, type ToolsDeps } from "../../agent-server/tools/tools.ts";
import { createWorkspace, type Workspace, type WorkspaceDeps } from "../../agent-server/workspace/workspace.ts";

type Deps = Omit<WorkspaceDeps & ExecutionDeps & ToolsDeps, "workspace" | "execution">;
/** What a test has to give; the rest is as in a host without an editor, a memory, shells and network. */
export type GivenTools = Pick<Deps, "storage" | "ledger" | "governance" | "redactor" | "ripgrepPath"> &
  Partial<Deps> & {
    readonly workspace: string | null;
    readonly dataDir: string;
    readonly memory?: Memory | null;
    /** In place of `sandbox`. */
    readonly shells?: readonly ShellProvider[];
    /** The flag TOOLS_FABRIC; on unless said. */
    readonly enabled?: () => boolean;
  };

/** The tools with what a host hands to others beside them. */
export interface ComposedTools extends Omit<Tools, "close"> {
  close(timeoutMs?: number): Promise<void>;
  readonly workspace: Workspace;
  readonly execution: Execution;
  readonly changes: Execution["changes"]["review"];
  readonly checkpoints: Execution["checkpoints"];
  verifications: Execution["verifications"];
}

/** Workspace, execution and tools, joined as the host joins them. */
export function composeTools(given: GivenTools): ComposedTools {
  const deps = {
    askEditor: null,
    configDir: null,
    distDir: null,
    memory: null,
    emit: () => undefined,
    now: () => new Date(),
    log: () => undefined,
    isQuestOpen: () => true,
    safeMode: () => false,
    sandbox: { shells: given.shells ?? [], control: null, learnSecrets: () => Promise.resolve() },
    placeholders: createPlaceholders({ dataDir: given.dataDir }),
    sanitizer: createSanitizer(join(import.meta.dirname, "../../config")),
    ...given,
    flag: (name) => (name === "TOOLS_FABRIC" ? (given.enabled?.() ?? true) : (given.flag?.(name) ?? false)),
    pageFetch: given.pageFetch ?? createPageFetch(),
  } satisfies Partial<Deps> & GivenTools;
  // The first request to a model creates the key of placeholders, before any tool call.
  deps.placeholders.of("q1");
  const workspace = createWorkspace(deps);
  const execution = createExecution({ ...deps, workspace });
  const tools = createTools({ ...deps, workspace, execution });
  return {
    ...tools,
    workspace,
    execution,
    changes: execution.changes.review,
    checkpoints: execution.checkpoints,
    verifications: execution.verifications,
    async close(timeoutMs = 2_000) {
      await tools.close();
      await execution.close(timeoutMs);
    },
  };
}
