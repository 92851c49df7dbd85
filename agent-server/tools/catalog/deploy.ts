import * as z from "zod";
import { intentOf } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import { commandEffect } from "../command/run-command-line.ts";
import { visibleText } from "../../contract/visible-text.ts";
import { refused } from "../../execution/execution.ts";
import { type DeclaredStep, deployActions } from "../providers/deploy-config.ts";
import { runInShell } from "../command/shell-run.ts";
import { defineTool, type Effect, type Scope } from "../tool.ts";
import { resolveFile } from "../../workspace/workspace.ts";

const verifyMs = 300_000;
const verifyBytes = 64 * 1024;

const titles = { build: "Build", test: "Test", package: "Package", deploy: "Deploy" } as const;

/** One tool for the model with four actions, which policy judges separately by the step in the plan. */
export const deploy = defineTool({
  name: "deploy",
  description:
    "Build, test, package or deploy with the command that the user declared for this workspace. No other command runs. If none is declared, the answer says how the user can declare it. deploy always requires the user's approval.",
  args: z.strictObject({
    action: z.enum(deployActions),
    target: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe("A target that the user declared, such as staging. Default: the workspace itself"),
  }),
  capability: "deploy_ops",
  action: "deploy",
  baseTier: "T3",
  actionType: "tool_call",
  provider: { name: "declared-commands", version: "1" },
  routed: true,
  title: ({ action, target }) => `${titles[action]}${target === undefined ? "" : ` ${target}`}`,
  reads: () => [],
  async plan({ action, target }, scope) {
    const { value: declared } = await scope.runOnProvider(
      "deploy_ops",
      action,
      { questId: scope.call.quest, parentId: scope.call.parent, signal: scope.call.signal, repeatable: true },
      (find) => Promise.resolve(find(target)),
    );
    if (declared.network && !scope.flag("TOOLS_NETWORK")) {
      throw new LancelotError(
        "disabled",
        "The declared command needs network access, which is turned off. The user can turn it on with the flag TOOLS_NETWORK. Nothing ran.",
        { data: { flag: "TOOLS_NETWORK" } },
      );
    }
    const folder = resolveFile(scope, declared.folder);
    if (!folder.inside || folder.type !== "directory")
      throw new LancelotError("invalid_params", `The declared folder ${declared.folder} is not in the workspace. Nothing ran.`);
    const title = `${titles[action]}${target === undefined ? "" : ` ${target}`}`;
    const network = { ...scope, commands: { ...scope.commands, network: () => (declared.network ? { services: [], hosts: null } : null) } };
    const effect = await commandEffect(network, {
      command: declared.command,
      cwd: { display: folder.display, absolute: folder.absolute },
      timeoutMs: declared.timeoutMs,
      title,
    });
    return declaredEffect(scope, effect, { action, target, declared, cwd: folder.absolute, title });
  },
});

interface Declaration {
  readonly action: (typeof deployActions)[number];
  readonly target: string | undefined;
  readonly declared: DeclaredStep;
  readonly cwd: string;
  readonly title: string;
}

/** The run of the command as a deployment, with the verification that the user declared. */
function declaredEffect(scope: Scope, effect: Effect, { action, target, declared, cwd, title }: Declaration): Effect {
  const { verify } = declared;
  // An approval covers whether the command runs in a sandbox, but not in which one.
  const { place, ...run } = effect.steps.at(-1)?.args ?? {};
  const outside = place === "host" ? { place } : {};
  const named = target === undefined ? {} : { target };
  const step = { capability: "deploy_ops", action, args: { ...named, ...run, ...outside, ...(verify === null ? {} : { verify }) }, cwd };
  if (verify !== null) {
    // The verification is approved together with its deployment, unless policy denies it.
    const args = { ...named, ...run, ...outside, command: verify };
    const decision = scope.governance.evaluate(intentOf({ ...step, args }, scope.call));
    if (decision.verdict === "deny") throw refused(decision);
  }
  const verification =
    verify === null ? "No verification is declared: only the exit code counts." : `Verification:\n${visibleText(verify)}`;
  return {
    ...effect,
    steps: [step],
    question: { title, detail: action === "deploy" ? `${effect.question.detail}\n\n${verification}` : effect.question.detail },
    // Runs while the workspace is watched, so that changes by the verification can be undone too.
    async run(context) {
      const result = await effect.run(context);
      if (verify === null || result.failure !== undefined) return result;
      const { problem, stillRunning } = await verified(scope, { verify, declared, cwd, action }, scope.call.signal).catch(
        (error: unknown): Verified => {
          if (scope.call.signal.aborted || !(error instanceof LancelotError)) throw error;
          return { problem: `The deployment ran, but its verification could not run: ${error.message.replace(/\.$/, "")}` };
        },
      );
      if (problem === null) return { ...result, outputs: { ...result.outputs, verified: true } };
      return {
        ...result,
        value: { ...result.value, text: `${problem}.\n${result.value.text}`, isError: true },
        outputs: { ...result.outputs, verified: false },
        failure: problem,
        ...(stillRunning === undefined ? {} : { stillRunning }),
      };
    },
  };
}

interface Verified {
  /** Null when the declared verification succeeded. */
  readonly problem: string | null;
  readonly stillRunning?: Promise<void>;
}

async function verified(
  scope: Scope,
  of: { verify: string; declared: DeclaredStep; cwd: string; action: string },
  signal: AbortSignal,
): Promise<Verified> {
  const said: Buffer[] = [];
  const { value } = await runInShell(
    scope.runOnProvider,
    {
      command: of.verify,
      cwd: of.cwd,
      timeoutMs: Math.min(of.declared.timeoutMs, verifyMs),
      outputBytes: verifyBytes,
      network: of.declared.network,
      onOutput: (_stream, bytes) => said.push(Buffer.from(bytes)),
    },
    { questId: scope.call.quest, parentId: scope.call.parent, signal },
  );
  const { stillRunning } = value;
  if (value.ended === "exit" && value.exitCode === 0 && stillRunning === undefined) return { problem: null };
  const last = Buffer.concat(said).toString("utf8").trim().split("\n").at(-1)?.slice(0, 200) ?? "";
  const how = value.ended === "exit" ? `exited with ${String(value.exitCode)}` : `did not end by itself (${value.ended})`;
  const problem = `The declared verification ${how}${last === "" ? "" : `: ${last}`}`;
  return stillRunning === undefined ? { problem } : { problem, stillRunning };
}
