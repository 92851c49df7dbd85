import { chmodSync, existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
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

/** How often a file is touched (ms), so that the extension looks. */
const everyMs = 300;

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
  const timer = setInterval(() => {
    const now = new Date();
    const file = ["README.md", "package.json", ".gitignore"].find((name) => existsSync(join(world.workspace, name)));
    if (file !== undefined) utimesSync(join(world.workspace, file), now, now);
  }, everyMs);
  return {
    get ran() {
      return ran();
    },
    async close() {
      clearInterval(timer);
      await close();
    },
  };
}
