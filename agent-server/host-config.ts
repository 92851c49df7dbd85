import type { ConfigProblem } from "./contract/host.ts";
import type { Flags } from "./flags/flags.ts";
import type { Governance } from "./governance/governance.ts";
import type { Memory } from "./memory/memory.ts";
import type { Models } from "./models/models.ts";
import type { Ledger, Telemetry } from "./receipts/receipts.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";
import type { OAuth } from "./security/security.ts";
import type { Tools } from "./tools/tools.ts";
import type { Workspace } from "./workspace/workspace.ts";

/** The readers of the owner's `config/` folder. */
export interface ConfigReaders {
  readonly flags: Pick<Flags, "configProblem">;
  readonly ledger: Pick<Ledger, "configProblem">;
  readonly telemetry: Pick<Telemetry, "configProblem">;
  readonly detector: { problem(): string | null };
  readonly oauth: Pick<OAuth, "configProblem">;
  readonly governance: Pick<Governance, "configProblem">;
  readonly usage: { configProblems(): Record<string, string | null> };
  readonly models: Pick<Models, "configProblems">;
  /** Null without a folder. */
  readonly sandbox: Pick<Sandbox, "configProblem"> | null;
  readonly memory: Pick<Memory, "configProblem">;
  readonly quests: { configProblem(): string | null };
  readonly workspace: Pick<Workspace, "configProblem">;
  readonly tools: { readonly routing: Pick<Tools["routing"], "configProblems"> };
}

/** The state of every file that this host reads from the owner's `config/` folder. */
export interface ConfigFiles {
  /** Why a file is not used, by file; null for each that is, or is missing. Reads files that changed. */
  problems(): Record<string, string | null>;
  /** The files that are not used. */
  broken(): ConfigProblem[];
  /** Calls `onChange` when the broken files differ from those of the last call. */
  notice(): void;
}

/** Every file of the owner's `config/` folder has its row here, so that Doctor, health and the status bar name it when it is broken. */
export function createConfigFiles(readers: ConfigReaders, onChange: (broken: ConfigProblem[]) => void): ConfigFiles {
  const { flags, ledger, telemetry, detector, oauth, governance, usage, models, sandbox, memory, quests, workspace, tools } = readers;
  let noticed = "[]";
  const problems = (): Record<string, string | null> => ({
    "flags.yaml": flags.configProblem(),
    "receipts.yaml": ledger.configProblem(),
    "telemetry.yaml": telemetry.configProblem(),
    "redaction.yaml": detector.problem(),
    "oauth.yaml": oauth.configProblem(),
    "network.yaml": governance.configProblem(),
    ...usage.configProblems(),
    ...models.configProblems(),
    ...(sandbox === null ? {} : { "sandbox.yaml": sandbox.configProblem() }),
    "memory.yaml": memory.configProblem(),
    "context.yaml": quests.configProblem(),
    "checkpoints.yaml": workspace.configProblem(),
    ...tools.routing.configProblems(),
  });
  const broken = (): ConfigProblem[] =>
    Object.entries(problems()).flatMap(([file, message]) => (message === null ? [] : [{ file: `config/${file}`, message }]));
  return {
    problems,
    broken,
    notice() {
      const found = broken();
      const text = JSON.stringify(found);
      if (text === noticed) return;
      noticed = text;
      onChange(found);
    },
  };
}
