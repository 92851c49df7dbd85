import * as vscode from "vscode";
import { showError } from "../host/show-error.ts";

/** Command handlers by id, one record for each group of commands. */
export type Commands = Record<`lancelot.${string}`, (...args: unknown[]) => Promise<void> | void>;

/** Registers commands and shows the error of a command that fails. */
export function registerCommands(...groups: Commands[]): vscode.Disposable {
  const registrations = groups.flatMap((group) =>
    Object.entries(group).map(([id, run]) =>
      vscode.commands.registerCommand(id, async (...args: unknown[]) => {
        try {
          await run(...args);
        } catch (error) {
          showError(error);
        }
      }),
    ),
  );
  return vscode.Disposable.from(...registrations);
}

/** A string field of a command's argument; the argument itself when it is a string. */
export function field(argument: unknown, name: string): string | undefined {
  if (typeof argument === "string") return argument;
  const value: unknown = typeof argument === "object" && argument !== null ? (argument as Record<string, unknown>)[name] : undefined;
  return typeof value === "string" ? value : undefined;
}
