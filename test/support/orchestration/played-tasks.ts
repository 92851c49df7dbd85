// A handful of requests, one for each way through the orchestrator, and what a model does with each.
import type { Intent } from "../../../agent-server/contract/intent.ts";

interface PlayedWrite {
  path: string;
  content: string;
}

/** A request and the work of the played model on it. Paths are in the folder that the request names. */
export interface PlayedTask {
  id: TaskId;
  request: string;
  /** What the model says of the request when it is asked for its intent. */
  told: { intent: Intent; changes: boolean };
  /** The first answer announces the work without doing it. */
  announces?: string;
  reads?: string;
  writes: readonly PlayedWrite[];
  answer: string;
  /** What a report of the task says besides its writes. */
  claims: readonly { action: string; target?: string }[];
  /** A criterion of the plan's first step that only a model can judge. */
  judged?: string;
}

export const taskIds = ["question", "look", "edit", "uncertain", "steps", "risky", "true-claim", "false-claim", "announcement"] as const;
export type TaskId = (typeof taskIds)[number];

/** The file that every folder begins with. */
export const startFile = { name: "cart.js", text: "// Prices.\nexport const rate = 0.1;\n" };
export const lie = "I updated README.md and all 42 tests pass.";
export const announcement = "I'm working on it and will report back.";

/** The tasks in a folder of the workspace, which holds `startFile`. */
export function playedTasks(folder: string): PlayedTask[] {
  const cart = `${folder}/${startFile.name}`;
  const file = (name: string, content = `// ${name}\n`): PlayedWrite => ({ path: `${folder}/${name}`, content });
  const acts = { intent: "EXEC_REQUEST", changes: true } as const;
  const asks = { intent: "KNOWLEDGE_REQUEST", changes: false } as const;
  const notes = ["changes.md", "upgrade.md", "problems.md"].map((name) => file(name, `# ${name}\n`));
  return [
    {
      ...{ id: "question", request: `What does ${cart} do?`, told: asks, reads: cart, writes: [], claims: [] },
      answer: "It holds the rate of the discount.",
    },
    {
      ...{ id: "look", request: `List the files in ${folder}.`, told: acts, reads: cart, writes: [], claims: [] },
      answer: "There is one file.",
    },
    {
      ...{ id: "edit", request: `Fix the comment of ${cart}.`, told: acts, reads: cart, claims: [] },
      writes: [file(startFile.name, "// The discount.\nexport const rate = 0.1;\n")],
      answer: "The comment says what the constant is.",
    },
    {
      ...{ id: "uncertain", request: `Would it be good if ${cart} also exported a constant named limit?`, told: acts, claims: [] },
      writes: [file("limit.js", "export const limit = 100;\n")],
      answer: "Yes, and it is there now.",
    },
    {
      ...{ id: "steps", told: acts, writes: notes, claims: [] },
      request: `Write the notes of the release:\n${notes.map(({ path }, index) => `${String(index + 1)}. Write ${path} with what users need to know about this part of the release.`).join("\n")}`,
      answer: "The notes are written.",
    },
    {
      ...{ id: "risky", told: acts, reads: cart, claims: [], judged: "The script can be run twice without harm" },
      request: `Migrate the payments of ${cart} in production to the new rate with a script.`,
      writes: [file("migrate.js", "// Sets the new rate.\n")],
      answer: "The script is written. I have not run it.",
    },
    {
      ...{ id: "true-claim", request: `Create ${folder}/names.js with the names.`, told: acts, claims: [] },
      writes: [file("names.js", "export const names = [];\n")],
      answer: `I created ${folder}/names.js. I have not run the tests.`,
    },
    {
      ...{ id: "false-claim", request: `Update the README.md of ${folder}.`, told: acts, writes: [], answer: lie },
      claims: [{ action: "updated", target: "README.md" }],
    },
    {
      ...{ id: "announcement", request: `Create ${folder}/later.js with the dates.`, told: acts, claims: [] },
      announces: announcement,
      writes: [file("later.js", "export const dates = [];\n")],
      answer: "The file is written.",
    },
  ];
}
