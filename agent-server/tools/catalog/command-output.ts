import * as z from "zod";
import { describeReading } from "../command/background-run.ts";
import { count, defineTool } from "../tool.ts";

export const commandOutput = defineTool({
  name: "command_output",
  description:
    "Read what a background command printed since you read it last, with its state and its listening ports. Waits up to wait_ms for new output.",
  args: z.strictObject({
    id: z.string().min(1).max(100).describe("As run_command returned it"),
    wait_ms: count(0, 60_000).optional().describe("Milliseconds. Default: 0"),
  }),
  capability: "shell_exec",
  action: "output",
  baseTier: "T0",
  actionType: "tool_call",
  provider: { name: "background", version: "1" },
  title: ({ id }) => `Output of ${id}`,
  reads: ({ id }) => [{ capability: "shell_exec", action: "output", args: { id } }],
  async plan({ id, wait_ms = 0 }, { call, commands }) {
    // A secret file may have appeared since the command started.
    await commands.learnSecrets();
    const reading = await commands.background.read({ id, questId: call.quest, waitMs: wait_ms, signal: call.signal });
    const { ports, end } = reading.command;
    return {
      kind: "answer",
      text: describeReading(reading),
      hint: "Read on with command_output.",
      outputs: { id, ports, end, units: reading.text.length },
    };
  },
});
