import type { Message, Part, Quest } from "../contract/chat.ts";

/** Renders a quest as a Markdown document: messages, actions with their receipts, and notices. */
export function questToMarkdown(quest: Quest, messages: readonly Message[]): string {
  const facts = [`Status: ${quest.status}`, `started ${quest.createdAt}`];
  if (quest.model !== null) facts.push(`model ${quest.model}`);
  if (quest.receiptId !== null) facts.push(`receipt \`${quest.receiptId}\``);
  const sections = [`# ${quest.title}`, facts.join(" · ")];
  if (quest.plan.length > 0) {
    sections.push(`## Plan\n\n${quest.plan.map((step) => `- [${step.status === "done" ? "x" : " "}] ${step.title}`).join("\n")}`);
  }
  let speaker = "";
  for (const message of messages) {
    const blocks = message.parts.map(toBlock).filter((block) => block !== "");
    if (blocks.length === 0) continue;
    const own = message.parts.every(({ type }) => type === "notice" || type === "reasoning");
    const name = message.role === "user" && !own ? "You" : "Lancelot";
    if (name !== speaker) sections.push(`## ${name}`);
    speaker = name;
    sections.push(blocks.join("\n\n"));
  }
  return `${sections.join("\n\n")}\n`;
}

function toBlock(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text.trim();
    case "reasoning":
      return `<details><summary>Strategy</summary>\n\n${[part.strategy, ...part.risks, ...part.gaps].join("\n\n")}\n\n</details>`;
    case "thinking":
      return part.text.trim() === "" ? "" : `<details><summary>Thinking</summary>\n\n${part.text.trim()}\n\n</details>`;
    case "image":
      return `_Image (${part.mediaType})_`;
    case "file":
      return `_Attached: ${part.path}_`;
    case "plan":
      return "_Plan_";
    case "notice":
      return `> ${part.text.replaceAll("\n", "\n> ")}`;
    case "outcome":
      return part.actions.map(({ text, recorded }) => `- ${recorded ? "✓" : "✗ not recorded:"} ${text}`).join("\n");
    case "tool": {
      const facts = [part.status, part.tier, part.receiptId === null ? null : `receipt \`${part.receiptId}\``];
      return `- **${part.tool}** ${part.title} (${facts.filter((fact) => fact !== null).join(", ")})`;
    }
  }
}
