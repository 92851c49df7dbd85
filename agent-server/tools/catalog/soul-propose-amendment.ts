import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import type { SoulIssue } from "../../contract/soul.ts";
import { defineTool } from "../tool.ts";

/** Characters of the soul's text that an answer holds; a soul is a few thousand. */
const shownSoul = 20_000;

/** The only way from a tool to the soul: a proposal, which has no effect before the owner approves and activates it. */
export const soulProposeAmendment = defineTool({
  name: "soul_propose_amendment",
  description:
    "Propose a change of the soul, the constitution the owner signed. Only when the owner asks for it. Give its whole new text as YAML, not a part, and why. Nothing changes until the owner approves and activates it. A text that is not a soul is answered with what is wrong and the text of the active one to start from.",
  args: z.strictObject({
    yaml: z.string().max(200_000).describe("The whole soul as it should read"),
    reason: z.string().min(1).max(4000).describe("Why, for the owner"),
  }),
  capability: "soul",
  action: "propose",
  baseTier: "T1",
  actionType: "tool_call",
  provider: { name: "soul", version: "1" },
  title: ({ reason }) => `Propose a change of the soul: ${reason.length > 100 ? `${reason.slice(0, 100)}…` : reason}`,
  reads: () => [],
  plan({ yaml, reason }, { governance, call }) {
    const { soul } = governance;
    let made: string | null = null;
    return Promise.resolve({
      kind: "effect" as const,
      steps: [{ capability: "soul", action: "propose", args: { yaml, reason } }],
      question: { title: "Propose a change of the soul", detail: `${reason}\n\n${yaml}` },
      touches: [],
      run: ({ receiptId }) => {
        if (soul.active() === null) {
          return Promise.reject(
            new LancelotError("disabled", "The soul is switched off (flag SOUL), so it is not changed.", { data: { flag: "SOUL" } }),
          );
        }
        const broken = soul.lint(yaml).filter((issue) => issue.rule === "schema" && issue.severity === "critical");
        if (broken.length > 0) {
          const current = soul.get();
          const text = `This is not a soul, and was not proposed:\n${toLines(broken)}\n\nThe active soul, ${current.version}, reads:\n${current.yaml.slice(0, shownSoul)}`;
          const outputs = { issues: broken.length };
          return Promise.resolve({
            value: { kind: "answer" as const, isError: true, text, outputs },
            outputs,
            failure: "The text is not a soul.",
          });
        }
        const proposal = soul.propose({ yaml, reason, by: "agent", questId: call.quest, parentId: receiptId });
        made = proposal.id;
        const unsound = proposal.issues.filter((issue) => issue.severity === "critical");
        const text = [
          `Proposed as ${proposal.toVersion} (${proposal.id}). Soul ${proposal.fromVersion} stays in force until the owner approves and activates the proposal.`,
          ...(unsound.length === 0 ? [] : [`As it is, the owner cannot approve it:\n${toLines(unsound)}`]),
          ...(proposal.issues.length === unsound.length
            ? []
            : [`Also:\n${toLines(proposal.issues.filter((issue) => issue.severity === "warning"))}`]),
        ].join("\n");
        const outputs = {
          proposalId: proposal.id,
          fromVersion: proposal.fromVersion,
          toVersion: proposal.toVersion,
          issues: proposal.issues.length,
        };
        return Promise.resolve({ value: { kind: "answer" as const, text, outputs }, outputs });
      },
      verify: () =>
        Promise.resolve(
          made === null || soul.proposals({ limit: 200 }).some((one) => one.id === made && one.yaml === yaml)
            ? null
            : "The proposal was not kept as it was made.",
        ),
    });
  },
});

function toLines(issues: readonly SoulIssue[]): string {
  return issues
    .slice(0, 20)
    .map(({ line, message }) => (line === undefined ? `- ${message}` : `- line ${line}: ${message}`))
    .join("\n");
}
