import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { until } from "../host/built-host.ts";
import { root } from "../setup/project.mjs";
import { type ModelServer, startModelServer } from "../model-server/server.ts";
import type { Script } from "../model-server/turn.ts";
import { useModelServer } from "../tasks/two-file-change.ts";
import { newTask, openChat } from "./chat.ts";
import { defaultViewport, openWorkbench, setSharedSettings, sharedFolder, type Workbench } from "./workbench.ts";

/** A real editor on a copy of the sample project, with a data folder of its own. The window is one that all files use in turn. */
export interface EditorFixture {
  /** Absolute path of the copy. */
  readonly workspace: string;
  readonly data: string;
  readonly workbench: Workbench;
  /** The played model. @throws Error when the fixture has none. */
  readonly server: ModelServer;
  /** Text of a workspace file. */
  read(path: string): string;
  close(): Promise<void>;
}

export interface EditorFixtureOptions {
  /** What the model says; without one no model can be used. */
  script?: Script;
  /** More files of the workspace, by path. */
  files?: Readonly<Record<string, string>>;
  /** Files of the owner's in the data folder, by path. */
  dataFiles?: Readonly<Record<string, string>>;
  settings?: Record<string, unknown>;
}

/** The window of all files, and where its folder is. Each fixture gives it other files, settings and another data folder. */
let shared: Promise<{ workbench: Workbench; path: string }> | undefined;

async function openSharedWindow(settings: Record<string, unknown>): Promise<{ workbench: Workbench; path: string }> {
  const path = mkdtempSync(join(sharedFolder(), "workspace-"));
  const workbench = await openWorkbench({ workspace: path, settings });
  await openChat(workbench);
  return { workbench, path };
}

/** The window with these settings, and an agent host that began with them. */
async function useSharedWindow(settings: Record<string, unknown>, fill: (workspace: string) => void) {
  const opened = shared !== undefined;
  shared ??= openSharedWindow(settings);
  const { workbench, path } = await shared;
  fill(path);
  if (!opened) return { workbench, path };
  const before = workbench.hostPids();
  setSharedSettings(settings);
  // A changed data folder makes the extension end its host and start another.
  await until("the agent host of the new data folder has started", () => {
    const pids = workbench.hostPids();
    return pids.length > 0 && !pids.some((pid) => before.includes(pid));
  });
  const chat = await openChat(workbench);
  await chat.locator(".host-banner").waitFor({ state: "detached" });
  return { workbench, path };
}

/** Leaves the window as a new one is: no editors, no notifications, no task, no draft. */
async function cleanWindow({ page, command, view }: Workbench): Promise<void> {
  await page.emulateMedia({ colorScheme: null, forcedColors: null });
  await page.setViewportSize(defaultViewport);
  await page.keyboard.press("Escape");
  await command("View: Close All Editors");
  const dontSave = page.locator(".monaco-dialog-box").getByRole("button", { name: "Don't Save" });
  await until("the editors are closed", async () => {
    if (await dontSave.isVisible()) await dontSave.click();
    return (await page.locator(".editor-group-container .tab").count()) === 0;
  });
  await command("Notifications: Clear All Notifications");
  await page.locator(".notifications-toasts.visible, .notifications-center.visible").waitFor({ state: "hidden" });
  const chat = await view("chat");
  await chat.locator("textarea").fill("");
  await newTask(chat);
}

export async function openEditorFixture({
  script,
  files = {},
  dataFiles = {},
  settings = {},
}: EditorFixtureOptions): Promise<EditorFixture> {
  const data = mkdtempSync(join(sharedFolder(), "data-"));
  const write = (folder: string, texts: Readonly<Record<string, string>>): void => {
    for (const [path, text] of Object.entries(texts)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
  };
  write(data, dataFiles);
  const server = script === undefined ? null : await startModelServer({ script });
  if (server !== null) useModelServer(data, server.url("openai_compatible"));
  const { workbench, path: workspace } = await useSharedWindow({ "lancelot.dataFolder": data, ...settings }, (folder) => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
    cpSync(join(root, "media/sample"), folder, { recursive: true });
    write(folder, files);
  });
  return {
    workspace,
    data,
    workbench,
    get server() {
      if (server === null) throw new Error("This fixture was opened without a model.");
      return server;
    },
    read: (path) => readFileSync(join(workspace, path), "utf8"),
    async close() {
      try {
        await cleanWindow(workbench);
      } catch (error) {
        console.error("The window is not used again:", error);
        // A failed test may leave anything behind: the next fixture opens another window.
        shared = undefined;
        await workbench.close();
      }
      await server?.close();
    },
  };
}
