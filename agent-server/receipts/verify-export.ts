import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import type { Verification } from "../contract/receipts.ts";
import { problemAt, type Problem } from "./diagnose.ts";
import { checkLine, isEntryLine, readLine } from "./entry-lines.ts";
import { genesis } from "./entry.ts";
import { ExportEnd, ExportHeader, ExportSignature } from "./export-format.ts";
import { createSignatureChecker } from "./signature.ts";
import { createSignatureWalk } from "./signature-walk.ts";

/** The result of verifying an export, with the ids of its keys, which the reader must compare with the owner's. */
export interface ExportVerification extends Verification {
  ledger: string;
  exportedAt: string;
  keyIds: string[];
}

/**
 * Verifies an exported ledger using only the file. It cannot know whether the keys belong to the owner: compare their ids with the
 * owner's key id, or pass that as `keyId` to accept no other key.
 * @throws LancelotError `not_found`, `invalid_params` when the file is not a ledger export, `cancelled`
 */
export async function verifyExport(
  file: string,
  options: { keyId?: string | undefined; signal?: AbortSignal | undefined } = {},
): Promise<ExportVerification> {
  let header: ExportHeader | null = null;
  let end: ExportEnd["end"] | null = null;
  let previous = genesis;
  let entries = 0;
  let bad: Problem | null = null;
  let walk = createSignatureWalk([], createSignatureChecker("", []), null);
  let lastSignature = 0;

  const readOne = (line: string): Problem | null => {
    const at = entries + 1;
    if (header === null) {
      header = parse(ExportHeader, line);
      if (header === null)
        throw new LancelotError("invalid_params", "This file is not a ledger export: its first line is not an export header.");
      const { keyId } = options;
      const keys = keyId === undefined ? header.keys : header.keys.filter((key) => key.keyId === keyId);
      walk = createSignatureWalk([], createSignatureChecker(header.ledger, keys), null);
      return null;
    }
    if (end !== null) return problemAt(at, null, "inserted", "or other data follows the end of the export");
    if (isEntryLine(line)) {
      const entry = readLine(line);
      const problem = checkLine(entry, at, previous, "in the export");
      if (problem !== null || entry === null) return problem;
      entries = at;
      previous = entry.hash;
      return null;
    }
    const signed = parse(ExportSignature, line)?.signature;
    if (signed !== undefined) {
      if (signed.seq > entries) return problemAt(at, null, "removed", "is missing in the export");
      if (signed.seq < entries) return problemAt(signed.seq, null, "signature", "has its signature in the wrong place");
      lastSignature = signed.seq;
      return walk.add(signed, previous);
    }
    end = parse(ExportEnd, line)?.end ?? null;
    return end === null ? problemAt(at, null, "changed", "in the export cannot be parsed") : null;
  };

  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      if (options.signal?.aborted === true) throw new LancelotError("cancelled", "Verifying the export was canceled.");
      if (line === "") continue;
      bad = readOne(line);
      if (bad !== null) break;
    }
  } catch (error) {
    throw toReadError(error);
  }
  // Assigned in `readOne`, which the compiler does not track.
  const found = header as ExportHeader | null;
  if (found === null) throw new LancelotError("invalid_params", "This file is not a ledger export: it is empty.");
  bad ??= atEnd(end, { entries, previous, signatures: walk.result()?.heads ?? 0, at: lastSignature });
  return {
    ok: bad === null,
    entries,
    head: entries === 0 ? null : previous,
    signed: walk.result(),
    segments: { count: found.sealed.length, entries: found.sealed.at(-1)?.to ?? 0 },
    ledger: found.ledger,
    exportedAt: found.exportedAt,
    keyIds: found.keys.map((key) => key.keyId),
    ...(bad === null ? {} : { firstBad: bad }),
  };
}

function atEnd(end: ExportEnd["end"] | null, is: { entries: number; previous: string; signatures: number; at: number }): Problem | null {
  if (end === null) return problemAt(is.entries + 1, null, "removed", "or the end is missing: the export is truncated");
  if (end.entries > is.entries) return problemAt(is.entries + 1, null, "removed", `is missing: the export had ${end.entries} entries`);
  if (end.entries < is.entries) return problemAt(end.entries + 1, null, "inserted", "was added after the export was made");
  if (end.head !== is.previous) return problemAt(is.entries, null, "changed", "does not match the head of the export");
  if (end.signatures !== is.signatures)
    return problemAt(
      is.at + 1,
      null,
      "signature",
      `or a later entry lost its signature: ${end.signatures} were exported, ${is.signatures} are in the file`,
    );
  return null;
}

function parse<T>(schema: z.ZodType<T>, line: string): T | null {
  try {
    return schema.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}

function toReadError(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (error instanceof LancelotError || code === undefined) return error;
  return code === "ENOENT"
    ? new LancelotError("not_found", "There is no such file.")
    : new LancelotError("unavailable", "The file cannot be read. Check its permissions.", { data: { reason: code }, cause: error });
}
