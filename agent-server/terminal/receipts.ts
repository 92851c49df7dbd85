import { resolve } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { Verification } from "../contract/receipts.ts";
import { verifyExport } from "../receipts/receipts.ts";
import { openSession } from "./session.ts";
import type { CommandLine } from "./terminal.ts";

/**
 * `lancelot receipts verify [FILE [KEY]]`: the ledger, or without a data folder an exported one; with KEY no other key's
 * signatures count. `lancelot receipts export [ledger|receipts]`. Exit 0 when all is as it was written, 1 when not.
 */
export async function receipts(line: CommandLine): Promise<number> {
  const [command, file, keyId, ...more] = line.words;
  if (command === "export" && keyId === undefined && (file === undefined || file === "ledger" || file === "receipts"))
    return exportNow(line, file ?? "ledger");
  if (command !== "verify" || more.length > 0)
    throw new LancelotError("invalid_params", "Use: lancelot receipts verify [FILE [KEY]], or lancelot receipts export [ledger|receipts]");
  if (file !== undefined) {
    const result = await verifyExport(resolve(file), { keyId });
    say(line, result, `The exported ledger, of ${result.exportedAt},`, ` Keys: ${result.keyIds.join(", ") || "none"}.`);
    return result.ok ? 0 : 1;
  }
  const session = await openSession(line, null, false);
  try {
    const result = await session.call("receipts.verify", {});
    say(line, result, "The ledger");
    return result.ok ? 0 : 1;
  } finally {
    await session.close();
  }
}

async function exportNow(line: CommandLine, format: "ledger" | "receipts"): Promise<number> {
  const session = await openSession(line, null, false);
  try {
    const made = await session.call("receipts.export", { format });
    process.stdout.write(
      line.json
        ? `${JSON.stringify(made)}\n`
        : `${made.entries} ${format === "ledger" ? "entries" : "receipts"} are in exports/${made.file} of the data folder (SHA-256 ${made.sha256}).\n`,
    );
    return 0;
  } finally {
    await session.close();
  }
}

function say(line: CommandLine, result: Verification, what: string, more = ""): void {
  if (line.json) {
    process.stdout.write(`${JSON.stringify(result)}\n`);
    return;
  }
  const signed =
    result.signed === null
      ? "It is not signed: whoever can write it could have written it anew."
      : `Signed up to entry ${result.signed.seq} on ${result.signed.at} by key ${result.signed.keyId}.`;
  const sealed = result.segments.count === 0 ? "" : ` ${result.segments.entries} of them are in ${result.segments.count} sealed files.`;
  process.stdout.write(
    result.ok
      ? `${what} is whole: ${result.entries} entries, head ${result.head ?? "none"}.${sealed} ${signed}${more}\n`
      : `${what} was changed: ${result.firstBad?.message ?? "an entry does not fit"} (entry ${result.firstBad?.seq ?? "?"}).${more}\n`,
  );
}
