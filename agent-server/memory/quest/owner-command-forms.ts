/** Something the owner asks of memory in a chat message. */
export interface OwnerCommand {
  readonly kind: "remember" | "forget" | "show";
  /** In the owner's own words; empty when a slash command names nothing. */
  readonly text: string;
  /** True for "remember …" and slash commands. "Forget …" in a sentence counts only when it matches an item. */
  readonly isExplicit: boolean;
}

export interface OwnerCommands {
  readonly commands: readonly OwnerCommand[];
  /** True when the message holds nothing but one command, so that no model has to answer it. */
  readonly isWholeMessage: boolean;
}

/** The verbs that begin a command, one row per language. */
const verbs = [
  { remember: "remember", forget: "forget" },
  { remember: "merke? dir", forget: "vergiss" },
  { remember: "souviens-toi|retiens", forget: "oublie" },
  { remember: "recuerda", forget: "olvida" },
  { remember: "ricorda(?:ti)?", forget: "dimentica" },
  { remember: "lembre(?:-se)?", forget: "esqueça" },
];
const please = "please|bitte|s['’]il te plaît|por favor|per favore";
const that = String.raw`\s*:\s*|,?\s+(?:(?:that|dass|(?:de\s+)?que|che)\s+|qu['’])`;
const start = String.raw`^(?:(?:${please}),?\s+)?`;
const remember = new RegExp(`${start}(?:${verbs.map((row) => row.remember).join("|")})(?:${that})(?<text>\\S.*?)[.!\\s]*$`, "iu");
const forget = new RegExp(`${start}(?:${verbs.map((row) => row.forget).join("|")})(?:${that}|\\s+)(?<text>[^,;:]{3,200}?)[.!\\s]*$`, "iu");
/** A second clause may be a task of its own, so the model has to see the message. */
const secondClause = /[,;]|\s(?:and|then|und|dann|et|puis|y|luego|e|poi|depois)\s/iu;
const thanks = /^(?:thanks|thank you|danke|merci|gracias|grazie|obrigad[oa])?[\s.!]*$/iu;

/** Longer messages were mostly pasted, so only the model reads them. UTF-16 units. */
const maxMessage = 4_000;
/** A message with more of them is a text about memory. */
const maxCommands = 20;

/**
 * The memory commands in the owner's message: `/remember X`, `/forget X` and `/memory [X]` as the whole message, and sentences that
 * begin with "remember that X", "remember: X" or "forget [that] X". Everything else is left to the model and its memory tools.
 */
export function ownerCommandsIn(message: string): OwnerCommands {
  const slash = /^\/(memory|remember|forget)(?:\s([\s\S]*))?$/.exec(message.trim());
  if (slash !== null) {
    const kind = slash[1] === "memory" ? "show" : slash[1] === "forget" ? "forget" : "remember";
    return { commands: [{ kind, text: (slash[2] ?? "").trim(), isExplicit: true }], isWholeMessage: true };
  }
  const none = { commands: [], isWholeMessage: false };
  const own = withoutQuotations(message);
  if (own.length > maxMessage) return none;
  const commands: OwnerCommand[] = [];
  let rest = "";
  for (const sentence of sentencesOf(own)) {
    const command = commandIn(sentence);
    if (command === null) rest += ` ${sentence}`;
    else commands.push(command);
  }
  if (commands.length > maxCommands) return none;
  const isWholeMessage =
    commands.length > 0 &&
    own.length === message.replaceAll("\r", "").trim().length &&
    thanks.test(rest.trim()) &&
    commands.every(({ text }) => !secondClause.test(text));
  return { commands, isWholeMessage };
}

function commandIn(sentence: string): OwnerCommand | null {
  if (sentence.endsWith("?")) return null;
  for (const [kind, pattern] of [
    ["remember", remember],
    ["forget", forget],
  ] as const) {
    const text = pattern.exec(sentence)?.groups?.["text"]?.trim() ?? "";
    // One word alone ("remember that.", "forget it.") refers to the conversation.
    if (/\S\s+\S/.test(text)) return { kind, text, isExplicit: kind === "remember" };
  }
  return null;
}

/** The owner's own words in a message, without fenced code, quoted lines, comments and indented lines. */
export function withoutQuotations(message: string): string {
  const unfenced = message.replaceAll("\r", "").replaceAll(/(`{3,40}|~{3,40})[\s\S]*?(?:\1|$)/g, "\n\n");
  const lines = unfenced.split("\n");
  const kept = lines.filter(
    (line) => !/^\s*(?:>|\/\/|#!|\/\*|\*\/|\|)/.test(line) && (lines.length === 1 || !/^(?: {4,}|\t)\S/.test(line)),
  );
  return kept.join("\n").trim();
}

/** Lines, and the sentences within them. A dot inside a file name or a number ends no sentence. */
function sentencesOf(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line) => line.split(/(?<=[.!?。])\s+(?=[\p{Lu}\p{N}"“'¿¡`(])/u))
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}
