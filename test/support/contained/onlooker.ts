import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemPath } from "../setup/machine.mjs";
import type { World } from "./world.ts";

/** Programs of the user that work in the real workspace while hostile commands run. */
export interface Onlooker {
  /** Waits for the program that runs and starts no other until `resume`. */
  pause(): Promise<void>;
  resume(): void;
  /** Runs one program now, while paused. */
  look(program: "git" | "npm"): Promise<void>;
  /** Programs that ran so far, and that something planted was run by one of them. */
  readonly ran: number;
  readonly isHarmed: boolean;
  close(): Promise<void>;
}

const programs: Readonly<Record<string, readonly string[]>> = {
  git: ["git", "status", "--porcelain"],
  diff: ["git", "diff-files", "--stat"],
  nested: ["git", "-C", "vendor/lib", "status", "--porcelain"],
  list: ["ls", "-l"],
  read: ["cat", "README.md", "package.json"],
  npm: ["npm", "run", "-s", "noop"],
};
/** npm takes as long as all others together. */
const order = ["git", "list", "nested", "read", "diff", "git", "list", "nested", "read", "diff", "npm"];
/** A pause between two programs (ms), so that the commands have the machine for themselves most of the time. */
const betweenMs = 60;

/** Runs git, npm and small programs in turn in the real workspace, with a folder first in their PATH that everybody can write to. */
export function startOnlooker(world: World): Onlooker {
  let ran = 0;
  let isPaused = false;
  const end = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const env = {
    PATH: `${join(world.trap, "bin")}:${systemPath}`,
    HOME: world.onlookerHome,
    // The editor's git extension does the same, so that it never waits for a lock.
    GIT_OPTIONAL_LOCKS: "0",
    npm_config_update_notifier: "false",
    npm_config_cache: join(world.onlookerHome, "npm"),
  };
  const run = (name: string): Promise<void> => {
    const [program = "git", ...args] = programs[name] ?? [];
    const user = process.getuid?.() === 0 ? world.owner : {};
    return new Promise((resolve) => {
      const child = spawn(program, args, { cwd: world.workspace, env, stdio: "ignore", timeout: 60_000, ...user });
      const over = (): void => {
        ran += 1;
        resolve();
      };
      child.once("error", over);
      child.once("exit", over);
    });
  };
  const loop = (async () => {
    for (let turn = 0; !end.signal.aborted; turn += 1) {
      if (!isPaused) await (running = run(order[turn % order.length] ?? "git"));
      await new Promise((resolve) => setTimeout(resolve, betweenMs));
    }
  })();
  return {
    async pause() {
      isPaused = true;
      await running;
    },
    resume() {
      isPaused = false;
    },
    look: run,
    get ran() {
      return ran;
    },
    get isHarmed() {
      return existsSync(world.marker);
    },
    async close() {
      end.abort();
      await loop;
    },
  };
}
