import * as vscode from "vscode";
import { defaultMaxRunningTasks } from "../../agent-server/contract/running-tasks.ts";
import type { Posture } from "../../agent-server/contract/governance.ts";

export interface Settings {
  posture: Posture;
  approvalTimeoutSeconds: number;
  /** Absolute path; empty for the extension's own global storage. */
  dataFolder: string;
  logLevel: string;
  /** Only the flags that the user set: a default must not override the owner's file. */
  features: Record<string, boolean>;
  /** How many tasks may run at a time. */
  maxRunningTasks: number;
}

/** Settings with application scope have no workspace value, so only the global value counts. */
function readFeatures(settings: vscode.WorkspaceConfiguration): Record<string, boolean> {
  const features: Record<string, boolean> = {};
  for (const name of Object.keys(settings.get<Record<string, unknown>>("features", {}))) {
    const own = settings.inspect<unknown>(`features.${name}`)?.globalValue;
    if (typeof own === "boolean") features[name] = own;
  }
  return features;
}

/** The user's settings. Governance settings have application scope, so a workspace cannot change them. Invalid values fall back. */
export function readSettings(): Settings {
  const settings = vscode.workspace.getConfiguration("lancelot");
  const timeout = settings.get<number>("approvalTimeoutSeconds", 3600);
  const running = settings.get<number>("maxRunningTasks", defaultMaxRunningTasks);
  return {
    posture: settings.get<string>("posture") === "autonomous" ? "autonomous" : "supervised",
    approvalTimeoutSeconds: Number.isInteger(timeout) ? Math.min(Math.max(timeout, 10), 86_400) : 3600,
    dataFolder: settings.get<string>("dataFolder", "").trim(),
    logLevel: settings.get<string>("logLevel", "info"),
    features: readFeatures(settings),
    maxRunningTasks: Number.isInteger(running) ? Math.min(Math.max(running, 1), 16) : defaultMaxRunningTasks,
  };
}

/** `LANCELOT_DATA` (tests, portable set-ups), else the setting, else the extension's own global storage. */
export function dataFolder(context: vscode.ExtensionContext): string {
  const fromEnvironment = process.env["LANCELOT_DATA"] ?? "";
  if (fromEnvironment !== "") return fromEnvironment;
  const fromSettings = readSettings().dataFolder;
  return fromSettings === "" ? context.globalStorageUri.fsPath : fromSettings;
}
