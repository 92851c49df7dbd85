import { type ActionContext, actionContextOf, intentOf } from "../contract/action.ts";
import type { Governance } from "../governance/governance.ts";
import {
  type AcceptedText,
  type AcceptedWhole,
  type ApplyAccepted,
  changeMode,
  encodeText,
  fileOutcomesOf,
  fileProvider,
  type ObjectStore,
  putEntry,
  unifiedDiff,
  type WorkspaceFiles,
} from "../workspace/workspace.ts";
import type { Action } from "./action.ts";
import { entryStep } from "./entry-step.ts";
import type { ExecutionPipeline } from "./pipeline.ts";

/** The part of an action that depends on the kind of content. */
type Write = Pick<Action<unknown>, "steps" | "touches" | "run"> & { readonly isDeletion: boolean; readonly detail: string };

/**
 * Writes accepted changes through the pipeline. What the user reviewed is not asked again; what posture or mode accept is authorized like
 * an edit.
 */
export function createApplyAccepted(deps: {
  readonly files: WorkspaceFiles;
  readonly objects: Pick<ObjectStore, "get">;
  readonly governance: Pick<Governance, "evaluate">;
  readonly pipeline: ExecutionPipeline;
}): ApplyAccepted {
  const { files, objects, pipeline } = deps;
  const writeOf = (accepted: AcceptedText | AcceptedWhole): Write => ("image" in accepted ? wholeWrite(accepted) : textWrite(accepted));

  function textWrite({ change, file, current, text }: AcceptedText): Write {
    const mode = text === null ? null : change.mode;
    return {
      isDeletion: text === null,
      steps: [{ capability: "file_ops", action: text === null ? "delete" : "write", args: { path: file.asked, absolute: file.absolute } }],
      detail: unifiedDiff(change.path.display, current.text, text),
      touches: [
        { path: file, planned: text === null ? null : encodeText(text, current.encoding), ...(mode === null ? {} : { plannedMode: mode }) },
      ],
      run: async () => {
        const written = await files.write(file, current, text);
        if (mode !== null) await changeMode(file, mode);
        return { value: written, outputs: { changedFiles: [written] }, fileOutcomes: fileOutcomesOf(file, written) };
      },
    };
  }

  function wholeWrite({ file, current, image }: AcceptedWhole): Write {
    const facts = { path: file.display, before: current?.hash ?? null, after: image?.hash ?? null, via: "disk" };
    return {
      isDeletion: image === null,
      steps: [entryStep({ file, current, target: image })],
      detail: file.display,
      touches: [{ path: file, plannedImage: image }],
      run: async () => {
        await putEntry(file, current, image, objects);
        return { value: facts, outputs: { changedFiles: [facts] } };
      },
    };
  }

  return {
    isAllowed: (accepted, by) => writeOf(accepted).steps.every((step) => deps.governance.evaluate(intentOf(step, by)).verdict === "allow"),

    async apply(accepted, by) {
      const { change } = accepted;
      const { isDeletion, detail, ...write } = writeOf(accepted);
      const owner: ActionContext = {
        ...{ actor: "owner", quest: change.questId, parent: change.receiptId, mode: "normal", signal: new AbortController().signal },
      };
      await pipeline.execute({
        ...(by === null ? owner : actionContextOf(by)),
        actionType: "file_op",
        actionName: isDeletion ? "file_delete" : "file_write",
        inputs: { path: change.path.display, changeId: change.id },
        question: { title: `Accept the change to ${change.path.display}`, detail },
        consent: by === null ? "review" : "ask",
        provider: fileProvider,
        locksHeld: true,
        ...write,
      });
    },
  };
}
