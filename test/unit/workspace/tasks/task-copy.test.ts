import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Storage } from "../../../../agent-server/storage/storage.ts";
import { createTaskCopies } from "../../../../agent-server/workspace/tasks/task-copy.ts";

let base: string;
let proposed: string[];
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-copies-")));
  proposed = [];
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Storage whose changes table has a pending change of quest-1 for each proposed path. */
const storage = {
  db: {
    prepare: () => ({
      get: (questId: string, absolute: string) => (questId === "quest-1" && proposed.includes(absolute) ? {} : undefined),
    }),
  },
} as unknown as Storage;

const hasCopy = (questId: string, path: string): boolean =>
  createTaskCopies(storage, join(base, "ws"), (id) => join(base, "tasks", id))(questId, join(base, "ws", path));

function inLayer(path: string): string {
  const at = join(base, "tasks/quest-1/workspace/upper", path);
  mkdirSync(dirname(at), { recursive: true });
  return at;
}

describe("a task has its own version", () => {
  it("of a file that it proposes to change, and of none that another task proposes", () => {
    proposed = [join(base, "ws/a.sh")];
    expect(hasCopy("quest-1", "a.sh")).toBe(true);
    expect(hasCopy("quest-1", "b.sh")).toBe(false);
    expect(hasCopy("quest-2", "a.sh")).toBe(false);
  });

  it.each<[string, () => void, boolean]>([
    ["a file that its commands wrote", () => writeFileSync(inLayer("src/a.sh"), ""), true],
    ["a file below a link", () => symlinkSync("elsewhere", inLayer("src")), true],
    ["a file below what became a file", () => writeFileSync(inLayer("src"), ""), true],
    ["a file beside one that they wrote", () => writeFileSync(inLayer("src/b.sh"), ""), false],
    ["a file of which the layer has only the folder", () => mkdirSync(inLayer("src")), false],
    ["a file without a layer", () => undefined, false],
  ])("%s: in its layer", (_name, arrange, expected) => {
    arrange();
    expect(hasCopy("quest-1", "src/a.sh")).toBe(expected);
  });

  it("of a file that cannot be looked at", () => {
    writeFileSync(inLayer("src/a.sh"), "");
    // Its name is too long for the system, for root too.
    expect(hasCopy("quest-1", `src/${"a".repeat(300)}.sh`)).toBe(true);
  });

  it("of everything outside the workspace, where it has folders of its own", () => {
    for (const path of ["../tmp/a.sh", "..", "../ws-evil/a.sh", "."]) expect(hasCopy("quest-1", path)).toBe(true);
  });
});
