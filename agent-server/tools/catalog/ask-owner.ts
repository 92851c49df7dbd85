import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { defineTool } from "../tool.ts";

export const askOwner = defineTool({
  name: "ask_owner",
  description:
    "Ask the user a question and wait for the answer. Use it only for facts that you cannot find out yourself and must not guess. Give options if the answer is a choice.",
  args: z.strictObject({
    question: z.string().min(1).max(4000),
    options: z.array(z.string().min(1).max(500)).max(10).optional().describe("Answers to choose from"),
  }),
  capability: "quest",
  action: "ask",
  baseTier: "T0",
  actionType: "user_interaction",
  provider: { name: "owner", version: "1" },
  title: ({ question }) => `Ask: ${question.length > 100 ? `${question.slice(0, 100)}…` : question}`,
  reads: ({ question }) => [{ capability: "quest", action: "ask", args: { question } }],
  async plan({ question, options }, { call }) {
    if (call.askOwner === undefined) {
      throw new LancelotError(
        "unavailable",
        "No user is present to answer. Choose the option that is easiest to undo, say which one, and continue.",
      );
    }
    const answer = await call.askOwner(question, options, call.signal);
    return { kind: "answer", text: `The user's answer: ${answer}`, outputs: { answer } };
  },
});
