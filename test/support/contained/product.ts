import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Change } from "../../../agent-server/contract/changes.ts";
import type { ToolPart } from "../../../agent-server/contract/chat.ts";
import { createGovernance, governanceMigrations } from "../../../agent-server/governance/governance.ts";
import { productPaths } from "../../../agent-server/paths.ts";
import { createLedger, type Ledger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createSandbox } from "../../../agent-server/sandbox/sandbox.ts";
import { createKnownSecrets, createPlaceholders, createRedactor, createSanitizer } from "../../../agent-server/security/security.ts";
import { workspaceMigrations } from "../../../agent-server/workspace/workspace.ts";
import { type ComposedTools, composeTools } from "../compose-tools.ts";
import { openMigratedStorage } from "../migrated-storage.ts";
import { ripgrepPath } from "../tools-fixture.ts";
import type { World } from "./world.ts";

/** Texts by where they are shown. */
export type Told = Readonly<Partial<Record<"answer" | "live output" | "card" | "receipts" | "changes" | "review", string>>>;

/** What became of one command. */
export interface CommandEnd {
  /** Texts that the model, the chat and the receipts were sent. */
  readonly told: Told;
  readonly isDenied: boolean;
  /** True when it did not start. */
  readonly isFailed: boolean;
  readonly containment: string | null;
  readonly receiptId: string | null;
}

/** The product as the host composes it, around one workspace: gate, ledger, redaction, sandbox, tools. */
export interface Product {
  readonly tools: ComposedTools;
  readonly ledger: Ledger;
  /** Runs a command of a task as the model does. The user allows what is asked. */
  run(questId: string, command: string, timeoutMs: number): Promise<CommandEnd>;
  /** Accepts every change of a task that is not decided on its own, then generated files and commits. */
  acceptAll(questId: string): Promise<{ accepted: Change[]; told: Told }>;
  undo(questId: string): Promise<void>;
  hasProposals(questId: string): boolean;
  /** Questions so far. */
  questions(): number;
  /** Unexpected errors since the last call. */
  takeProblems(): string[];

  close(): Promise<void>;
}

/** Small limits, so that reaching one is quick. */
const limits = ["version: 1", "memory_bytes: 268435456", "processes: 128", "scratch_bytes: 25165824", "workspace_bytes: 50331648"];
const maxChanges = 200_000;

/** @param engine its commands run in copies there; in the sandbox of this system without one */
export function createProduct(world: World, engine?: { readonly address: string; readonly image: string }): Product {
  const { workspace, dataDir, home } = world;
  mkdirSync(join(dataDir, "config"), { recursive: true });
  const image = engine === undefined ? [] : [`image: ${engine.image}`];
  writeFileSync(join(dataDir, "config/sandbox.yaml"), `${[...limits, ...image].join("\n")}\n`);
  const { configDir } = productPaths();
  const storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...governanceMigrations, ...workspaceMigrations] });
  const known = createKnownSecrets();
  const redactor = createRedactor({ known });
  const ledger = createLedger({ storage, redactor });
  const problems: string[] = [];
  const log = (message: string, error?: unknown): void => void problems.push(`${message} ${error instanceof Error ? error.message : ""}`);
  let asked = 0;
  const governance = createGovernance({
    ...{ storage, ledger, redactor, workspace, dataDir, configDir, home, log },
    trusted: true,
    editsOf: () => null,
    hasTaskCopy: (questId, absolute) => tools.workspace.hasTaskCopy(questId, absolute),
    posture: "supervised",
    approvalTimeoutSeconds: 60,
    emit(topic, payload) {
      if (topic !== "approval" || !("status" in payload) || payload.status !== "pending") return;
      asked += 1;
      const { id } = payload as { id: string };
      queueMicrotask(() => governance.approvals.decide(id, "allow_once"));
    },
  });
  const sandbox = createSandbox({
    ...{ workspace, dataDir, configDir, governance, ledger, home, log },
    hostId: storage.hostId,
    hostAlive: storage.hostAlive,
    learnSecrets: known.learnFile,
    flag: (name) => name === "TOOLS_FABRIC",
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      DOCKER_HOST: engine?.address ?? "unix:///nonexistent/docker.sock",
      HOME: home,
      SSH_AUTH_SOCK: join(home, "agent.sock"),
      DEPLOY_TOKEN: world.secrets["environment"],
    },
  });
  const tools = composeTools({
    ...{ storage, ledger, governance, redactor, workspace, dataDir, ripgrepPath, configDir, sandbox, log },
    placeholders: createPlaceholders({ dataDir, known }),
    sanitizer: createSanitizer(configDir),
  });
  const { execution } = tools;
  const contextOf = (questId: string) => ({
    ...{ quest: questId, parent: null, actor: "agent" as const, mode: "normal" as const },
    signal: new AbortController().signal,
  });

  return {
    tools,
    ledger,
    async run(questId, command, timeoutMs) {
      const pieces: string[] = [];
      const cards: Partial<ToolPart>[] = [];
      const outcome = await tools.invoke({
        ...contextOf(questId),
        tool: "run_command",
        args: { command, timeout_ms: timeoutMs },
        onOutput: ({ text }) => void pieces.push(text),
        onUpdate: (card) => void cards.push(card),
      });
      const card = Object.assign({}, ...cards) as Partial<ToolPart>;
      const receipts = ledger.search({ questId, limit: 500 }).items;
      // The review has to name a file as it is called; only the user sees it.
      const changes = execution.changes.review.list({ questId, limit: maxChanges }).map((change) => ({ ...change, path: "" }));
      return {
        // The call itself contains the command's text, which is the model's own.
        told: {
          answer: outcome.text,
          "live output": pieces.join(""),
          card: JSON.stringify([outcome.card, card]),
          receipts: JSON.stringify(receipts),
          changes: JSON.stringify(changes),
        },
        isDenied: outcome.card.status === "denied",
        isFailed: outcome.error !== undefined,
        containment: card.command?.containment ?? null,
        receiptId: outcome.receiptId,
      };
    },
    async acceptAll(questId) {
      const accepted: Change[] = [];
      const texts: string[] = [];
      const open = () => execution.changes.review.list({ questId, open: true, limit: maxChanges });
      // Folders are proposed before what was in them, so a review goes from the last to the first; what failed is tried again.
      for (let round = 0; round < 2; round += 1)
        for (const change of open()) {
          if (change.caution !== undefined) continue;
          try {
            accepted.push(await execution.changes.review.decide(change.id, "accept"));
          } catch (error) {
            texts.push(String(error));
          }
        }
      if (execution.settlement !== null) {
        texts.push(await execution.settlement.settle(contextOf(questId)));
        const { generated } = execution.settlement.left(questId);
        if (generated !== null)
          await execution.settlement.decideGenerated(questId, "accept").catch((error: unknown) => void texts.push(String(error)));
      }
      texts.push(execution.changes.review.takeReview(questId).text);
      return { accepted, told: { review: texts.join("\n"), receipts: JSON.stringify(ledger.search({ questId, limit: 500 }).items) } };
    },
    async undo(questId) {
      await execution.checkpoints.restore({ questId });
      execution.changes.review.discard(questId);
    },
    hasProposals: (questId) => execution.changes.review.list({ questId, open: true, limit: 1 }).length > 0,
    questions: () => asked,
    takeProblems: () => problems.splice(0),
    async close() {
      await tools.close();
      await sandbox.close();
      storage.close();
    },
  };
}
