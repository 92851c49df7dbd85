import { resolve } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { Verification } from "../contract/receipts.ts";
import { verifyExport } from "../receipts/receipts.ts";
import { out } from "./output.ts";
import { openSession } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

/**
 * `lancelot receipts verify [FILE [KEY]]`: verifies the ledger, or an export without a data folder; KEY is the only key whose
 * signatures count. `lancelot receipts export [ledger|receipts]`. Exit code 0 when verification passes, 1 otherwise.
 */
export async function receipts(line: CommandLine): Promise<number> {
  const [command, file, keyId, ...more] = line.words;
  if (command === "export" && keyId === undefined && (file === undefined || file === "ledger" || file === "receipts"))
    return exportNow(line, file ?? "ledger");
  if (command !== "verify" || more.length > 0)
    throw new LancelotError(
      "invalid_params",
      "Usage: lancelot receipts verify [FILE [KEY]], or lancelot receipts export [ledger|receipts]",
    );
  if (file !== undefined) {
    const result = await verifyExport(resolve(file), { keyId });
    print(line, result, `The ledger exported at ${result.exportedAt}`, ` Keys: ${result.keyIds.join(", ") || "none"}.`);
    return result.ok ? 0 : 1;
  }
  const session = await openSession(line, null, false);
  try {
    const result = await session.call("receipts.verify", {});
    print(line, result, "The ledger");
    return result.ok ? 0 : 1;
  } finally {
    await session.close();
  }
}

async function exportNow(line: CommandLine, format: "ledger" | "receipts"): Promise<number> {
  const session = await openSession(line, null, false);
  try {
    const made = await session.call("receipts.export", { format });
    if (line.json) out.json(made);
    else
      out.write(
        `Exported ${made.entries} ${format === "ledger" ? "entries" : "receipts"} to exports/${made.file} in the data folder (SHA-256 ${made.sha256}).\n`,
      );
    return 0;
  } finally {
    await session.close();
  }
}

function print(line: CommandLine, result: Verification, what: string, more = ""): void {
  if (line.json) {
    out.json(result);
    return;
  }
  const signed =
    result.signed === null
      ? "It is not signed, so anyone with write access could have rewritten it."
      : `Signed up to entry ${result.signed.seq} at ${result.signed.at} with key ${result.signed.keyId}.`;
  const sealed = result.segments.count === 0 ? "" : ` Sealed files: ${result.segments.count}, with ${result.segments.entries} entries.`;
  out.write(
    result.ok
      ? `${what} is intact: ${result.entries} entries, head ${result.head ?? "none"}.${sealed} ${signed}${more}\n`
      : `${what} was changed at entry ${result.firstBad?.seq ?? "?"}: ${result.firstBad?.message ?? "The entry does not match."}${more}\n`,
  );
}
