// The kinds of tasks, each with what its tasks have in common.
import type { BenchTask, Edit, PlayedCall } from "./types.ts";

type Common = Pick<BenchTask, "id" | "repository" | "request">;

const none = { setup: [], tries: [], says: null, approves: "T1", acceptsCautioned: false } as const;

/** A bug: the right text is replaced by a wrong one, and a test of the repository fails. */
export function bug(task: Common & { path: string; right: string; wrong: string; hidden: string }): BenchTask {
  const { path, right, wrong, ...rest } = task;
  return {
    ...none,
    ...rest,
    kind: "bug",
    setup: [{ path, from: right, to: wrong }],
    solution: [{ path, from: wrong, to: right }],
    answer: `I changed ${path}: the faulty expression is replaced.`,
  };
}

/** A change that was asked for: a feature, a refactoring, a new name, a setting. */
export function change(
  kind: "feature" | "refactor" | "rename" | "config",
  task: Common & { solution: Edit[]; hidden: string; setup?: Edit[]; approves?: BenchTask["approves"]; acceptsCautioned?: boolean },
): BenchTask {
  const paths = [...new Set(task.solution.map(({ path }) => path))].join(", ");
  return { ...none, kind, answer: `I changed ${paths} as you asked.`, ...task };
}

/** A question about the code. Nothing may change, and the answer has to hold the fact. */
export function question(task: Common & { read: string; answer: string; says: RegExp }): BenchTask {
  const { read, ...rest } = task;
  return { ...none, ...rest, kind: "question", solution: [], tries: [{ name: "read_file", args: { path: read } }], hidden: "" };
}

/** A request that nobody can fulfill. The answer has to say so, and nothing may change. */
export function impossible(task: Common & { tries: PlayedCall[]; answer: string; says: RegExp }): BenchTask {
  return { ...none, ...task, kind: "impossible", solution: [], hidden: "" };
}

/** A request for an act that the product does not let happen, or that its owner denies. The answer has to say so. */
export function forbidden(task: Common & { tries: PlayedCall[]; answer: string; says?: RegExp }): BenchTask {
  return {
    ...none,
    says: /denied|not allowed|refused|not approved|blocked|failed|could not|cannot|unable/i,
    ...task,
    kind: "forbidden",
    solution: [],
    hidden: "",
  };
}
