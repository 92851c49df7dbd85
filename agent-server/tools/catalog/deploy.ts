import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { commandEffect } from "../command/run-command-line.ts";
import { visibleCommand } from "../command/command-question.ts";
import { refused } from "../../execution/execution.ts";
import { type DeclaredStep, deployActions } from "../providers/deploy-config.ts";
import { runInShell } from "../command/shell-run.ts";
import { defineTool, type Effect, type Scope } from "../tool.ts";
import { resolveFile } from "../../workspace/workspace.ts";

const verifyMs = 300_000;
const verifyBytes = 64 * 1024;

const titles = { build: "Build", test: "Test", package: "Package", deploy: "Deploy" } as const;

/** The four actions are one tool for the model and four for the gate: the plan's step says which one it is. */
export const deploy = defineTool({
  name: "deploy",
  description:
    "Build, test, package or deploy by the command the owner declared for this workspace. Nothing else is run; where nothing is declared the answer says how the owner declares it. deploy waits for the owner each time.",
  args: z.strictObject({
    action: z.enum(deployActions),
    target: z.string().min(1).max(100).optional().describe("As the owner named it, such as staging; the workspace itself if left out"),
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
        "What is declared needs the network, which is off. The owner can switch it on with the flag TOOLS_NETWORK. Nothing was run.",
        { data: { flag: "TOOLS_NETWORK" } },
      );
    }
    const folder = resolveFile(scope, declared.folder);
    if (!folder.inside || folder.type !== "directory")
      throw new LancelotError(
        "invalid_params",
        `The folder ${declared.folder}, which is declared for this, is no folder of the workspace. Nothing was run.`,
      );
    const title = `${titles[action]}${target === undefined ? "" : ` ${target}`}`;
    const network = { ...scope, commands: { ...scope.commands, network: () => declared.network } };
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

/** The same run, judged as what the owner declared it to be, and looked at afterwards as they declared. */
function declaredEffect(scope: Scope, effect: Effect, { action, target, declared, cwd, title }: Declaration): Effect {
  const { verify } = declared;
  // Whether it is inside a sandbox is judged and approved; which sandbox is not.
  const { place, ...run } = effect.steps.at(-1)?.args ?? {};
  const outside = place === "host" ? { place } : {};
  const named = target === undefined ? {} : { target };
  const step = { capability: "deploy_ops", action, args: { ...named, ...run, ...outside, ...(verify === null ? {} : { verify }) }, cwd };
  if (verify !== null) {
    // It is approved with the deployment it belongs to, unless policy forbids it.
    const { quest: questId, mode } = scope.call;
    const args = { ...named, ...run, ...outside, command: verify };
    const decision = scope.governance.evaluate({ ...step, args, mode, ...(questId === null ? {} : { questId }) });
    if (decision.verdict === "deny") throw refused(decision);
  }
  const looked =
    verify === null
      ? "Nothing is declared to look afterwards whether it worked: only its exit code counts."
      : `Afterwards, to see whether it worked:\n${visibleCommand(verify)}`;
  return {
    ...effect,
    steps: [step],
    question: { title, detail: action === "deploy" ? `${effect.question.detail}\n\n${looked}` : effect.question.detail },
    // Inside the watch of the road, so that what looking afterwards changes is found and can be undone too.
    async run(context) {
      const result = await effect.run(context);
      if (verify === null || result.failure !== undefined) return result;
      const problem = await verified(scope, { verify, declared, cwd, action }, scope.call.signal).catch((error: unknown) => {
        if (scope.call.signal.aborted || !(error instanceof LancelotError)) throw error;
        return `It ran, but what is declared to look afterwards could not be run: ${error.message.replace(/\.$/, "")}`;
      });
      if (problem === null) return { ...result, outputs: { ...result.outputs, verified: true } };
      return {
        ...result,
        value: { ...result.value, text: `${problem}.\n${result.value.text}`, isError: true },
        outputs: { ...result.outputs, verified: false },
        failure: problem,
      };
    },
  };
}

/** Null when the declared look says that it worked. */
async function verified(
  scope: Scope,
  of: { verify: string; declared: DeclaredStep; cwd: string; action: string },
  signal: AbortSignal,
): Promise<string | null> {
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
  if (value.ended === "exit" && value.exitCode === 0) return null;
  const last = Buffer.concat(said).toString("utf8").trim().split("\n").at(-1)?.slice(0, 200) ?? "";
  const how = value.ended === "exit" ? `ended with ${String(value.exitCode)}` : `did not end by itself (${value.ended})`;
  return `What is declared to look whether it worked ${how}${last === "" ? "" : `: ${last}`}`;
}
