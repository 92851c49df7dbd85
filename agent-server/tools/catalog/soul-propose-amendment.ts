import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import type { SoulIssue } from "../../contract/soul.ts";
import { defineTool } from "../tool.ts";

/** Most characters of the soul in an answer; a soul has a few thousand. */
const shownSoul = 20_000;

/** Tools can change the soul only by a proposal, which has no effect before the user approves and activates it. */
export const soulProposeAmendment = defineTool({
  name: "soul_propose_amendment",
  description:
    "Propose a change to the soul, the constitution that the user signed. Use it only when the user asks for it. Give the complete new text as YAML, and the reason. Nothing changes until the user approves and activates it. An invalid text is answered with its errors and the text of the active soul.",
  args: z.strictObject({
    yaml: z.string().max(200_000).describe("The complete new soul"),
    reason: z.string().min(1).max(4000).describe("The reason, for the user"),
  }),
  capability: "soul",
  action: "propose",
  baseTier: "T1",
  actionType: "tool_call",
  provider: { name: "soul", version: "1" },
  title: ({ reason }) => `Propose a change to the soul: ${reason.length > 100 ? `${reason.slice(0, 100)}…` : reason}`,
  reads: () => [],
  plan({ yaml, reason }, { governance, call }) {
    const { soul } = governance;
    let made: string | null = null;
    return Promise.resolve({
      kind: "effect" as const,
      steps: [{ capability: "soul", action: "propose", args: { yaml, reason } }],
      question: { title: "Propose a change to the soul", detail: `${reason}\n\n${yaml}` },
      touches: [],
      run: ({ receiptId }) => {
        if (soul.active() === null) {
          return Promise.reject(
            new LancelotError("disabled", "The soul is turned off (flag SOUL), so it cannot be changed.", { data: { flag: "SOUL" } }),
          );
        }
        const broken = soul.lint(yaml).filter((issue) => issue.severity === "critical");
        if (broken.length > 0) {
          const current = soul.get();
          const text = `This is not a valid soul and was not proposed:\n${toLines(broken)}\n\nThe active soul, ${current.version}:\n${current.yaml.slice(0, shownSoul)}`;
          const outputs = { issues: broken.length };
          return Promise.resolve({
            value: { kind: "answer" as const, isError: true, text, outputs },
            outputs,
            failure: "The text is not a valid soul.",
          });
        }
        const proposal = soul.propose({ yaml, reason, by: "agent", questId: call.quest, parentId: receiptId });
        made = proposal.id;
        const text = [
          `Proposed as ${proposal.toVersion} (${proposal.id}). Soul ${proposal.fromVersion} remains active until the user approves and activates the proposal.`,
          ...(proposal.issues.length === 0 ? [] : [`Warnings:\n${toLines(proposal.issues)}`]),
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
            : "The proposal was not stored.",
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
