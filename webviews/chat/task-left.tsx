import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { GeneratedGroup, TaskLeft } from "../../agent-server/contract/changes.ts";
import { isCancelled, problemOf } from "../shared/bridge.ts";
import { Button, Icon, Problem } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";

const shownGroups = 4;

/** Summarizes generated files: "node_modules (+3,412), dist (+12 ~2)". */
export function groupsText(groups: readonly GeneratedGroup[]): string {
  const texts = groups.slice(0, shownGroups).map(({ name, created, modified, deleted }) => {
    const counts = [
      ["+", created],
      ["~", modified],
      ["−", deleted],
    ] as const;
    const words = counts.filter(([, files]) => files > 0).map(([mark, files]) => `${mark}${files.toLocaleString()}`);
    return `${name} (${words.join(" ")})`;
  });
  const more = groups.length - texts.length;
  return [...texts, ...(more > 0 ? [count(more, "{0} more folder", "{0} more folders")] : [])].join(", ");
}

/** What the task has besides its proposed changes: generated files, which the user applies or discards, files of its copy, and commits. */
export function TaskLeftRow({ chat }: { chat: Chat }): JSX.Element | null {
  const questId = chat.conversation.questId.value;
  const generation = chat.store.generation.value;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const left = chat.store.left.value.get(questId ?? "");
  useEffect(() => {
    setProblem(null);
    if (questId === null) return undefined;
    const asked = new AbortController();
    chat.bridge
      .call("changes.left", { questId }, asked.signal)
      .then((found) => chat.store.putLeft(found))
      // Without an answer there is nothing to show; an event brings it later.
      .catch((error: unknown) => (isCancelled(error) ? undefined : setProblem(problemOf(error))));
    return () => asked.abort();
  }, [questId, generation, chat]);
  if (questId === null || left === undefined) return null;
  if (left.generated === null && left.commits.length === 0 && left.inCopy.length === 0 && problem === null) return null;
  const decide = (decision: "accept" | "reject"): void => {
    setBusy(true);
    setProblem(null);
    chat.bridge
      .call("changes.decideGenerated", { questId, decision })
      .then((now) => chat.store.putLeft(now))
      .catch((error: unknown) => setProblem(problemOf(error)))
      .finally(() => setBusy(false));
  };
  return (
    <section class="task-left" aria-label={t("Not in your workspace")}>
      {left.generated !== null && <GeneratedRow generated={left.generated} busy={busy} decide={decide} />}
      {left.inCopy.length > 0 && (
        <div class="task-left-row" data-testid="in-copy">
          <Icon name="package" />
          <span
            class="task-left-text"
            title={t("Files that git ignores or that are too large. Later commands of the task use them; they never reach your workspace.")}
          >
            {t("Stays in the container's copy: {0}", groupsText(left.inCopy))}
          </span>
        </div>
      )}
      {left.commits.length > 0 && (
        <div class="task-left-row" data-testid="task-commits">
          <Icon name="git-commit" />
          <span class="task-left-text">
            {t("Commits, taken over when you have accepted their changes: {0}", left.commits.map(({ subject }) => subject).join("; "))}
          </span>
        </div>
      )}
      {problem !== null && <Problem text={problem} />}
    </section>
  );
}

function GeneratedRow({
  generated,
  busy,
  decide,
}: {
  generated: NonNullable<TaskLeft["generated"]>;
  busy: boolean;
  decide: (decision: "accept" | "reject") => void;
}): JSX.Element {
  return (
    <div class="task-left-row" data-testid="generated">
      <Icon name="package" />
      <span class="task-left-text" title={t("Files that git ignores. They reach your workspace together with the task's other changes.")}>
        {t("Generated: {0}", groupsText(generated.groups))}
      </span>
      <span class="actions">
        <Button testId="apply-generated" disabled={busy} onClick={() => decide("accept")} label={t("Apply Generated Files")}>
          {t("Apply")}
        </Button>
        <Button
          testId="discard-generated"
          kind="link"
          disabled={busy}
          onClick={() => decide("reject")}
          label={t("Discard Generated Files")}
        >
          {t("Discard")}
        </Button>
      </span>
    </div>
  );
}
