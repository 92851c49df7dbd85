import { LancelotError } from "../contract/errors.ts";
import { openSession } from "./session.ts";
import type { CommandLine } from "./terminal.ts";

/** `lancelot receipts verify`: exit 0 when the ledger is as it was written, 1 when not. */
export async function receipts(line: CommandLine): Promise<number> {
  if (line.words[0] !== "verify") throw new LancelotError("invalid_params", "Use: lancelot receipts verify");
  const session = await openSession(line, null, false);
  try {
    const result = await session.call("receipts.verify", {});
    if (line.json) process.stdout.write(`${JSON.stringify(result)}\n`);
    else if (result.ok) process.stdout.write(`The ledger is whole: ${result.entries} entries, head ${result.head ?? "none"}.\n`);
    else
      process.stdout.write(
        `The ledger was changed: ${result.firstBad?.message ?? "an entry does not fit"} (entry ${result.firstBad?.seq ?? "?"}).\n`,
      );
    return result.ok ? 0 : 1;
  } finally {
    await session.close();
  }
}
