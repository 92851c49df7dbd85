import type { Artifact } from "../../../agent-server/contract/artifacts.ts";
import { sectionId } from "../../../agent-server/contract/artifacts.ts";
import { at } from "./samples.ts";

export const risksText = `## Risks

- Discounts are rounded per line, so a total can differ by a cent.
- \`test/invoice.test.ts\` covers no empty invoice.

| case | before | after |
| --- | --- | --- |
| empty invoice | \`NaN\` | \`0\` |
| one line | \`9.99\` | \`9.99\` |
`;

export const answerWithSections = `The total now includes the discount of each line. All tests pass.

${risksText}
## Test Plan

\`\`\`sh
npm test -- invoice
\`\`\`
`;

export function sampleArtifact(patch: Partial<Artifact> = {}): Artifact {
  return {
    id: sectionId("message-2", 0, 0),
    questId: "quest-1",
    questTitle: "Fix the failing invoice test",
    kind: "section",
    title: "Risks",
    text: risksText,
    at: at(90),
    messageId: "message-2",
    ...patch,
  };
}

/** One of each kind, of two tasks. */
export const sampleArtifacts: readonly Artifact[] = [
  sampleArtifact(),
  sampleArtifact({ id: sectionId("message-2", 0, 1), title: "Test Plan", text: "## Test Plan\n\n```sh\nnpm test -- invoice\n```\n" }),
  {
    ...{ id: "plan:plan-1", questId: "quest-1", questTitle: "Fix the failing invoice test", kind: "plan", at: at(400), planStatus: "done" },
    ...{ title: "Include the discount of each line", text: "Include the discount of each line\n\n## Steps\n\n1. [x] Change `total`" },
  },
  {
    ...{ id: "reasoning:message-9:0", questId: "quest-2", questTitle: "Move the shop to the new payment service", kind: "reasoning" },
    ...{
      title: "Replace the client behind its interface",
      text: "Replace the client behind its interface\n\n## Risks\n\n- Refunds",
      at: at(9_000),
    },
    messageId: "message-9",
  },
];
