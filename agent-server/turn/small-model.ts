import { trimEnd } from "../contract/trim-end.ts";
import type { Part, ToolPart } from "../contract/chat.ts";
import { fence, headByTokens } from "../context/context.ts";
import type { Governance } from "../governance/governance.ts";
import type { Tools } from "../tools/tools.ts";
import { notice } from "../quests/quests.ts";
import type { PendingCall } from "./tool-calls.ts";

// The policy for small models (for example 1B parameters with a window of 2,000 tokens): a short prompt, few tools, and the host
// retrieves files for the model. The retrieval uses ordinary tool calls: authorized, recorded, and shown in the chat as tool cards.

/** Tokens of project text that a small model gets for one request. */
export const retrievalTokens = 600;

const searchedWords = 4;
const readFiles = 2;
const linesAround = 8;
const linesRead = 60;

/** Explains the limits of a small model, once per quest. */
export function smallModelNotice(model: string): Part {
  return notice(
    "info",
    `${model} is a small model on this machine. Lancelot reads the matching files below for it. It can misread code and invent details, so check its answer against the files. For larger tasks or edits, choose a larger model.`,
    "choose_model",
  );
}

/** Makes one tool call of the retrieval. @returns its card, and the text of the tool, null when the call failed */
export type RetrievalCall = (call: Omit<PendingCall, "id">) => Promise<{ text: string | null; part: ToolPart }>;

interface Deps {
  tools: Pick<Tools, "files">;
  governance: Pick<Governance, "resolvePath">;
}

/**
 * Retrieves the text that a request is about: the files it names, else the files that contain its rare words, else the README and
 * the file list. Deterministic.
 * @returns the text for the model (at most `retrievalTokens`), empty when nothing was found
 */
export async function retrieveForSmallModel(deps: Deps, request: string, call: RetrievalCall, signal: AbortSignal): Promise<string> {
  const blocks: string[] = [];
  const read = async (path: string, offset?: number): Promise<void> => {
    const args = offset === undefined ? { path, limit: linesRead } : { path, offset, limit: linesAround * 2 + 1 };
    const { text } = await call({ name: "read_file", args });
    if (text !== null) blocks.push(fence(path, text));
  };

  const named = await filesNamed(deps, request, signal);
  for (const path of named.slice(0, readFiles)) await read(path);

  if (blocks.length === 0) {
    const words = rareWords(request);
    if (words.length > 0) {
      const pattern = words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join("|");
      const { text } = await call({ name: "search_workspace", args: { query: pattern, regex: true, limit: 60 } });
      for (const hit of bestHits(text ?? "", words, deps.governance).slice(0, readFiles)) {
        await read(hit.path, Math.max(1, hit.line - linesAround));
      }
    }
  }
  if (blocks.length === 0) {
    const readme = await deps.tools.files("README", 5, signal);
    const path = readme.find((candidate) => /^readme(\.\w+)?$/i.test(candidate));
    if (path !== undefined) await read(path);
    const { text } = await call({ name: "list_files", args: { depth: 2 } });
    if (text !== null) blocks.push(fence("Files of the project", text));
  }
  return share(blocks);
}

/** Divides the token limit among the blocks. Later blocks get the tokens that earlier ones did not need. */
function share(blocks: readonly string[]): string {
  let left = retrievalTokens;
  return blocks
    .map((block, index) => {
      const part = headByTokens(block, Math.floor(left / (blocks.length - index)));
      left -= Math.min(left, Math.ceil(part.length / 3));
      return part;
    })
    .filter((block) => block !== "")
    .join("\n\n");
}

/** The workspace files that the request names, by path or by file name. */
async function filesNamed({ tools, governance }: Deps, request: string, signal: AbortSignal): Promise<string[]> {
  const found = new Set<string>();
  for (const match of request.matchAll(/(?<![\w@./\\-])[\w@./\\-]*\w\.[A-Za-z]\w{0,9}\b|\b[\w-]+(?:\/[\w.-]+)+/g)) {
    const written = match[0].replace(/^@/, "");
    const resolved = governance.resolvePath(written);
    if (resolved.ok && resolved.inside && resolved.type === "file") {
      found.add(resolved.display);
      continue;
    }
    const name = written.split(/[/\\]/).at(-1)?.toLowerCase();
    const candidates = await tools.files(written, 10, signal);
    const same = candidates.find((path) => path.split("/").at(-1)?.toLowerCase() === name);
    if (same !== undefined) found.add(same);
  }
  return [...found];
}

const commonWords = new Set(
  (
    "about above after again against all and any are because been before being below between both but can code could did does doing down during each " +
    "explain file files find folder for from function further get give had has have having here how into its itself just know like line lines list main make me more most much my " +
    "name need not now off once only other our out over own please program project read really repo repository same say says see should show some such tell than that the their them then " +
    "there these they thing this those through too under until use used uses using very want was were what when where which while who why will with work works would write you your"
  ).split(" "),
);

/** The most distinctive words of the request, best first: identifiers before plain words, longer before shorter. */
export function rareWords(request: string): string[] {
  const words = new Set([...request.matchAll(/[A-Za-z_$][\w$-]{2,}/g)].map((match) => trimEnd(match[0], "-")));
  const identifier = (word: string): boolean => /[a-z][A-Z]|_|\d|-/.test(word);
  const rank = (word: string): number => (identifier(word) ? 100 : 0) + word.length;
  return [...words]
    .filter((word) => word.length > 2 && !commonWords.has(word.toLowerCase()))
    .sort((a, b) => rank(b) - rank(a) || (a < b ? -1 : 1))
    .slice(0, searchedWords);
}

/** The files of a search result, those with most of the words first, each with the line of its best word. */
function bestHits(output: string, words: readonly string[], governance: Pick<Governance, "resolvePath">): { path: string; line: number }[] {
  const hits = new Map<string, { line: number; rank: number; words: Set<string> }>();
  for (const text of output.split("\n")) {
    const [, path, line, content] = /^(.+?):(\d+): ?(.*)$/.exec(text) ?? [];
    if (path === undefined || content === undefined) continue;
    const lower = content.toLowerCase();
    const found = words.filter((word) => lower.includes(word.toLowerCase()));
    const [first] = found;
    if (first === undefined) continue;
    const rank = words.indexOf(first);
    const hit = hits.get(path) ?? { line: Number(line), rank, words: new Set<string>() };
    for (const word of found) hit.words.add(word);
    if (rank < hit.rank) Object.assign(hit, { line: Number(line), rank });
    hits.set(path, hit);
  }
  return [...hits]
    .filter(([path]) => {
      const resolved = governance.resolvePath(path);
      return resolved.ok && resolved.inside && resolved.type === "file" && resolved.sensitive !== "secret";
    })
    .sort(([a, left], [b, right]) => right.words.size - left.words.size || left.rank - right.rank || (a < b ? -1 : 1))
    .map(([path, { line }]) => ({ path, line }));
}
