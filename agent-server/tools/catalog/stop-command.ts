import * as z from "zod";
import { describeReading } from "../command/background-run.ts";
import { defineTool } from "../tool.ts";

export const stopCommand = defineTool({
  name: "stop_command",
  description: "Stop a background command and everything that it started. Returns its last output.",
  args: z.strictObject({ id: z.string().min(1).max(100).describe("As run_command returned it") }),
  capability: "shell_exec",
  action: "stop",
  baseTier: "T1",
  actionType: "tool_call",
  provider: { name: "background", version: "1" },
  title: ({ id }) => `Stop ${id}`,
  reads: () => [],
  async plan({ id }, { call, commands }) {
    const { background } = commands;
    const of = { id, questId: call.quest, waitMs: 0, signal: call.signal };
    return {
      kind: "effect",
      steps: [{ capability: "shell_exec", action: "stop", args: { id } }],
      question: { title: `Stop ${id}`, detail: `Stop the background command ${id}` },
      touches: [],
      async run() {
        const before = await background.read(of);
        await background.stop(id, "model");
        const after = await background.read(of);
        const reading = { ...after, text: before.text + after.text, dropped: before.dropped + after.dropped };
        return { value: { kind: "answer", text: describeReading(reading) }, outputs: { id, end: after.command.end } };
      },
    };
  },
});
