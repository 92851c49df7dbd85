/** The token at the caret that a list can complete: `@file` anywhere, `/command` at the start of the text. */
export interface Trigger {
  readonly kind: "mention" | "command";
  /** Position of the `@` or `/`. */
  readonly start: number;
  readonly query: string;
}

/** Returns the token that ends at the caret and can be completed, or null. */
export function triggerAt(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const command = /^\/([a-z][a-z0-9_-]*|)$/i.exec(before);
  if (command !== null) return { kind: "command", start: 0, query: command[1] ?? "" };
  const mention = /(?:^|[\s([{"'])@([^\s@]*)$/.exec(before);
  if (mention === null) return null;
  const query = mention[1] ?? "";
  return { kind: "mention", start: caret - query.length - 1, query };
}

export interface TextEdit {
  readonly text: string;
  readonly caret: number;
}

/** Replaces the token from `start` to the caret with `replacement` and a space. */
export function complete(text: string, start: number, caret: number, replacement: string): TextEdit {
  const rest = text.slice(caret);
  const gap = rest.startsWith(" ") ? "" : " ";
  const head = `${text.slice(0, start)}${replacement}${gap}`;
  return { text: head + rest, caret: head.length + (gap === "" ? 1 : 0) };
}

/** Inserts file mentions at the caret, separated by spaces from the text around them. */
export function insertMentions(text: string, caret: number, paths: readonly string[]): TextEdit {
  const before = text.slice(0, caret);
  const gap = before === "" || /\s$/.test(before) ? "" : " ";
  const head = `${before}${gap}${paths.map((path) => `@${path}`).join(" ")} `;
  return { text: head + text.slice(caret).replace(/^ /, ""), caret: head.length };
}

/** Returns the picked files that the text still mentions. */
export function mentioned(text: string, chosen: readonly string[]): string[] {
  return [...new Set(chosen)].filter((path) => {
    const at = text.indexOf(`@${path}`);
    const next = text.charAt(at + path.length + 1);
    return at >= 0 && (next === "" || /[\s,.;:!?)\]}"']/.test(next));
  });
}

/**
 * Returns the candidate workspace paths of a dropped `file:` URI. A view knows only the name of the workspace folder, so each occurrence of
 * the name yields a candidate, and the caller asks the host which one exists.
 */
export function droppedPaths(uri: string, workspaceName: string): string[] {
  let path: string;
  try {
    path = decodeURIComponent(new URL(uri).pathname);
  } catch {
    return [];
  }
  const mark = `/${workspaceName}/`;
  const found: string[] = [];
  for (let at = path.indexOf(mark); at >= 0; at = path.indexOf(mark, at + 1)) found.push(path.slice(at + mark.length));
  return found.filter((candidate) => candidate !== "");
}
