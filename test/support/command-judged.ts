import type { CommandJudgment } from "../../agent-server/governance/decision-facts.ts";

const sentence = /^\S.{8,}[.!?)]$/s;

const shortId = (id: string): string => id.replace("command.", "");

function inOrder(tags: CommandJudgment["tags"]): string {
  return [...tags].toSorted().join(" ");
}

/** A judgement on one line: verdict, tier and risk, scope, rules, tags, how many alternatives there are, and the parts. */
export function judgedLine({ verdict, tier, riskLevel, rules, alternatives, scope, tags, parts }: CommandJudgment): string {
  const consists = parts.map(({ within, rule, verdict: own }) => [...within, `${own} ${shortId(rule.id)}`].join(">"));
  const worded = [...rules.map(({ message }) => message), ...parts.map(({ rule }) => rule.message), ...alternatives];
  return [
    `${verdict} ${tier} ${riskLevel}`,
    scope,
    rules.map(({ id }) => shortId(id)).join(" "),
    inOrder(tags),
    `${alternatives.length}${worded.every((words) => sentence.test(words)) ? "" : " without words"}`,
    consists.length > 12 ? `${consists.slice(0, 12).join(", ")} … ${consists.length}` : consists.join(", "),
  ].join(" | ");
}

/** A judgement in full, a line each: each rule with its sentence, each alternative, each simple command with where it stands. */
export function judgedBlock(judgement: CommandJudgment, base: string): string {
  const { verdict, tier, riskLevel, rules, alternatives, scope, tags, parts } = judgement;
  const sentences = new Set(rules.map(({ message }) => message));
  const lines = [
    `${verdict} ${tier} ${riskLevel}, ${scope}; ${inOrder(tags)}`,
    ...rules.map(({ id, source, message }) => `${source}.${id}: ${message}`),
    ...alternatives.map((one) => `> ${one}`),
    ...parts.map(
      (part) =>
        `${[...part.within, part.text].join(" | ")} => ${part.verdict} ${part.tier} ${part.rule.source}.${part.rule.id}` +
        (sentences.has(part.rule.message) ? "" : `: ${part.rule.message}`),
    ),
  ];
  return lines.map((line) => `  ${line.replaceAll(base, "{base}").replaceAll("\n", "\\n")}`).join("\n");
}
