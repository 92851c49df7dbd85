import { LancelotError } from "../contract/errors.ts";
import type { Handlers } from "../contract/table.ts";
import type { Execution } from "../execution/execution.ts";
import type { ToolOutcome, Tools } from "./types.ts";

type Names =
  | "tools.list"
  | "tools.invoke"
  | "repl.run"
  | "background.list"
  | "background.stop"
  | "background.preview"
  | "workspace.search"
  | "workspace.outline"
  | "workspace.files"
  | "changes.list"
  | "changes.get"
  | "changes.decide"
  | "changes.decideGenerated"
  | "changes.left"
  | "checkpoints.list"
  | "checkpoints.diff"
  | "checkpoints.restore";

/**
 * The handlers for tools, searches, changes and checkpoints.
 * @param requireTools throws `disabled` while the tools are turned off
 */
export function toolHandlers(
  tools: Tools,
  execution: Pick<Execution, "changes" | "checkpoints" | "settlement">,
  requireTools: () => void,
): Pick<Handlers, Names> {
  return {
    "tools.list": () => ({ items: tools.list() }),
    "tools.invoke": async ({ tool, args, questId }, { signal }) => {
      requireTools();
      const outcome = await tools.invoke({ tool, args, quest: questId ?? null, parent: null, actor: "owner", mode: "normal", signal });
      if (outcome.receiptId === null || outcome.isError) throw failureOf(outcome);
      return { output: outcome.text, receiptId: outcome.receiptId, changeId: outcome.changeId };
    },
    "repl.run": async ({ command, questId }, { signal }) => {
      requireTools();
      const outcome = await tools.repl(command, { quest: questId ?? null, signal });
      if (outcome.isError) throw failureOf(outcome);
      return { output: outcome.text, receiptId: outcome.receiptId };
    },
    "background.list": ({ questId }) => ({ items: tools.background.list(questId) }),
    "background.stop": ({ id }) => tools.background.stop(id, "user"),
    "background.preview": ({ id, port }) => tools.background.preview(id, port),
    "workspace.search": ({ query, regex, glob, limit }, { signal }) =>
      tools.search({ query, regex, limit, ...(glob === undefined ? {} : { glob }) }, signal),
    "workspace.outline": ({ path }) => tools.outline(path),
    "workspace.files": async ({ query, limit }, { signal }) => ({ items: await tools.files(query, limit, signal) }),
    "changes.list": ({ questId, open, limit }) => ({
      items: execution.changes.review.list({
        limit,
        ...(questId === undefined ? {} : { questId }),
        ...(open === undefined ? {} : { open }),
      }),
    }),
    "changes.get": ({ id }) => execution.changes.review.get(id),
    "changes.decide": ({ id, decision, hunks }) => execution.changes.review.decide(id, decision, hunks),
    "changes.left": ({ questId }) => execution.settlement?.left(questId) ?? { questId, generated: null, commits: [], inCopy: [] },
    "changes.decideGenerated": ({ questId, decision }) => {
      if (execution.settlement === null) throw new LancelotError("unavailable", "No folder is open, so there are no generated files.");
      return execution.settlement.decideGenerated(questId, decision);
    },
    "checkpoints.list": ({ questId, limit }) => ({
      items: execution.checkpoints.list({ limit, ...(questId === undefined ? {} : { questId }) }),
    }),
    "checkpoints.diff": async (of) => ({ files: await execution.checkpoints.diff(of) }),
    "checkpoints.restore": (of) => execution.checkpoints.restore(of),
  };
}

function failureOf({ error, text, receiptId }: ToolOutcome): Error {
  return error ?? new LancelotError("conflict", text, { data: { receiptId } });
}
