import * as z from "zod";
import { actionContextOf } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import { subtaskScope, subtaskTool } from "../subtask-scope.ts";
import { defineTool, type Scope } from "../tool.ts";

export const spawnSubtask = defineTool({
  name: subtaskTool,
  description:
    "Give a self-contained part of the work to a sub-task, which works alone and answers once. It sees your proposed edits, not this conversation, edits files and runs commands in its own copy, and asks nobody. When it succeeds, its edits join yours; where both changed the same lines, yours stay. Calls in one answer run side by side where their paths in `allowed` differ. Do small work yourself.",
  args: z.strictObject({
    goal: z.string().min(1).max(20_000).describe("What to do, with all facts it needs, and how to tell that it is done"),
    allowed: z
      .array(z.string().min(1).max(4096))
      .min(1)
      .max(50)
      .optional()
      .describe("Capabilities (file_ops, shell_exec, web_ops) and files or folders that it may use at most; absent: all of them"),
  }),
  capability: "quest",
  action: "spawn",
  baseTier: "T0",
  actionType: "tool_call",
  provider: { name: "orchestrator", version: "1" },
  title: ({ goal }) => `Sub-task: ${goal.length > 100 ? `${goal.slice(0, 100)}…` : goal}`,
  reads: () => [],
  plan({ goal, allowed }, scope) {
    const spawn = requireSpawn(scope);
    const soulScope = subtaskScope(allowed, { workspace: scope.workspace, governance: scope.governance });
    return Promise.resolve({
      kind: "effect",
      steps: [{ capability: "quest", action: "spawn", args: { goal, ...(allowed === undefined ? {} : { allowed }) } }],
      question: { title: "Start a sub-task", detail: goal },
      touches: [],
      run: async ({ receiptId }) => {
        const report = await spawn({ goal, soulScope, receiptId });
        const { text, problem, outputs, changeIds } = report;
        return {
          value: { kind: "answer", text, isError: problem !== null, changeId: changeIds[0] ?? null },
          outputs: { subtask: report.questId, ...outputs },
          ...(problem === null ? {} : { failure: problem }),
        };
      },
    });
  },
});

function requireSpawn({ call }: Scope) {
  const { spawn, quest, onUpdate } = call;
  if (spawn === undefined || quest === null)
    throw new LancelotError("unavailable", "No sub-task can be started here. Do this part of the work yourself.");
  return (of: { goal: string; soulScope: NonNullable<typeof call.soulScope>; receiptId: string }) =>
    spawn({ ...of, context: { ...actionContextOf(call), quest }, onProgress: (subtask) => onUpdate?.({ subtask }) });
}
