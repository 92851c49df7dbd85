import type { OverlayView } from "../../workspace/workspace.ts";
import type { ShellCommand, ShellResult } from "../shell-provider.ts";
import type { Engine } from "./container-engine.ts";
import { createCopyCommands } from "./copy-commands.ts";
import { createViewCommands, type ViewCommands, type ViewCommandsDeps } from "./view-commands.ts";

/** How the engine shows tasks their files: by mounts of their layers, else by copies, else not at all. */
export interface ViewLevel extends Pick<ViewCommands, "open" | "run"> {
  /** As of the last check; the weakest one before. */
  readonly level: "transactional" | "copied" | "watched";
  /** What the user should know about the level; empty at the best one. */
  about(): string;
  /** Learns the level, with real commands. An engine that showed a good one is not tried again. */
  check(engine: Engine, run: (command: ShellCommand) => Promise<ShellResult>, signal: AbortSignal | undefined): Promise<void>;
}

export function createViewLevel(deps: ViewCommandsDeps): ViewLevel {
  const mounts = createViewCommands(deps);
  const copies = createCopyCommands(deps);
  const state = { level: "watched" as ViewLevel["level"], why: "The sandbox was not checked yet.", checked: null as Engine | null };
  const isCopied = async (): Promise<boolean> =>
    state.level === "copied" || (state.level === "watched" && (await deps.pool.reach()).remote);
  const holderOf = (view: OverlayView): ViewCommands => (copies.holds(view) ? copies : mounts);
  return {
    get level() {
      return state.level;
    },
    about() {
      if (state.level === "transactional") return "";
      return state.level === "copied"
        ? ` They work in a copy of the workspace, without the files that git ignores. ${state.why}`
        : ` Their changes are not held back until you accept them: ${state.why}`;
    },
    async check(engine, run, signal) {
      if (engine === state.checked) return;
      const whyNoMounts = await mounts.try(run, signal);
      const whyNoCopies = whyNoMounts === null ? null : await copies.try(run, signal);
      state.level = whyNoMounts === null ? "transactional" : whyNoCopies === null ? "copied" : "watched";
      state.why = [whyNoMounts, whyNoCopies].filter((why) => why !== null).join(" ");
      state.checked = state.level === "watched" ? null : engine;
    },
    open: async (task) => ((await isCopied()) ? copies : mounts).open(task),
    run: (command, egressSocket, work) => holderOf(command.view).run(command, egressSocket, work),
  };
}
