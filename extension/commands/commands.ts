import * as vscode from "vscode";
import { report } from "../host/report.ts";

/** Command handlers by id; each group of the palette is one record. */
export type Commands = Record<`lancelot.${string}`, (...args: unknown[]) => Promise<void> | void>;

/** Registers commands so that a failed one tells the owner why. */
export function registerCommands(...groups: Commands[]): vscode.Disposable {
  const registrations = groups.flatMap((group) =>
    Object.entries(group).map(([id, run]) =>
      vscode.commands.registerCommand(id, async (...args: unknown[]) => {
        try {
          await run(...args);
        } catch (error) {
          report(error);
        }
      }),
    ),
  );
  return vscode.Disposable.from(...registrations);
}

/** A string of a command's argument: a field of a tree item or of another command's, or what a view passed as it is. */
export function field(argument: unknown, name: string): string | undefined {
  if (typeof argument === "string") return argument;
  const value: unknown = typeof argument === "object" && argument !== null ? (argument as Record<string, unknown>)[name] : undefined;
  return typeof value === "string" ? value : undefined;
}
