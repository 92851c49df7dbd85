/** Maximum tokens of an answer by a small model. */
export const smallAnswerTokens = 400;

const readingTools = ["read_file", "list_files", "search_workspace"];
const editingTools = ["edit_file", "write_file"];
const editVerbs = "fix|change|edit|add|write|create|rename|replace|remove|refactor|implement|update|delete|insert|make|correct|convert";
const asksForEdit = new RegExp(
  String.raw`^(?:please\s+|now\s+)?(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?(?:${editVerbs})\b`,
  "i",
);
const wantsEdit = new RegExp(String.raw`\b(?:please|and|then|can you|could you|i want you to|you should)\s+(?:${editVerbs})\b`, "i");

/** True when the request clearly asks for a change, and not when it asks a question about one. */
export function asksForChange(request: string): boolean {
  const text = request.trim();
  return asksForEdit.test(text) || wantsEdit.test(text);
}

/** Names of the tools that a small model gets for this request. */
export function smallModelTools(request: string): string[] {
  return asksForChange(request) ? [...readingTools, ...editingTools] : readingTools;
}
