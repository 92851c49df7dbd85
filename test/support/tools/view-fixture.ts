import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openOverlayView } from "../../../agent-server/sandbox/overlay/overlay-view.ts";
import {
  importCommits,
  type ImportResult,
  type OverlayView,
  openGit,
  readRefState,
  readRepositoryWork,
  type ReadWorkOptions,
  type RefState,
  type RepositoryWork,
} from "../../../agent-server/workspace/workspace.ts";
import { createGitFixture, type GitFixture, ownerEnv } from "./git-fixture.ts";

/** A repository, a task's view of it, and what takes commits from one to the other. */
export interface ViewFixture extends GitFixture {
  /** Git as a command of the task runs it. */
  inView(...args: string[]): string;
  /** A path as the view shows it. */
  viewPath(relative: string): string;
  writeInView(relative: string, content: string): void;
  /** The view's `.git`. */
  readonly merged: string;
  readonly upper: string;
  readWork(limits?: ReadWorkOptions["limits"]): Promise<RepositoryWork>;
  /** Does in the working tree what an accepted review does. */
  accept(work: RepositoryWork): void;
  importWork(work: RepositoryWork, options?: { allowRewrite?: boolean; onRecord?: () => void }): Promise<ImportResult>;
  /** Undoes the task and returns its conflicts. */
  undo(): Promise<readonly unknown[]>;
  closeView(): Promise<void>;
}

export const questId = "q1";
const { signal } = new AbortController();

interface Options {
  readonly base: string;
  readonly empty?: boolean;
  /** Runs in the repository before the view is opened. */
  readonly prepare?: (fixture: GitFixture) => void;
  /** Opens a linked work tree in place of the main one. */
  readonly linked?: boolean;
}

/** A view by a real overlay, in which commands run git. */
export async function createViewFixture(options: Options): Promise<ViewFixture> {
  const { fixture, common } = makeRepository(options);
  const lowers = [fixture.workspace, ...(options.linked === true ? [dirname(common)] : [])];
  const layers = lowers.map((lower, index) => ({ name: `layer${index}`, lower }));
  const view: OverlayView = await openOverlayView({
    sandbox: "bubblewrap",
    folder: join(options.base, "task"),
    layers,
    env: process.env,
    owner: undefined,
  });
  const layer = layers.at(-1) ?? { name: "", lower: "" };
  const [program = "", ...words] = view.enter;
  const inView = (...args: string[]): string =>
    execFileSync(program, [...words, "git", "-C", fixture.workspace, ...args], {
      encoding: "utf8",
      stdio: "pipe",
      env: ownerEnv(join(options.base, "home")),
    });
  const first = layers[0] ?? layer;
  return complete(fixture, {
    inView,
    shown: view.merged(first),
    merged: join(view.merged(layer), ".git"),
    upper: join(view.upper(layer), ".git"),
    async closeView() {
      await view.close();
      // The kernel's own folder is closed to its owner, who could not remove it.
      for (const { name } of layers) chmodSync(join(options.base, "task", name, "work/work"), 0o700);
    },
  });
}

/** A view by a plain copy, which a test can fill with what no git would write. */
export function createCopiedView(options: Options): Promise<ViewFixture> {
  const { fixture } = makeRepository(options);
  const copy = join(options.base, "copy");
  cpSync(fixture.workspace, copy, { recursive: true, preserveTimestamps: true });
  return complete(fixture, {
    inView: (...args) => fixture.gitIn(copy, ...args),
    shown: copy,
    merged: join(copy, ".git"),
    upper: join(copy, ".git"),
    closeView: () => Promise.resolve(),
  });
}

function makeRepository({ base, empty, prepare, linked }: Options): { fixture: GitFixture; common: string } {
  const home = join(base, "home");
  const main = createGitFixture({ base, home, empty: empty === true });
  if (empty === true) main.git("init", "-q", "-b", "main");
  prepare?.(main);
  const common = join(main.workspace, ".git");
  if (linked !== true) return { fixture: main, common };
  const workspace = join(base, "linked");
  main.git("worktree", "add", "-q", "-b", "linked", workspace);
  main.close();
  return { fixture: createGitFixture({ base, home, workspace, empty: true }), common };
}

async function complete(
  fixture: GitFixture,
  view: Pick<ViewFixture, "inView" | "merged" | "upper" | "closeView"> & { shown: string },
): Promise<ViewFixture> {
  const { merged, upper, shown } = view;
  fixture.answer("allow_once");
  const start: RefState = await readRefState(await openGit(fixture.workspace, signal));
  const viewPath = (relative: string): string => join(shown, relative);
  return {
    ...fixture,
    ...view,
    viewPath,
    writeInView(relative, content) {
      mkdirSync(dirname(viewPath(relative)), { recursive: true });
      writeFileSync(viewPath(relative), content);
    },
    readWork: async (limits) => {
      const git = await openGit(fixture.workspace, signal);
      return readRepositoryWork({ git, base: start, merged, upper, signal, ...(limits === undefined ? {} : { limits }) });
    },
    accept(work) {
      const inView = work.paths.filter((path) => isFile(viewPath(path)));
      for (const path of work.paths)
        if (isFile(fixture.path(path)) || inView.includes(path)) rmSync(fixture.path(path), { recursive: true, force: true });
      for (const path of inView) {
        mkdirSync(dirname(fixture.path(path)), { recursive: true });
        cpSync(viewPath(path), fixture.path(path));
      }
    },
    importWork: async (work, options = {}) =>
      importCommits(work, {
        git: await openGit(fixture.workspace, signal),
        record(move) {
          const id = fixture.tools.workspace.moves.record({ questId, receiptId: "r1", move });
          options.onRecord?.();
          return () => fixture.tools.workspace.moves.takenBack(id);
        },
        ...{ upper, allowRewrite: options.allowRewrite ?? false, expectFiles: false, signal },
      }),
    undo: async () => (await fixture.tools.checkpoints.restore({ questId })).conflicts,
  };
}

function isFile(path: string): boolean {
  try {
    return !lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Everything that a repository consists of, besides loose objects and logs, which an import may add. The index is compared by what it lists.
 */
export function repositoryState(fixture: GitFixture, common = join(fixture.workspace, ".git")): Record<string, string> {
  const state: Record<string, string> = { index: fixture.git("ls-files", "--stage") };
  const visit = (path: string): void => {
    for (const name of readdirSync(join(common, path)).sort()) {
      const inner = path === "" ? name : `${path}/${name}`;
      if (/^(?:objects\/[0-9a-f]{2}|(?:worktrees\/[^/]+\/)?(?:logs|index))$/.test(inner)) continue;
      const stats = lstatSync(join(common, inner));
      const mode = (stats.mode & 0o7777).toString(8);
      if (stats.isDirectory()) {
        state[inner] = `folder ${mode}`;
        visit(inner);
      } else
        state[inner] = stats.isSymbolicLink()
          ? `link ${readlinkSync(join(common, inner))}`
          : `${mode} ${readFileSync(join(common, inner), "latin1")}`;
    }
  };
  visit("");
  return state;
}
