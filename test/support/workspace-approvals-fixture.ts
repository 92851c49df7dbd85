import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Approval, ApprovalDecision, ApprovalScope, Intent } from "../../agent-server/contract/governance.ts";
import type { Authorization, GovernanceDeps } from "../../agent-server/governance/governance.ts";
import { createGovernanceFixture, type GovernanceFixture, intent } from "./governance-fixture.ts";

const question = { title: "Run it", detail: "It." };

/** What the owner answers: a decision, for the workspace with the scope that is chosen from those offered. */
export type Answer = ApprovalDecision | { readonly choose: (scopes: readonly ApprovalScope[]) => number };

/** The whole gate over a project with scripts, where a command's approval can be asked, given and used. */
export interface WorkspaceApprovalsFixture extends GovernanceFixture {
  /** Writes a file of the workspace. */
  put(path: string, text: string): void;
  /** The intent of a command with network access in a view of the task, which always asks. */
  run(command: string, more?: { args?: Record<string, unknown>; questId?: string; cwd?: string } & Partial<Intent>): Intent;
  /** Authorizes and redeems. `answer` is given when the owner is asked; null when nobody may be asked. */
  attempt(what: Intent, answer: Answer | null, at?: GovernanceFixture): Promise<Attempt>;
  /** Saves the scope with this pattern for a command, and returns the rule's id. */
  always(what: Intent, pattern: string): Promise<string>;
}

export interface Attempt {
  /** The approval that was asked for; null when nobody was asked. */
  readonly asked: Approval | null;
  /** Null when it was refused. */
  readonly authorization: Authorization | null;
  /** The code of the refusal. */
  readonly refused: string | null;
}

export function createWorkspaceApprovalsFixture(more: Partial<GovernanceDeps> = {}): WorkspaceApprovalsFixture {
  const fixture = createGovernanceFixture(more);
  const { workspace } = fixture;
  const put = (path: string, text: string): void => {
    const at = join(workspace, path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, text);
  };
  put("package.json", JSON.stringify({ scripts: { build: "tsc", lint: "eslint src", tool: "node tools/tool.js" } }));
  put("tools/tool.js", "console.log(1)\n");
  put("tools/x.sh", "echo x\n");
  chmodSync(join(workspace, "tools/x.sh"), 0o755);
  put("Makefile", "t:\n\techo t\n");

  const run: WorkspaceApprovalsFixture["run"] = (command, { args, ...rest } = {}) =>
    intent(
      "shell_exec",
      "run",
      { command, containment: "transactional", network: true, ...args },
      { questId: "quest-1", cwd: workspace, ...rest },
    );

  async function attempt(what: Intent, answer: Answer | null, at: GovernanceFixture = fixture): Promise<Attempt> {
    const { approvals } = at.governance;
    let asked: Approval | null = null;
    const stop = new AbortController();
    const onWaiting = (approval: Approval): void => {
      asked = approval;
      if (answer === null) stop.abort();
      else if (typeof answer === "string") approvals.decide(approval.id, answer);
      else approvals.decide(approval.id, "allow_workspace", undefined, answer.choose(approval.scopes));
    };
    try {
      const context = { quest: what.questId ?? null, parent: null, signal: stop.signal, onWaiting };
      const authorization = await at.governance.authorize(what, question, context);
      at.governance.redeem(authorization, what);
      return { asked, authorization, refused: null };
    } catch (error) {
      if (error instanceof Error && "code" in error) return { asked, authorization: null, refused: String(error.code) };
      throw error;
    }
  }

  return {
    ...fixture,
    put,
    run,
    attempt,
    async always(what, pattern) {
      const choose = (scopes: readonly ApprovalScope[]): number => scopes.findIndex((scope) => scope.pattern === pattern);
      const { asked } = await attempt(what, { choose });
      const rule = fixture.governance.approvals.rules().find(({ approvalId }) => approvalId === asked?.id);
      if (rule === undefined) throw new Error(`Nothing was saved for ${pattern}.`);
      return rule.id;
    },
  };
}
