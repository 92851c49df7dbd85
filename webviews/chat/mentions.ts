/** A word being typed that a list can complete: `@file` anywhere, `/command` at the very start. */
export interface Trigger {
  readonly kind: "mention" | "command";
  /** Where the word starts, with its sign. */
  readonly start: number;
  readonly query: string;
}

/** The completable word that ends at the caret, if there is one. */
export function triggerAt(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const command = /^\/([a-z]*)$/i.exec(before);
  if (command !== null) return { kind: "command", start: 0, query: command[1] ?? "" };
  const mention = /(?:^|[\s([{"'])@([^\s@]*)$/.exec(before);
  if (mention === null) return null;
  const query = mention[1] ?? "";
  return { kind: "mention", start: caret - query.length - 1, query };
}

export interface Edit {
  readonly text: string;
  readonly caret: number;
}

/** Puts `replacement` and a space in place of the word from `start` to the caret. */
export function complete(text: string, start: number, caret: number, replacement: string): Edit {
  const rest = text.slice(caret);
  const gap = rest.startsWith(" ") ? "" : " ";
  const head = `${text.slice(0, start)}${replacement}${gap}`;
  return { text: head + rest, caret: head.length + (gap === "" ? 1 : 0) };
}

/** Puts mentions of files at the caret, apart from the words around it. */
export function insertMentions(text: string, caret: number, paths: readonly string[]): Edit {
  const before = text.slice(0, caret);
  const gap = before === "" || /\s$/.test(before) ? "" : " ";
  const head = `${before}${gap}${paths.map((path) => `@${path}`).join(" ")} `;
  return { text: head + text.slice(caret).replace(/^ /, ""), caret: head.length };
}

/** The chosen files that the text still mentions. */
export function mentioned(text: string, chosen: readonly string[]): string[] {
  return [...new Set(chosen)].filter((path) => {
    const at = text.indexOf(`@${path}`);
    const next = text.charAt(at + path.length + 1);
    return at >= 0 && (next === "" || /[\s,.;:!?)\]}"']/.test(next));
  });
}

/**
 * The workspace's part of dropped `file:` addresses. A view does not know where the workspace lies, only its folder's
 * name, so every place where that name stands is a candidate; the caller asks the host which one exists.
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
