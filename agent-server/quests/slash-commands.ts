interface SlashCommand {
  description: string;
  /** The prompt for the model. `{about}` is replaced by the text after the command. */
  prompt: string;
  /** Replaces `{about}` when no text follows the command. */
  fallback: string;
}

/** Commands that a message can begin with. */
export const slashCommands: Record<string, SlashCommand> = {
  explain: {
    description: "Explain code",
    prompt:
      "Explain {about}. Read what you need first. Say what it does, how it does it and what to watch out for, briefly, naming files and lines. Change nothing.",
    fallback: "the attached code, or the project when nothing is attached",
  },
  fix: {
    description: "Find and fix a problem",
    prompt:
      "Find the cause of this problem and fix it: {about}. Read the code first, make the smallest edit that removes the cause, and explain the problem.",
    fallback: "the problems the diagnostics tool reports for the attached file, or for the project when nothing is attached",
  },
  test: {
    description: "Write tests",
    prompt:
      "Write tests for {about}. Follow the project's test framework and style (look at existing tests first), cover the ordinary case, the edges and the failures, and do not change the code under test.",
    fallback: "the attached code",
  },
  review: {
    description: "Review code",
    prompt:
      "Review {about}. List real problems only, most serious first: bugs, security, data loss, then clarity, each with file and line, why it matters and the fix in a sentence. Change nothing.",
    fallback: "the uncommitted changes (git_diff)",
  },
  plan: {
    description: "Make a plan",
    prompt:
      "Make a plan for this: {about}. Look at what you need first, then present the steps with the files they touch, the risks and how each step is checked. Change nothing.",
    fallback: "what we discussed last",
  },
  commit: {
    description: "Commit changes",
    prompt:
      "Commit the uncommitted changes with git_commit: {about}. Look at them first (git_status, git_diff) and at the style of earlier messages, write a message that says what changed and why, and leave out files that do not belong together.",
    fallback: "all of them, when they belong together",
  },
};

/** Names that command files of the owner or the workspace cannot have. */
export const reservedCommands: ReadonlySet<string> = new Set([
  ...Object.keys(slashCommands),
  ...["compact", "crusader", "remember", "forget", "memory", "why", "cost", "undo", "doctor", "new", "model", "receipts"],
]);

/** True for a message that begins with `/plan` and a text: a plan is made, and nothing is changed. */
export function asksForPlan(text: string): boolean {
  return /^\/plan\s+\S/.test(text.trim());
}

/** Expands a message that starts with a known command to its prompt; null for any other text. */
export function expandSlashCommand(text: string): string | null {
  const match = /^\/([a-z]+)(?:\s([\s\S]*))?$/.exec(text.trim());
  const name = match?.[1];
  if (name === undefined || !Object.hasOwn(slashCommands, name)) return null;
  const command = slashCommands[name];
  if (command === undefined) return null;
  const about = (match?.[2] ?? "").trim();
  return command.prompt.replace("{about}", () => (about === "" ? command.fallback : about));
}

/** The focus that follows `/compact`, empty without one; null for any other text. */
export function asksToCompact(text: string): string | null {
  const match = /^\/compact(?:\s([\s\S]*))?$/.exec(text.trim());
  return match === null ? null : (match[1] ?? "").trim();
}
