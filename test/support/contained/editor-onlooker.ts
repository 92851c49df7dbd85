import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../sandbox/run.ts";
import { locate } from "../setup/machine.mjs";
import { put } from "../tools/git-fixture.ts";
import { openWorkbench } from "../workbench/workbench.ts";
import type { World } from "./world.ts";

/** A real editor on the workspace, whose git extension looks at it again and again. */
export interface EditorOnlooker {
  /** How often its git extension started git. */
  readonly ran: number;
  close(): Promise<void>;
}

/** A pause between two looks (ms). */
const betweenMs = 300;

/** Opens the workspace in an editor without Lancelot. Harm shows by the world's marker, as with other programs. */
export async function startEditorOnlooker(world: World): Promise<EditorOnlooker> {
  const tools = join(world.base, "editor");
  const counted = join(tools, "git-ran");
  const git = join(tools, "git");
  put(counted, "");
  writeFileSync(git, `#!/bin/sh\necho x >> ${counted}\nexec ${locate("git") ?? "git"} "$@"\n`);
  chmodSync(git, 0o755);
  // Root looks at a workspace of another user, as the one who installed it would.
  put(join(tools, "gitconfig"), "[safe]\n\tdirectory = *\n");
  const { page, url, close } = await openWorkbench({
    ...{ workspace: null, bare: true },
    settings: { "git.path": git, "git.autorefresh": true, "git.openRepositoryInParentFolders": "never" },
    env: { GIT_CONFIG_GLOBAL: join(tools, "gitconfig"), PATH: `${join(world.trap, "bin")}:${process.env["PATH"] ?? ""}` },
  });
  // The folder is named by the address alone: processes that name it are taken for those of a command.
  await page.goto(`${url}/?folder=${encodeURIComponent(world.workspace)}`);
  const ran = (): number => readFileSync(counted, "utf8").length / 2;
  await until("the git extension looks at the workspace", () => ran() > 5);
  const end = new AbortController();
  const loop = (async () => {
    const [input, row] = [page.locator(".quick-input-widget input.input"), page.locator(".quick-input-list .monaco-list-row").first()];
    while (!end.signal.aborted) {
      try {
        await page.keyboard.press("F1");
        await input.fill(">Git: Refresh", { timeout: 3_000 });
        await row.getByText("Git: Refresh").waitFor({ timeout: 3_000 });
        await page.keyboard.press("Enter");
      } catch {
        // The command is not there while the editor finds no repository.
        await page.keyboard.press("Escape");
      }
      await new Promise((resolve) => setTimeout(resolve, betweenMs));
    }
  })();
  return {
    get ran() {
      return ran();
    },
    async close() {
      end.abort();
      await loop;
      await close();
    },
  };
}
