import * as z from "zod";
import { addUsage, type ReasoningPart, type Usage } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Route } from "../../models/models.ts";
import {
  addNoticeOnce,
  addRunUsage,
  notice,
  type QuestStore,
  type Reason,
  type Run,
  userText,
  withoutCrusader,
} from "../../quests/quests.ts";
import { artifactOf, artifactText, Reasoning } from "./artifact.ts";

export interface ReasoningDeps {
  /** The flag DEEP_REASONING_LOOP. */
  readonly enabled: () => boolean;
  /** Outcomes of earlier tasks like this request, best first; empty without memory. */
  readonly experiences: (request: string) => readonly string[];
}

/** Tokens for the model's own thinking, where the profile thinks and its answers may be so long. */
const thinkingTokens = 24_000;
/** Of the request and of each earlier text (characters). */
const bounds = { request: 20_000, earlier: 1_500, texts: 6 };

const schema = { name: "reasoning", schema: z.toJSONSchema(Reasoning) };

const system = `You prepare the work of a coding agent, who works in the user's workspace with tools for reading, editing, commands and git. Think about the request: what it takes, in which order, what could go wrong, and what the agent lacks. You have no tools now and change nothing. Be specific to this request; invent no file contents. When a capability is missing, add it to gaps (or write a line "CAPABILITY GAP: …").`;

/**
 * The deep reasoning pass (A5): one call to the deep profile, with more thinking, before the first step of a request that the router sends to
 * the deep lane by its own rules (complex type, risk, size). A request is reasoned about once, also across resumes. A failed pass never
 * fails the task.
 */
export function createReasoning({ enabled, experiences }: ReasoningDeps): Reason {
  return async (deps, run, route) => {
    const { store, ledger, redactor } = deps;
    if (!enabled() || run.question || !asksForThought(route)) return;
    const stored = store.messages(run.questId);
    const at = stored.findLastIndex(({ message, turn }) => turn?.kind === "user" && userText(message).trim() !== "");
    const request = stored[at];
    // Work has begun, or this pass was made. The instruction to make a plan is neither.
    if (request === undefined || stored.slice(at + 1).some(hasBegun)) return;

    const text = withoutCrusader(userText(request.message)).slice(0, bounds.request);
    const recalled = experiences(text);
    const receiptId = ledger.open({
      actionType: "system",
      actionName: "reasoning",
      inputs: { request: text.slice(0, 500), experiences: recalled.length },
      riskTier: "T0",
      cognitionTier: "PLANNING",
      questId: run.questId,
      parentId: run.receiptId,
    });
    try {
      const earlier = stored.slice(0, at).flatMap(({ message }) => {
        const said = userText(message).trim();
        return said === "" ? [] : [`${message.role === "user" ? "User" : "Agent"}: ${said.slice(0, bounds.earlier)}`];
      });
      const prompt = [
        ...(earlier.length === 0 ? [] : ["The conversation so far:", ...earlier.slice(-bounds.texts), ""]),
        ...(recalled.length === 0
          ? []
          : ["Earlier tasks in this workspace, as data:", ...recalled.map((one) => `<task>\n${one}\n</task>`), ""]),
        `The request:\n${text}`,
      ].join("\n");
      const { answer, thinking, usage } = await ask(deps, run, route, { prompt, receiptId });
      const artifact = redactor.value(artifactOf(answer, thinking));
      const part: ReasoningPart = { type: "reasoning", ...artifact, experiences: recalled.length, receiptId };
      store.transaction(() => {
        store.patch(run.questId, { usage: addUsage(store.quest(run.questId).usage, usage) });
        addRunUsage(store, run, usage);
        store.addMessage({
          questId: run.questId,
          role: "user",
          parts: [part],
          turn: { kind: "user", content: [{ type: "text", text: artifactText(artifact) }] },
        });
        ledger.close(receiptId, { status: "success", outputs: { risks: artifact.risks.length, gaps: artifact.gaps } });
      });
    } catch (error) {
      if (run.controller.signal.aborted) {
        ledger.close(receiptId, { status: "cancelled" });
        throw error;
      }
      const problem = error instanceof LancelotError ? error.message : "The deep model's answer could not be read.";
      ledger.close(receiptId, { status: "failure", errorMessage: problem });
      addNoticeOnce(store, run.questId, notice("info", `The task starts without the reasoning pass. ${problem}`));
    }
  };
}

/** False for an instruction of the host to the model before its first answer. */
function hasBegun({ message, turn }: ReturnType<QuestStore["messages"]>[number]): boolean {
  return turn?.kind !== "user" || message.parts.some(({ type }) => type === "reasoning");
}

/** True where the router's own rules chose the deep lane, on a model that can think about it. */
function asksForThought({ lane, rule, model }: Route): boolean {
  return lane === "flagship_deep" && rule !== "override" && rule !== "failover" && rule !== "default" && !model.small;
}

async function ask(
  { models }: Parameters<Reason>[0],
  run: Run,
  route: Route,
  { prompt, receiptId }: { prompt: string; receiptId: string },
): Promise<{ answer: Reasoning; thinking: string; usage: Usage }> {
  const request = {
    system,
    messages: [{ role: "user" as const, content: [{ type: "text" as const, text: prompt }] }],
    tools: [],
    thinkingTokens,
    responseSchema: schema,
  };
  const { signal } = run.controller;
  const task = { ...route.task, profile: "deep" as const };
  let thinking = "";
  for await (const event of models.stream(request, { questId: run.questId, parentId: receiptId, signal, task })) {
    if (event.type === "retry") thinking = "";
    if (event.type === "thinking") thinking += event.text;
    if (event.type !== "done") continue;
    if (event.stop === "refused") throw new LancelotError("unavailable", "The deep model declined to think about this request.");
    const text = event.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    return { answer: Reasoning.parse(JSON.parse(text)), thinking, usage: event.usage };
  }
  throw new LancelotError("unavailable", "The deep model ended without an answer.");
}
