import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { LancelotError } from "../contract/errors.ts";
import { err, out, terminal } from "./output.ts";
import { openSession } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

/** `lancelot key set|list|delete`: the headless vault. A key is never an argument, because other users can read arguments. */
export async function keys(line: CommandLine): Promise<number> {
  const [action, name] = line.words;
  const session = await openSession(line, null, false);
  try {
    if (action === "list") {
      const { items } = await session.call("vault.list", {});
      out.write(items.length > 0 ? `${items.join("\n")}\n` : "No keys are stored.\n");
      return 0;
    }
    if (name === undefined || (action !== "set" && action !== "delete"))
      throw new LancelotError("invalid_params", "Usage: lancelot key set NAME, lancelot key list, or lancelot key delete NAME.");
    if (action === "delete") await session.call("vault.delete", { name });
    else await session.call("vault.set", { name, value: await readSecret(name) });
    out.write(action === "set" ? `${name} stored.\n` : `${name} deleted.\n`);
    return 0;
  } finally {
    await session.close();
  }
}

/** Reads one line without echo. */
async function readSecret(name: string): Promise<string> {
  if (terminal.isTyped) err.write(`${name}: `);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: silent, terminal: terminal.isTyped });
  try {
    for await (const text of reader) {
      const value = text.trim();
      if (terminal.isTyped) err.write("\n");
      if (value === "") break;
      return value;
    }
    throw new LancelotError("invalid_params", "No key was entered, so nothing was stored.");
  } finally {
    reader.close();
  }
}
