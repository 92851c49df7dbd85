import { LancelotError } from "../../contract/errors.ts";
import type { MemoryItem } from "../../contract/memory.ts";
import type { Result } from "../../contract/table.ts";
import type { Log } from "../../security/security.ts";
import type { Memory, MemoryActions } from "../types.ts";
import { type OwnerCommand, ownerCommandsIn } from "./owner-command-forms.ts";

/** Items that a list shows. */
const maxListed = 10;
/** Of one item in a list or a report. UTF-16 units. */
const maxShown = 300;
/** Messages and accounts of tasks say nothing that was saved. */
const listedTiers = ["core", "working", "archival"] as const;
const disabled = "Memory is turned off, so nothing was saved or deleted. Turn on the flag MEMORY_VNEXT in Settings.";

/** A message by the user, as far as memory commands need it. */
export interface CommandMessage {
  readonly id: string;
  readonly text: string;
  readonly questId: string;
  /** False when it was sent without the owner token: then nothing in it changes memory. */
  readonly isOwner: boolean;
  readonly signal: AbortSignal;
}

/** The result of a message's commands. */
export interface CommandReport {
  readonly level: "info" | "warning";
  readonly text: string;
  /** True when something changed that a rollback can undo. */
  readonly isChanged: boolean;
  /** True when the message holds nothing else, so that no model has to answer it. */
  readonly isWholeMessage: boolean;
}

type Line = Pick<CommandReport, "level" | "text" | "isChanged">;
type Target = Pick<Memory, "enabled" | "placeOf" | "meant" | "search">;

/**
 * Runs the memory commands of a chat message in the owner's name, by code alone.
 * @returns a function that resolves to null when the message holds no command; then the model answers it
 */
export function createOwnerCommands({ memory, log }: { memory: Target | undefined; log: Log }) {
  async function run(command: OwnerCommand, message: CommandMessage, actions: MemoryActions): Promise<Line | null> {
    if (memory?.enabled() !== true) return command.isExplicit ? line("warning", disabled) : null;
    const { kind, text, isExplicit } = command;
    const failed = (why: string): Line => line("warning", `Not ${kind === "forget" ? "forgotten" : "remembered"}: ${quoted(text)} ${why}`);
    if (kind !== "show" && !message.isOwner) return isExplicit ? failed("It was sent without the owner token.") : null;
    try {
      if (kind === "show") return show(memory, text, message.questId);
      if (text === "") return line("warning", `Add the text to ${kind} after the command.`);
      return kind === "remember"
        ? await remember(memory, actions, text, message.id)
        : await forget(memory, actions, command, message.questId);
    } catch (error) {
      if (message.signal.aborted) throw error;
      if (error instanceof LancelotError) return failed(error.message);
      log("a memory command of the owner failed", error);
      return failed("Something went wrong inside Lancelot; the log has the details.");
    }
  }

  return async (message: CommandMessage, actions: MemoryActions | null): Promise<CommandReport | null> => {
    const { commands, isWholeMessage } = ownerCommandsIn(message.text);
    // While memory is off, only a slash command is answered: a sentence may mean something else.
    if (actions === null || (memory?.enabled() !== true && !message.text.trim().startsWith("/"))) return null;
    const lines: Line[] = [];
    for (const command of commands) {
      const done = await run(command, message, actions);
      message.signal.throwIfAborted();
      if (done !== null) lines.push(done);
    }
    if (lines.length === 0) return null;
    return {
      level: lines.some(({ level }) => level === "warning") ? "warning" : "info",
      text: lines.map(({ text }) => text).join("\n"),
      isChanged: lines.some(({ isChanged }) => isChanged),
      isWholeMessage,
    };
  };
}

async function remember(memory: Target, actions: MemoryActions, text: string, messageId: string): Promise<Line> {
  const { target, kind, namespace } = memory.placeOf(text);
  const edit = {
    op: "insert" as const,
    content: text,
    reason: "The owner asked for it to be remembered.",
    confidence: 1,
    provenance: { source: "user" as const, ref: `message:${messageId}` },
    ...(namespace === undefined ? {} : { namespace }),
  };
  try {
    return editLine(await actions.edit({ ...edit, target, ...(kind === undefined ? {} : { kind }) }));
  } catch (error) {
    if (!(error instanceof LancelotError && error.code === "too_large" && target.startsWith("core:"))) throw error;
    const saved = editLine(await actions.edit({ ...edit, target: "archival", ...(kind === undefined ? {} : { kind }) }));
    return { ...saved, text: `${saved.text} The core block ${target.slice(5)} is full, so it was saved to the archive.` };
  }
}

function editLine({ outcome, target, content, notes, diff, quarantineId }: Result<"memory.edit">): Line {
  const text = [quoted(content ?? ""), ...notes].join(" ");
  if (quarantineId !== null) return line("warning", `In quarantine until you approve it: ${text}`);
  if (outcome === "reinforced") return line("info", `Already remembered: ${text}`);
  return { level: "info", text: `Remembered (${placeText(target, diff[0]?.namespace ?? null)}): ${text}`, isChanged: true };
}

async function forget(memory: Target, actions: MemoryActions, command: OwnerCommand, questId: string): Promise<Line | null> {
  const { item, candidates } = memory.meant(command.text, questId);
  if (item !== null) {
    const { forgotten } = await actions.forget({ id: item.id, questId });
    return { level: "info", text: `Forgotten: ${quoted((forgotten ?? item).content)}`, isChanged: true };
  }
  if (candidates.length > 0)
    return line(
      "warning",
      `${quoted(command.text)} matches several items. Enter more of the text, or delete the item in War Room → Memory:\n${list(candidates)}`,
    );
  return command.isExplicit ? line("info", `No item matches ${quoted(command.text)}.`) : null;
}

function show(memory: Target, query: string, questId: string): Line {
  const { items } = memory.search({ query, tiers: [...listedTiers], limit: maxListed }, questId);
  const about = query === "" ? "" : ` about ${quoted(query)}`;
  if (items.length === 0) return line("info", `Memory holds nothing${about}.`);
  return line("info", `In memory${about}:\n${list(items.map(({ item }) => item))}`);
}

function list(items: readonly MemoryItem[]): string {
  return items
    .slice(0, maxListed)
    .map(({ content, tier, block, namespace, provenance, updatedAt }) => {
      const place = placeText(block === null ? tier : `core:${block}`, namespace);
      const source = provenance.source === "user" ? "from you" : `from ${provenance.source}`;
      return `- ${shortened(content)} (${place}; ${source}, ${updatedAt.slice(0, 10)})`;
    })
    .join("\n");
}

const places: Readonly<Record<string, string>> = {
  "core:human": "about you",
  "core:operating_rules": "rule",
  "core:mission": "mission",
  "core:workspace_state": "workspace state",
  archival: "archive",
  working: "working memory",
};

function placeText(target: string, namespace: string | null): string {
  const scope = namespace === "global" ? ", all workspaces" : namespace === "workspace" ? ", this workspace" : "";
  return `${places[target] ?? target}${scope}`;
}

function line(level: Line["level"], text: string): Line {
  return { level, text, isChanged: false };
}

function quoted(text: string): string {
  return `“${shortened(text)}”`;
}

function shortened(text: string): string {
  const flat = text.trim().replaceAll(/(?<!\s)\s*\n\s*/g, " ");
  return flat.length <= maxShown ? flat : `${flat.slice(0, maxShown - 1).toWellFormed()}…`;
}
