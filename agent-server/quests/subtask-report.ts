import type { JoinedChanges } from "../execution/execution.ts";

/** Names in one line for the model. */
const maxNames = 30;

/** What became of the proposals of a sub-task, for the model of its task. */
export function describeJoined({ joined, conflicts, outside }: JoinedChanges): string {
  const applied = joined.filter(({ isApplied }) => isApplied);
  const proposed = joined.filter(({ isApplied }) => !isApplied);
  return [
    joined.length + conflicts.length + outside.length === 0 ? "[The sub-task changed no files.]" : "",
    note("Changes of the sub-task that are now proposed with yours, waiting for the user's review", proposed),
    note("Changes of the sub-task that were applied to the workspace", applied),
    note(
      "Not used, because the sub-task may not change them",
      outside.map((path) => ({ path })),
    ),
    ...conflicts.map(
      ({ path, diff }) =>
        `[Not merged: ${path}. It was changed in the task too, and your version stays. Read it, and make the change yourself if it is needed.]${diff === "" ? "" : `\n${diff}`}`,
    ),
  ]
    .filter((text) => text !== "")
    .join("\n");
}

/** What stays behind in the copy of a sub-task. */
export function describeLeft({ left: { generated, commits } }: JoinedChanges): string {
  const named = (names: readonly string[]) => names.map((path) => ({ path }));
  return [
    note("Generated files of the sub-task, which you do not have; run its command again if you need them", named(generated)),
    note("Commits of the sub-task, which were not taken over", named(commits)),
  ]
    .filter((text) => text !== "")
    .join("\n");
}

function note(words: string, items: readonly { readonly path: string }[]): string {
  if (items.length === 0) return "";
  const more = items.length > maxNames ? ` and ${String(items.length - maxNames)} more` : "";
  return `[${words}: ${items
    .slice(0, maxNames)
    .map(({ path }) => path)
    .join(", ")}${more}.]`;
}
