import type { Change, GeneratedGroup } from "../../contract/changes.ts";
import type { ToolPart } from "../../contract/chat.ts";
import { displayPath } from "../byte-path.ts";
import type { RepositoryWork } from "./repository-work.ts";
import type { TaskOutcome } from "./task-outcome.ts";

/** Names in one line for the model. */
const maxNames = 30;
/** Paths of each kind on a receipt. */
const maxOnReceipt = 200;

/** Describes what a command of a task left, for the model; empty when nothing changed. */
export function describeOutcome(outcome: TaskOutcome): string {
  const { proposed, tooMany, secret, generated, repositories, special, inCopy, tooLarge, work } = outcome;
  const marks = { create: "+", modify: "~", delete: "-" } as const;
  const line = ({ kind, path, caution }: Change): string =>
    `${marks[kind]} ${path}${caution === undefined ? "" : ` (reviewed on its own: ${caution})`}`;
  return [
    ...(proposed.length === 0
      ? []
      : [
          `[Proposed, waiting for the user's review: ${proposed.length} ${proposed.length === 1 ? "change" : "changes"}. You and your commands already see them, so continue.]`,
          ...proposed.slice(0, maxNames).map(line),
          ...(proposed.length > maxNames ? [`… and ${proposed.length - maxNames} more`] : []),
        ]),
    ...(tooMany === null
      ? []
      : [
          `[Not proposed: ${tooMany.toLocaleString("en-US")} changed files, which are too many to review. They stay in this task. Delete them, or propose a .gitignore that covers generated folders; once the user accepts it, the next command sorts them again.]`,
        ]),
    ...(generated === null ? [] : [`[Generated files of this task, which your commands see: ${describeGroups(generated.groups)}.]`]),
    ...(inCopy.length === 0
      ? []
      : [
          `[Ignored by git, so these files stay in the task's copy of the workspace, for your next commands; the user's workspace never gets them: ${describeGroups(inCopy)}.]`,
        ]),
    ...(work === null ? [] : describeWork(work)),
    ...note("Not proposed, because they may contain secrets; use write_file", secret),
    ...note("Not taken over: metadata of other repositories", repositories),
    ...note("Not taken over: pipes, sockets and devices", special),
    ...note("Not taken over, because they are too large; they stay in the task's copy of the workspace", tooLarge),
  ].join("\n");
}

/** Generated files in a few words: "node_modules (+3,412), dist (+12, ~2)". */
export function describeGroups(groups: readonly GeneratedGroup[]): string {
  const shown = groups.slice(0, 5).map(({ name, created, modified, deleted }) => {
    const counts = [
      ["+", created],
      ["~", modified],
      ["-", deleted],
    ] as const;
    const words = counts.filter(([, count]) => count > 0).map(([mark, count]) => `${mark}${count.toLocaleString("en-US")}`);
    return `${displayPath(name)} (${words.join(", ")})`;
  });
  return [...shown, ...(groups.length > 5 ? [`${groups.length - 5} more folders`] : [])].join(", ");
}

function describeWork({ commits, refused, dropped }: RepositoryWork): string[] {
  return [
    ...(commits.length === 0
      ? []
      : [
          `[Commits of this task: ${commits
            .slice(0, 5)
            .map(({ subject }) => subject)
            .join("; ")}. They reach the user's repository once the changes in them are accepted.]`,
        ]),
    ...(refused.length === 0 ? [] : [`[Not taken over: ${refused.map(({ ref, problem }) => `${ref} (${problem})`).join(", ")}.]`]),
    ...(dropped.length === 0 ? [] : [`[Not taken over from .git: ${dropped.map(({ what }) => what).join(", ")}.]`]),
  ];
}

function note(words: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const more = paths.length > 10 ? ` and ${paths.length - 10} more` : "";
  return [`[${words}: ${paths.slice(0, 10).map(displayPath).join(", ")}${more}.]`];
}

/** What a command left, for its receipt. */
export function taskOutputs(outcome: TaskOutcome): Record<string, unknown> {
  const { proposed, tooMany, secret, generated, repositories, special, inCopy, tooLarge, work } = outcome;
  const listed = (paths: readonly string[]): readonly string[] => paths.slice(0, maxOnReceipt).map(displayPath);
  return {
    proposedTotal: proposed.length,
    ...(tooMany === null ? {} : { tooMany }),
    ...(generated === null ? {} : { generated: generated.groups }),
    ...(work === null ? {} : { commits: work.commits.slice(0, 20).map(({ hash, subject }) => ({ hash, subject })), dropped: work.dropped }),
    ...(secret.length === 0 ? {} : { secret: listed(secret) }),
    ...(repositories.length === 0 ? {} : { repositories: listed(repositories) }),
    ...(special.length === 0 ? {} : { special: listed(special) }),
    ...(inCopy.length === 0 ? {} : { inCopy }),
    ...(tooLarge.length === 0 ? {} : { tooLarge: listed(tooLarge) }),
    ...(proposed.length === 0
      ? {}
      : {
          proposed: proposed
            .slice(0, maxOnReceipt)
            .map(({ id, path, kind, caution }) => ({ id, path, kind, ...(caution === undefined ? {} : { caution }) })),
        }),
  };
}

/** What a command left, for its card. */
export function toProposed({ proposed, tooMany, generated }: TaskOutcome): NonNullable<ToolPart["proposed"]> {
  return {
    changeIds: proposed.slice(0, maxOnReceipt).map(({ id }) => id),
    total: proposed.length,
    generated: [...(generated?.groups ?? [])],
    ...(tooMany === null ? {} : { tooMany }),
  };
}
