import { posix } from "node:path";
import type { ToolPart } from "../../contract/chat.ts";
import type { ContextItem } from "../../contract/context.ts";
import type { Piece, EvictionState } from "../../context/context.ts";
import { attachedKey, resultKey } from "../conversation.ts";
import type { StoredMessage } from "../stored-quest.ts";

/** The text of a file or tool result in a conversation, with its state. */
export interface QuestPiece extends Piece {
  readonly messageId: string;
  readonly seq: number;
  /** The file, relative to the workspace; null for a text that belongs to none. */
  readonly path: string | null;
  /** A description in one line. */
  readonly title: string;
  readonly kind: Extract<ContextItem["kind"], "file" | "selection" | "outline" | "tool_output">;
  readonly reason: string | null;
  readonly usedAt: string;
}

/** Tools whose `path` argument is the file they act on. */
const fileTools: ReadonlySet<string> = new Set(["read_file", "get_file_outline", "edit_file", "write_file", "delete_file", "diagnostics"]);
/** Tools whose result comes from Lancelot or the user, and so is never shortened. */
const trustedTools: ReadonlySet<string> = new Set(["ask_owner", "update_plan", "report_outcome", "propose_plan"]);

/**
 * Lists the pieces of the messages after `after` in order. A piece counts as used when its file is read, edited or named later.
 * @param states of shortened and excluded pieces, by key
 */
export function piecesOf(
  messages: readonly StoredMessage[],
  states: ReadonlyMap<string, { state: EvictionState; reason: string }>,
  after = -1,
): QuestPiece[] {
  const visible = messages.filter(({ turn }) => turn !== null);
  const last = visible.findLast(({ turn }) => turn?.kind === "assistant");
  const lastExchange = last?.message.seq ?? -1;
  const found = visible.filter(({ message }) => message.seq > after).flatMap(rawPieces);
  const uses = lastUses(
    messages,
    found.flatMap(({ path }) => (path === null ? [] : [path])),
  );
  return found.map((piece) => {
    const use = piece.path === null ? undefined : uses.get(piece.path);
    const own = { seq: piece.seq, at: piece.at };
    const used = use !== undefined && use.seq > own.seq ? use : own;
    const state = states.get(piece.key);
    const { at: _, ...rest } = piece;
    return {
      ...rest,
      state: state?.state ?? "whole",
      reason: state?.reason ?? null,
      lastUsed: used.seq,
      usedAt: used.at,
      kept: piece.seq >= lastExchange,
    };
  });
}

type RawPiece = Omit<QuestPiece, "state" | "reason" | "lastUsed" | "usedAt" | "kept"> & { at: string };

function rawPieces({ message, turn }: StoredMessage): RawPiece[] {
  const base = { messageId: message.id, seq: message.seq, at: message.createdAt };
  if (turn?.kind === "retrieval") {
    return [
      { ...base, key: attachedKey(message.id, 0), text: turn.text, path: null, title: "Retrieved for a small model", kind: "tool_output" },
    ];
  }
  if (turn?.kind === "user") {
    return turn.content.flatMap((item, index): RawPiece[] => {
      if (item.type !== "text" || item.attached !== true || item.pinned === true) return [];
      const lines = item.path?.match(/:\d+-\d+$/) ?? null;
      return [
        {
          ...base,
          key: attachedKey(message.id, index),
          text: item.text,
          path: item.path?.replace(/:\d+-\d+$/, "") ?? null,
          title: item.path ?? item.source ?? item.text.split("\n", 1)[0]?.replace(/:$/, "").slice(0, 120) ?? "",
          kind: lines === null ? "file" : "selection",
        },
      ];
    });
  }
  if (turn?.kind !== "assistant") return [];
  const callIds = new Set(turn.content.flatMap((item) => (item.type === "tool_call" ? [item.id] : [])));
  return message.parts.flatMap((part): RawPiece[] => {
    if (part.type !== "tool" || !callIds.has(part.callId) || part.output === null || trustedTools.has(part.tool)) return [];
    return [
      {
        ...base,
        key: resultKey(message.id, part.callId),
        text: part.output,
        path: fileOf(part),
        title: part.title,
        kind: part.tool === "read_file" ? "file" : part.tool === "get_file_outline" ? "outline" : "tool_output",
      },
    ];
  });
}

/** The file that a call acts on; null for none. */
export function fileOf({ tool, args }: Pick<ToolPart, "tool" | "args">): string | null {
  const path = args["path"];
  if (!fileTools.has(tool) || typeof path !== "string" || path === "") return null;
  return posix.normalize(path.replaceAll("\\", "/"));
}

/** The last message that read, edited or named each file. */
export function lastUses(messages: readonly StoredMessage[], paths: readonly string[]): Map<string, { seq: number; at: string }> {
  const uses = new Map<string, { seq: number; at: string }>();
  const open = new Set(paths);
  for (const { message } of messages.toReversed()) {
    if (open.size === 0) break;
    const files = new Set<string>();
    const texts: string[] = [];
    for (const part of message.parts) {
      if (part.type === "text") texts.push(part.text);
      else if (part.type === "file") files.add(part.path.replace(/:\d+-\d+$/, ""));
      else if (part.type === "tool") {
        const path = fileOf(part);
        if (path !== null) files.add(path);
        for (const { path: touched } of part.touched?.files ?? []) files.add(touched);
      }
    }
    const text = texts.join("\n");
    for (const path of open) {
      if (!files.has(path) && !names(text, path)) continue;
      uses.set(path, { seq: message.seq, at: message.createdAt });
      open.delete(path);
    }
  }
  return uses;
}

/** True when a text contains the path of a file, or its name if that has an extension. */
function names(text: string, path: string): boolean {
  const name = posix.basename(path);
  return containsName(text, path) || (name !== path && name.includes(".") && containsName(text, name));
}

function containsName(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const before = text[at - 1] ?? " ";
    const after = text[at + name.length] ?? " ";
    if (!/[\p{L}\p{N}_-]/u.test(before) && !/[\p{L}\p{N}_-]/u.test(after)) return true;
  }
  return false;
}
