import * as z from "zod";
import { Id, Tier, Timestamp } from "./common.ts";
import { method } from "./method.ts";

/** What a step will do, as far as it is known: a tool, and its path, command or address. */
export const PlannedAction = z.strictObject({
  tool: z.string().min(1).max(100),
  target: z.string().min(1).max(2_000).describe("The path, command or address"),
});
export type PlannedAction = z.infer<typeof PlannedAction>;

const Line = z.string().min(1).max(1_000);

export const ProposedStep = z.strictObject({
  title: z.string().min(1).max(300),
  details: z.string().max(4_000).optional().describe("What to change and how, in this workspace"),
  doneWhen: z
    .array(Line)
    .min(1)
    .max(10)
    .describe('What proves it, such as "`npm test` passes", "`src/a.ts` exists", "`src/a.ts` contains `parse`"'),
  actions: z.array(PlannedAction).max(20).optional().describe("The files it changes and the commands it runs"),
  whyNoActions: z.string().min(1).max(500).optional().describe("Why no file or command can be named yet"),
});
export type ProposedStep = z.infer<typeof ProposedStep>;

/** A plan as the model proposes it, and as the owner edits it. */
export const PlanProposal = z.strictObject({
  goal: Line,
  context: z.string().max(4_000).describe("What was found in the workspace that the plan rests on"),
  assumptions: z.array(Line).max(20).optional(),
  steps: z.array(ProposedStep).min(1).max(30),
  decisionPoints: z.array(Line).max(20).optional().describe("Where the user could decide otherwise"),
  risks: z.array(Line).max(20).optional(),
  doneWhen: z.array(Line).min(1).max(10).describe("What proves that the goal is reached"),
});
export type PlanProposal = z.infer<typeof PlanProposal>;

/** An action of a step that governance will ask about, or does not allow. */
export const StepCheck = z.object({
  tool: z.string(),
  target: z.string(),
  verdict: z.enum(["ask", "deny"]),
  tier: Tier,
  rules: z.array(z.string()),
});
export type StepCheck = z.infer<typeof StepCheck>;

export const PlannedStep = z.object({
  id: Id,
  title: z.string(),
  details: z.string().optional(),
  doneWhen: z.array(z.string()),
  actions: z.array(PlannedAction),
  status: z.enum(["pending", "active", "done", "failed"]),
  checks: z.array(StepCheck),
  /** How often the step was begun. */
  attempts: z.int().min(0),
  /** What the last verification missed. */
  problem: z.string().optional(),
  /** The receipt of the last attempt. */
  receiptId: Id.nullable(),
});
export type PlannedStep = z.infer<typeof PlannedStep>;

export const PlanStatus = z.enum(["draft", "approved", "running", "done", "failed", "rejected"]);
export type PlanStatus = z.infer<typeof PlanStatus>;

/** A plan with its progress. (Requirement A3.) */
export const PlanArtifact = z.object({
  id: Id,
  questId: Id,
  status: PlanStatus,
  goal: z.string(),
  context: z.string(),
  assumptions: z.array(z.string()),
  planSteps: z.array(PlannedStep),
  decisionPoints: z.array(z.string()),
  risks: z.array(z.string()),
  doneWhen: z.array(z.string()),
  /** What happens next, in a sentence. */
  nextAction: z.string(),
  /** Why the owner rejected it, or why it failed. */
  reason: z.string().nullable(),
  receiptId: Id,
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
export type PlanArtifact = z.infer<typeof PlanArtifact>;

export const planMethods = {
  "plans.create": method({
    summary: "Plans a goal without changing anything, in a quest in plan mode. Waits for the plan.",
    access: "any",
    params: z.object({ goal: z.string().min(1).max(100_000), questId: Id.optional() }),
    result: PlanArtifact,
  }),
  "plans.list": method({
    summary: "Lists the plans of a quest or of all quests of this workspace, newest first.",
    access: "any",
    params: z.object({ questId: Id.optional(), limit: z.int().min(1).max(200).default(50) }),
    result: z.object({ items: z.array(PlanArtifact) }),
  }),
  "plans.get": method({ summary: "Returns a plan.", access: "any", params: z.object({ id: Id }), result: PlanArtifact }),
  "plans.update": method({
    summary: "Replaces the steps of a plan that is not approved yet. Governance checks them again.",
    access: "owner",
    params: z.object({ id: Id, goal: Line.optional(), steps: z.array(ProposedStep).min(1).max(30) }),
    result: PlanArtifact,
  }),
  "plans.approve": method({
    summary: "Approves a plan. Its actions still need the approvals that governance asks for.",
    access: "owner",
    params: z.object({
      id: Id,
      updatedAt: Timestamp.optional().describe("Of the plan as it was read; a plan changed since is not approved"),
    }),
    result: PlanArtifact,
  }),
  "plans.reject": method({
    summary: "Rejects a plan. With a reason, a different plan is made.",
    access: "owner",
    params: z.object({ id: Id, reason: z.string().min(1).max(10_000).optional() }),
    result: PlanArtifact,
  }),
  "plans.execute": method({
    summary: "Runs an approved plan step by step, or carries on one whose task was stopped. Each step is verified.",
    access: "owner",
    params: z.object({ id: Id }),
    result: PlanArtifact,
  }),
};
