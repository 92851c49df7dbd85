import { err, out } from "./output.ts";
import type { CommandLine } from "./command-line.ts";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Tier } from "../contract/common.ts";
import { LancelotError } from "../contract/errors.ts";
import { usageText } from "./usage.ts";

const options = {
  workspace: { type: "string" },
  cwd: { type: "string" },
  data: { type: "string" },
  port: { type: "string" },
  "yes-tier": { type: "string" },
  json: { type: "boolean" },
  quest: { type: "string" },
  download: { type: "boolean" },
  last: { type: "string" },
  reason: { type: "string" },
  replace: { type: "boolean" },
  "dry-run": { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

/**
 * Runs one command of `lancelot`.
 * @returns the exit code: 0 success, 1 failure, 2 invalid usage, 130 stopped
 */
export async function runCli(argv: readonly string[]): Promise<number> {
  let line: CommandLine;
  let command: string | undefined;
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    command = values.help ? "help" : values.version ? "version" : positionals.shift();
    line = {
      words: positionals,
      workspace: resolve(values.workspace ?? "."),
      dataDir: values.data,
      port: portOf(values.port),
      yesTier: values["yes-tier"] === undefined ? null : tierOf(values["yes-tier"]),
      json: values.json ?? false,
      questId: values.quest,
      download: values.download ?? false,
      cwd: values.cwd,
      last: values.last,
      reason: values.reason,
      replace: values.replace ?? false,
      dryRun: values["dry-run"] ?? false,
    };
  } catch (error) {
    err.write(`${error instanceof Error ? error.message : String(error)}\n\n${usageText}`);
    return 2;
  }
  try {
    switch (command) {
      case "chat":
        return await (await import("./chat.ts")).chat(line);
      case "call":
        return await (await import("./call.ts")).call(line);
      case "serve":
        return await (await import("./serve.ts")).serve(line);
      case "repl":
        return await (await import("./repl.ts")).repl(line);
      case "receipts":
        return await (await import("./receipts.ts")).receipts(line);
      case "soul":
        return await (await import("./soul.ts")).soul(line);
      case "memory":
        return await (await import("./memory.ts")).memory(line);
      case "policy":
        return await (await import("./policy.ts")).policy(line);
      case "models":
        return await (await import("./models.ts")).models(line);
      case "usage":
        return await (await import("./cost.ts")).cost(line);
      case "key":
        return await (await import("./keys.ts")).keys(line);
      case "version":
        out.write(`${(await import("./session.ts")).productVersion()}\n`);
        return 0;
      case "help":
      case undefined:
        out.write(usageText);
        return command === undefined ? 2 : 0;
      default:
        err.write(`There is no command ${command}.\n\n${usageText}`);
        return 2;
    }
  } catch (error) {
    const known = error instanceof LancelotError ? error : null;
    err.write(`${known?.message ?? `Lancelot failed: ${error instanceof Error ? error.message : String(error)}`}\n`);
    return known?.code === "cancelled" ? 130 : 1;
  }
}

function portOf(text: string | undefined): number {
  const port = Number(text ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port requires a number from 0 (any free port) to 65535, not ${text}.`);
  return port;
}

function tierOf(text: string): Tier {
  const tier = Tier.safeParse(text);
  if (!tier.success) throw new Error(`--yes-tier requires T0, T1, T2 or T3, not ${text}.`);
  return tier.data;
}
