import type { AskEditor, EditorResult } from "../contract/editor.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor, Sanitizer } from "../security/security.ts";
import { type RepositorySummary, summarizeRepository } from "../workspace/workspace.ts";
import { describeWorkState, type Problem, type WorkState } from "./describe-work-state.ts";

/** The origin of the description in its data fence. */
export const workStateSource = "the user's editor and repository";

/** How long (ms) git and each answer of the editor may take: the state is not worth a longer wait, as in a very large repository. */
const timeoutMs = 2_000;
/** Files whose problems are read: those that the task changed, and the open ones. */
const maxTouched = 20;

export interface WorkStateRequest {
  /** Files that the task changed, the newest first, relative to the workspace. */
  readonly touched: readonly string[];
  /** Selections that the message already contains, as `path:start-end`. */
  readonly attached: readonly string[];
  /** Of the quest that the description becomes part of. */
  readonly redactor: Redactor;
  readonly trace: { readonly questId: string; readonly parentId: string | null };
  readonly signal: AbortSignal;
}

/** Describes what the user sees: repository, open editors, selection, problems. (Requirement C5.) */
export interface WorkStateReader {
  /**
   * Reads the state now, with a receipt. What cannot be read is left out; null when nothing is left. Files that the policy calls secret and
   * files outside the workspace are left out.
   */
  read(request: WorkStateRequest): Promise<{ readonly text: string; readonly findings: string[] } | null>;
  /**
   * The errors that the editor shows in the workspace now, with a receipt; of files of which the model may know. Proposed changes are not in
   * them. Null without an editor, or when it does not answer in time.
   */
  errors(request: Pick<WorkStateRequest, "trace" | "signal">): Promise<Problem[] | null>;
}

interface Deps {
  /** Null without a folder: there is nothing to describe. */
  readonly workspace: string | null;
  /** Null without an editor. */
  readonly askEditor: AskEditor | null;
  readonly governance: Pick<Governance, "resolvePath">;
  readonly ledger: Pick<Ledger, "record">;
  readonly sanitizer: Sanitizer;
  readonly log: Log;
}

const noEditors: EditorResult<"openEditors"> = { editors: [], more: 0, selection: null };

export function createWorkState({ workspace, askEditor, governance, ledger, sanitizer, log }: Deps): WorkStateReader {
  /** The name by which the policy knows the file; null when the model must not hear of it. */
  function visiblePath(path: string): string | null {
    const resolved = governance.resolvePath(path);
    return resolved.ok && resolved.inside && resolved.sensitive !== "secret" ? resolved.display : null;
  }

  async function readGit(folder: string, signal: AbortSignal): Promise<RepositorySummary | null> {
    return summarizeRepository(folder, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])).catch((error: unknown) => {
      if (!signal.aborted) log("the state of the repository was not read", error);
      return null;
    });
  }

  async function readEditors({ attached }: WorkStateRequest, ask: AskEditor | null): Promise<Omit<WorkState, "git" | "problems">> {
    const { editors, more, selection } = (ask === null ? null : await inTime(ask("openEditors", {}))) ?? noEditors;
    const shown = editors.flatMap((editor) => {
      const path = visiblePath(editor.path);
      return path === null ? [] : [{ ...editor, path }];
    });
    const path = selection === null ? null : visiblePath(selection.path);
    if (selection === null || path === null) return { editors: shown, moreEditors: more, selection: null };
    const isAttached = attached.includes(`${path}:${String(selection.startLine)}-${String(selection.endLine)}`);
    return { editors: shown, moreEditors: more, selection: { ...selection, path, text: isAttached ? null : selection.text } };
  }

  async function readProblems(paths: readonly string[], ask: AskEditor | null): Promise<Problem[]> {
    if (ask === null) return [];
    const answers = await Promise.all(paths.map((path) => inTime(ask("diagnostics", { path }))));
    const problems = answers.flatMap((answer, index) =>
      (answer?.items ?? []).flatMap(({ line, severity, message }): Problem[] =>
        severity === "error" || severity === "warning" ? [{ path: paths[index] ?? "", line, severity, message }] : [],
      ),
    );
    const of = (wanted: Problem["severity"]): Problem[] => problems.filter(({ severity }) => severity === wanted);
    return [...of("error"), ...of("warning")];
  }

  return {
    async read(request) {
      if (workspace === null) return null;
      const { redactor, trace, signal } = request;
      const [git, open] = await Promise.all([readGit(workspace, signal), readEditors(request, askEditor)]);
      const touched = request.touched.slice(0, maxTouched).flatMap((path) => visiblePath(path) ?? []);
      const problems = await readProblems([...new Set([...touched, ...open.editors.map(({ path }) => path)])], askEditor);
      signal.throwIfAborted();
      const described = describeWorkState({ git, ...open, problems });
      if (described === null) return null;
      const findings = sanitizer.inspect(described).findings.map(({ rule }) => rule);
      const { selection } = open;
      ledger.record(
        {
          actionType: "env_query",
          actionName: "work_state",
          inputs: {
            git: git !== null,
            editors: open.editors.length,
            problems: problems.length,
            ...(selection === null ? {} : { path: selection.path, selectedText: selection.text !== null }),
            ...(findings.length === 0 ? {} : { injection: findings }),
          },
          riskTier: "T0",
          ...trace,
        },
        { status: "success" },
      );
      return { text: redactor.text(described).text, findings };
    },
    async errors({ trace, signal }) {
      if (workspace === null || askEditor === null) return null;
      const answer = await inTime(askEditor("diagnostics", {}));
      signal.throwIfAborted();
      if (answer === null) return null;
      const errors = answer.items.flatMap(({ path, line, severity, message }): Problem[] => {
        const visible = severity === "error" ? visiblePath(path) : null;
        return visible === null ? [] : [{ path: visible, line, severity: "error", message }];
      });
      const inputs = { errors: errors.length };
      ledger.record({ actionType: "env_query", actionName: "editor_errors", inputs, riskTier: "T0", ...trace }, { status: "success" });
      return errors;
    },
  };
}

/** The answer of the editor; null when it has none, or none in time. */
async function inTime<T>(asked: Promise<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), timeoutMs);
  try {
    return await Promise.race([asked, late.promise]);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}
