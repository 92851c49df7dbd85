import type { CommandJudgment } from "../../agent-server/governance/decision-facts.ts";

const sentence = /^\S.{8,}[.!?)]$/s;

const shortId = (id: string): string => id.replace("command.", "");

function inOrder(tags: CommandJudgment["tags"]): string {
  return [...tags].toSorted().join(" ");
}

/** A judgment on one line: verdict, tier, risk, scope, rules, tags, number of alternatives, and the parts. */
export function judgedLine({ verdict, tier, riskLevel, rules, alternatives, scope, tags, parts }: CommandJudgment): string {
  const consists = parts.map(({ within, rule, verdict: own }) => [...within, `${own} ${shortId(rule.id)}`].join(">"));
  const worded = [...rules.map(({ message }) => message), ...parts.map(({ rule }) => rule.message), ...alternatives];
  return [
    `${verdict} ${tier} ${riskLevel}`,
    scope,
    rules.map(({ id }) => shortId(id)).join(" "),
    inOrder(tags),
    `${alternatives.length}${worded.every((expectedText) => sentence.test(expectedText)) ? "" : " malformed message"}`,
    consists.length > 12 ? `${consists.slice(0, 12).join(", ")} … ${consists.length}` : consists.join(", "),
  ].join(" | ");
}

/** A judgment in full: each rule id, the number of alternatives, and each simple command with its position. */
export function judgedBlock({ verdict, tier, riskLevel, rules, alternatives, scope, tags, parts }: CommandJudgment, base: string): string {
  const lines = [
    `${verdict} ${tier} ${riskLevel}, ${scope}; ${inOrder(tags)}`,
    ...rules.map(({ id, source }) => `${source}.${id}`),
    ...(alternatives.length === 0 ? [] : [`> ${alternatives.length}`]),
    ...parts.map(
      (part) => `${[...part.within, part.text].join(" | ")} => ${part.verdict} ${part.tier} ${part.rule.source}.${part.rule.id}`,
    ),
  ];
  return lines.map((line) => `  ${line.replaceAll(base, "{base}").replaceAll("\n", "\\n")}`).join("\n");
}
