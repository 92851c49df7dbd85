import { type AcceptedWrite, encodeText, fileOutcomesOf, fileProvider, unifiedDiff, type WorkspaceFiles } from "../workspace/workspace.ts";
import type { ExecutionPipeline } from "./pipeline.ts";

/**
 * Writes accepted hunks of a proposed change through the pipeline. The user reviewed exactly this text, so nothing is asked again.
 * @throws LancelotError as `ExecutionPipeline.execute`; `conflict` when the file changed since it was read.
 */
export function createApplyAccepted({
  files,
  pipeline,
}: {
  readonly files: WorkspaceFiles;
  readonly pipeline: ExecutionPipeline;
}): (write: AcceptedWrite) => Promise<void> {
  return async ({ change, file, current, text }) => {
    const action = text === null ? "delete" : "write";
    await pipeline.execute({
      actor: "owner",
      quest: change.questId,
      parent: change.receiptId,
      mode: "normal",
      signal: new AbortController().signal,
      actionType: "file_op",
      actionName: `file_${action}`,
      inputs: { path: change.path.display, changeId: change.id },
      steps: [{ capability: "file_ops", action, args: { path: file.asked, absolute: file.absolute } }],
      question: { title: `Accept the change to ${change.path.display}`, detail: unifiedDiff(change.path.display, current.text, text) },
      consent: "review",
      touches: [{ path: file, planned: text === null ? null : encodeText(text, current.encoding) }],
      provider: fileProvider,
      locksHeld: true,
      run: async () => {
        const written = await files.write(file, current, text);
        return { value: written, outputs: { changedFiles: [written] }, fileOutcomes: fileOutcomesOf(file, written) };
      },
    });
  };
}
