import { LancelotError } from "../contract/errors.ts";
import { asLancelotError } from "../gateway/dispatch.ts";
import { createOwnerGate } from "../security/security.ts";
import { out } from "./output.ts";
import { openSession } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

/** `lancelot call <method> '<json>'`: prints the result, or `{"error":…}` and exits with 1. */
export async function call(line: CommandLine): Promise<number> {
  try {
    const [method, text = "{}"] = line.words;
    if (method === undefined) throw new LancelotError("invalid_params", "Enter a method, for example: lancelot call host.info");
    const params = parse(text);
    const session = await openSession(line, line.workspace, false);
    try {
      const token = process.env["LANCELOT_OWNER_TOKEN"] ?? null;
      const owner = token !== null && createOwnerGate(token).check(token);
      const result = await session.dispatch(method, params, { owner, signal: new AbortController().signal, transport: "terminal" });
      out.json(result, 2);
      return 0;
    } finally {
      await session.close();
    }
  } catch (error) {
    out.json({ error: asLancelotError(error).toBody() }, 2);
    return 1;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new LancelotError(
      "invalid_params",
      "The parameters are not valid JSON. Pass them as one quoted argument, for example '{\"limit\": 5}'.",
      {
        cause: error,
      },
    );
  }
}
