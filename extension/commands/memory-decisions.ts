import * as vscode from "vscode";
import type { MemoryCommit, MemoryDiff, QuarantineEntry } from "../../agent-server/contract/memory.ts";
import type { ParamsIn } from "../../agent-server/contract/table.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { askOwner, ownerAct, sayAndOffer } from "./ask-owner.ts";
import { type Commands, field } from "./commands.ts";
import { targetText } from "./memory-words.ts";

/** Changes, and characters of one, that a dialog shows; the panel has all of them. */
const changesShown = 6;
const longestText = 300;
/** Milliseconds in which what the owner did in the panel is taken back without a dialog. */
const undoMs = 600_000;
const listed = 50;

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > longestText ? `${line.slice(0, longestText)}…` : line;
}

function changeText({ before, after }: Pick<MemoryDiff, "before" | "after">): string {
  return [...(before === null ? [] : [`− ${shortened(before)}`]), ...(after === null ? [] : [`+ ${shortened(after)}`])].join("\n");
}

function changesText(diff: readonly MemoryDiff[]): string {
  const shown = diff.slice(0, changesShown).map(changeText);
  if (diff.length > changesShown) shown.push(vscode.l10n.t("and {0} more changes", diff.length - changesShown));
  return shown.join("\n");
}

function commitTitle(commit: MemoryCommit): string {
  const [first, ...others] = commit.diff;
  const text = first?.after ?? first?.before ?? null;
  const isOneChange = text !== null && others.length === 0 && commit.rollbackOf.length === 0;
  return shortened(isOneChange || commit.reason === "" ? (text ?? commit.id) : commit.reason);
}

function authorText(author: MemoryCommit["author"]): string {
  switch (author) {
    case "owner":
      return vscode.l10n.t("by you");
    case "agent":
      return vscode.l10n.t("by Lancelot");
    case "system":
      return vscode.l10n.t("by the host");
  }
}

/** What only the owner decides about memory. Each is asked in the editor's own dialog. */
export function memoryDecisionCommands(host: AgentHost): Commands {
  const gone = () => new Error(vscode.l10n.t("That is no longer there; it may have been decided elsewhere."));
  const commits = async (): Promise<MemoryCommit[]> => (await host.call("memory.commits", { limit: listed })).items;
  const findEntry = async (id: string): Promise<QuarantineEntry> => {
    for (const status of ["pending", "denied"] as const) {
      const { items } = await host.call("memory.quarantine", { status, limit: 200 });
      const entry = items.find((candidate) => candidate.id === id);
      if (entry !== undefined) return entry;
    }
    throw gone();
  };
  const show = (commitId: string) => async () => {
    await vscode.commands.executeCommand("lancelot.openMemory", { commitId });
  };
  const sayRolledBack = (commitId: string | null) => {
    const said = vscode.l10n.t("Rolled back. It can be taken back in turn.");
    if (commitId === null) void vscode.window.showInformationMessage(said);
    else sayAndOffer(said, vscode.l10n.t("Show the commit"), show(commitId));
  };

  const promote = async (entry: QuarantineEntry) => {
    const problems = entry.verifier.problems.map(({ message }) => `• ${message}`).join("\n");
    if (entry.status === "pending" && !entry.verifier.ok) throw new Error(vscode.l10n.t("The checks hold it back: {0}", problems));
    const answer = await askOwner({
      question: vscode.l10n.t("Let this into memory?"),
      detail: [
        changeText({ before: entry.current, after: entry.op === "delete" ? null : entry.content }),
        vscode.l10n.t("Reason: {0}", entry.reason),
        vscode.l10n.t("It goes to “{0}”, and so into prompts. It can be rolled back.", targetText(entry.target)),
      ].join("\n\n"),
      yes: vscode.l10n.t("Let it in"),
    });
    if (answer !== "yes") return;
    if (entry.status === "pending") {
      const done = await ownerAct(() => host.call("memory.promote", { id: entry.id }));
      if (done !== null) sayAndOffer(vscode.l10n.t("It is remembered now."), vscode.l10n.t("Show the commit"), show(done.commitId));
      return;
    }
    if (entry.content === null) throw gone();
    // What was denied stays so: it is the owner's own edit now.
    const isThere = entry.itemId !== null && entry.current !== null;
    const { commitId, notes } = await host.call("memory.edit", {
      ...{ op: isThere ? "replace" : "insert", target: entry.target, namespace: entry.namespace, kind: entry.kind },
      ...{ content: entry.content, confidence: 1, reason: entry.reason, provenance: { source: "user" }, tags: entry.tags },
      ...(isThere && entry.itemId !== null ? { selector: entry.itemId } : {}),
    });
    sayAndOffer([vscode.l10n.t("It is remembered now."), ...notes].join(" "), vscode.l10n.t("Show the commit"), show(commitId));
  };

  const askReason = (title: string) =>
    vscode.window.showInputBox({
      title,
      prompt: vscode.l10n.t("Why? It is kept with the commit."),
      value: vscode.l10n.t("Rolled back by the owner."),
      ignoreFocusOut: true,
      validateInput: (text) => (text.trim() === "" ? vscode.l10n.t("A rollback needs a reason.") : undefined),
    });

  const rollBack = async (wish: { commit: MemoryCommit; itemId?: string } | { last: readonly MemoryCommit[] }) => {
    const many = "last" in wish;
    const diff = many
      ? wish.last.flatMap((commit) => commit.diff)
      : wish.commit.diff.filter(({ itemId }) => wish.itemId === undefined || itemId === wish.itemId);
    if (!many && wish.itemId === undefined && wish.commit.problem !== null)
      throw new Error(vscode.l10n.t("It cannot be rolled back: {0}", wish.commit.problem));
    const question = many
      ? vscode.l10n.t("Roll back the last {0} commits of memory?", wish.last.length)
      : wish.itemId === undefined
        ? vscode.l10n.t("Roll back “{0}”?", commitTitle(wish.commit))
        : vscode.l10n.t("Roll back this one change of “{0}”?", commitTitle(wish.commit));
    const reason = await askReason(question);
    if (reason === undefined) return;
    const answer = await askOwner({
      question,
      detail: `${vscode.l10n.t("What it changed is put back exactly as it was before. Later changes of other entries stay.")}\n\n${changesText(
        diff.map((one) => ({ ...one, before: one.after, after: one.before })),
      )}`,
      yes: vscode.l10n.t("Roll back"),
    });
    if (answer !== "yes") return;
    const params: ParamsIn<"memory.rollback"> = many
      ? { last: wish.last.length, reason: reason.trim() }
      : { commitId: wish.commit.id, reason: reason.trim(), ...(wish.itemId === undefined ? {} : { itemIds: [wish.itemId] }) };
    const done = await ownerAct(() => host.call("memory.rollback", params));
    if (done !== null) sayRolledBack(done.commitId);
  };

  const pickLast = async () => {
    // As the host counts them: neither what it notes by itself of each task, nor rollbacks, nor what changed nothing.
    const open = (await commits()).filter(
      ({ status, author, changes, rollbackOf }) => status === "committed" && author !== "system" && changes > 0 && rollbackOf.length === 0,
    );
    if (open.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("There is no commit of memory to roll back."));
      return;
    }
    const picked = await vscode.window.showQuickPick(
      open.map((commit, index) => ({
        label: index === 0 ? vscode.l10n.t("The last one") : vscode.l10n.t("The last {0}", index + 1),
        description: vscode.l10n.t("back to before: {0}", commitTitle(commit)),
        detail: `${authorText(commit.author)}, ${new Date(commit.finishedAt ?? commit.createdAt).toLocaleString(vscode.env.language)}`,
        last: open.slice(0, index + 1),
      })),
      { title: vscode.l10n.t("Roll back the last commits of memory"), matchOnDescription: true },
    );
    if (picked !== undefined) await rollBack({ last: picked.last });
  };

  return {
    async "lancelot.promoteMemory"(argument) {
      const id = typeof argument === "object" ? field(argument, "id") : undefined;
      if (id !== undefined) await promote(await findEntry(id));
    },
    async "lancelot.rollBackMemory"(argument) {
      const given = typeof argument === "object" ? argument : undefined;
      const commitId = field(given, "commitId");
      if (commitId === undefined) return pickLast();
      const commit = (await commits()).find(({ id }) => id === commitId);
      if (commit === undefined) throw gone();
      const itemId = field(given, "itemId");
      await rollBack({ commit, ...(itemId === undefined ? {} : { itemId }) });
    },
    async "lancelot.rollBackLastMemory"() {
      const open = (await commits()).filter(({ status }) => status === "committed");
      // What the host notes by itself after each task is not what the owner means, unless there is nothing else.
      const last = open.find(({ author }) => author !== "system") ?? open[0];
      if (last === undefined) void vscode.window.showInformationMessage(vscode.l10n.t("There is no commit of memory to roll back."));
      else await rollBack({ commit: last });
    },
    async "lancelot.undoMemory"(argument) {
      const commitId = typeof argument === "object" ? field(argument, "commitId") : undefined;
      const commit = (await commits()).find(({ id }) => id === commitId);
      if (commit === undefined) throw gone();
      const age = Date.now() - Date.parse(commit.finishedAt ?? commit.createdAt);
      // A page may ask for this: all but what the owner's own hand did just now is asked like any other rollback.
      if (commit.author !== "owner" || commit.rollbackOf.length > 0 || age > undoMs) return rollBack({ commit });
      const done = await ownerAct(() =>
        host.call("memory.rollback", { commitId: commit.id, reason: vscode.l10n.t("Undone by the owner.") }),
      );
      if (done !== null) sayRolledBack(done.commitId);
    },
  };
}
