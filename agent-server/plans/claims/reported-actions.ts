import type { Outcome, ToolPart } from "../../contract/chat.ts";
import type { ReportedAction } from "../../quests/quests.ts";
import { sentencesOf } from "./answer-sentences.ts";
import type { ActionKind } from "./claim-language.ts";
import { type Claim, noCount, wordOf } from "./claim-words.ts";
import type { Recorded } from "./evidence.ts";
import { isSamePath, judgeClaim } from "./judge-claim.ts";
import { languages } from "./languages/languages.ts";

type Proof = { readonly receiptId: string; readonly named: boolean };

/**
 * Compares the actions of a report one to one with the receipts of the task. A receipt proves one action; only the receipt of the very
 * file or command that an action names may prove several.
 */
export function compareActions(actions: readonly ReportedAction[], recorded: Recorded): Outcome["actions"] {
  const used = new Set<string>();
  return actions.map(({ action, target }) => {
    const text = target === undefined || action.includes(target) ? action : `${action} ${target}`;
    const claim = claimOfAction(action, target);
    const proofs = claim === null || judgeClaim(claim, recorded) !== null ? [] : proofsOf(claim, recorded);
    const proof = proofs.find(({ receiptId }) => !used.has(receiptId)) ?? proofs.find(({ named }) => named);
    if (proof === undefined) return { text, recorded: false, receiptId: null };
    used.add(proof.receiptId);
    return { text, recorded: true, receiptId: proof.receiptId };
  });
}

function claimOfAction(action: string, target: string | undefined): Claim | null {
  const tokens = sentencesOf(`${action.replaceAll("_", " ")} ${target === undefined ? "" : `\`${target}\``}`).flatMap(
    (sentence) => sentence.tokens,
  );
  const kind = kindOf(tokens.map((token) => wordOf(token)));
  if (kind === null) return null;
  const ofTests = tokens.some((token) => languages.some((language) => language.tests.has(wordOf(token))));
  const paths = tokens.flatMap((token) => (token.kind === "path" ? [token.text] : []));
  // A target without an extension is a file where the work is on files.
  const named = paths.length === 0 && target !== undefined && /^[\w@./-]{1,300}$/.test(target) && target.includes("/") ? [target] : paths;
  const command = tokens.find((token) => token.kind === "command")?.text ?? null;
  const url = tokens.find((token) => token.kind === "url")?.text ?? (target?.startsWith("http") === true ? target : null);
  const onFiles = kind === "edit" || kind === "delete" || kind === "read";
  return { kind, text: action, paths: onFiles ? named : [], command, url, ofTests, count: noCount, direct: paths.length > 0, named: true };
}

function kindOf(words: readonly string[]): ActionKind | null {
  for (const word of words) {
    for (const language of languages) {
      const kind = language.infinitives.get(word) ?? language.verbs.get(word) ?? language.firstPerson.get(word);
      if (kind !== undefined) return kind;
    }
  }
  return null;
}

function proofsOf({ kind, paths, command, ofTests }: Claim, { calls, commands, files }: Recorded): Proof[] {
  const ofCommands = commands.flatMap((ran): Proof[] => {
    const named = command !== null && ran.text.includes(command);
    const fits =
      kind === "run"
        ? named || (command === null && (!ofTests || ran.ranTests))
        : isGitOrDeploy(kind) && ran.succeeded && ran.text.includes(kind);
    return fits && ran.receiptId !== null ? [{ receiptId: ran.receiptId, named }] : [];
  });
  if (kind === "run") return ofCommands;
  const ofCalls = calls.flatMap((call): Proof[] => {
    if (call.receiptId === null) return [];
    const named = paths.some((path) => pathsOf(call).some((touched) => isSamePath(path, touched)));
    return fits(kind, call) && (paths.length === 0 || named) ? [{ receiptId: call.receiptId, named }] : [];
  });
  if (ofCalls.length > 0 || (kind !== "edit" && kind !== "delete")) return [...ofCalls, ...ofCommands];
  // A file that a command changed: the receipt of the command.
  const changed = [...files].some(
    ([file, state]) => (state === "changed" || state === "deleted") && paths.some((path) => isSamePath(path, file)),
  );
  return changed ? commands.flatMap(({ receiptId }) => (receiptId === null ? [] : [{ receiptId, named: false }])) : [];
}

function isGitOrDeploy(kind: ActionKind | "tests"): boolean {
  return kind === "commit" || kind === "push" || kind === "deploy";
}

function fits(kind: ActionKind | "tests", { tool, tier }: ToolPart): boolean {
  if (kind === "commit") return tool === "git_commit";
  if (kind === "push") return tool === "git_push";
  if (kind === "deploy") return tool === "deploy";
  if (kind === "read") return tier === "T0" || tool === "fetch_url" || tool === "download";
  return tier !== "T0" && tool !== "run_command";
}

function pathsOf({ args, touched }: ToolPart): string[] {
  const named = [args["path"], args["to"]].filter((value) => typeof value === "string");
  const patch = typeof args["patch"] === "string" ? args["patch"].split(/\s+/).filter((word) => word.includes(".")) : [];
  return [...named, ...patch, ...(touched?.files ?? []).map(({ path }) => path)];
}
