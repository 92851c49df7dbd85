import { dirname } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { Decision } from "../contract/governance.ts";
import type { ActionType } from "../contract/receipts.ts";
import type { Tier } from "../contract/common.ts";
import type { Governance, OutcomeReport, OutcomeStep, Question, RefusedAction } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log } from "../security/security.ts";
import type { Boundary } from "./tier-boundary.ts";
import type { Checkpoints, FileImage, Touch } from "../workspace/checkpoints/checkpoints.ts";
import { isPlainFolder } from "../workspace/checkpoints/checkpoint-entries.ts";
import { brief, decisionOf, highestTier, receiptOf } from "./decisions.ts";
import { type Effects, type Touched, touchedOf, type Watched, watchedOutputs } from "../workspace/effects/effects.ts";
import { isRefusal } from "./refusals.ts";
import { createLeaves, type IntentSpec, type Leave, toOutcomeStep, type Traveller } from "./grants.ts";
import type { Verifications, VerifyOwn } from "./verifications.ts";
import type { Verification } from "./verification-store.ts";
import { type Expectation, expectationOf } from "./verify-files.ts";
import type { FileOutcome } from "../workspace/workspace-files.ts";

export type { IntentSpec, Traveller };

export interface Provider {
  readonly name: string;
  readonly version: string;
}

export interface Result<T> {
  readonly value: T;
  readonly outputs: Record<string, unknown>;
  /** Words when it did not work though nothing was thrown. */
  readonly failure?: string;
  /** Touched files that were not left as planned, for a good reason. */
  readonly left?: readonly FileOutcome[];
}

export interface Undertaking<T> extends Traveller {
  readonly actionType: ActionType;
  readonly actionName: string;
  readonly inputs: Record<string, unknown>;
  readonly steps: readonly IntentSpec[];
  readonly question: Question;
  /** `review`: the owner decided on exactly this a moment ago; nothing is asked again, but a denial stays a denial. */
  readonly consent: "ask" | "review";
  /** Files that may change. */
  readonly touches: readonly Touch[];
  /** What may change is not known before: the whole workspace is looked at before and after. `touches` is empty then. */
  readonly watch?: "workspace";
  /** Protected files (relative to the workspace) that the owner sees in the question, so that the change of them stays. */
  readonly approved?: readonly string[];
  /** What a watched action was found to have changed, also when it failed or was stopped. */
  readonly onTouched?: (touched: Touched) => void;
  readonly provider: Provider;
  /** Why that provider, where there was a choice; on the receipt. */
  readonly route?: Record<string, unknown>;
  readonly onDecided?: (decisions: readonly Decision[], approvalId: string | null) => void;
  readonly onReceipt?: (receiptId: string) => void;
  readonly run: (context: { receiptId: string; checkpointId: string | null }) => Promise<Result<T>>;
  /** The provider's own look at what it did, beside that at the files. */
  readonly verify?: VerifyOwn;
  /** The caller holds the locks of the touched files. */
  readonly held?: boolean;
  /** It takes back what failed its verification: it waits for none, and is not taken back itself. */
  readonly takesBack?: boolean;
  /** When this host dies meanwhile, the next one completes it: every touched file has its planned image. */
  readonly completed?: boolean;
}

/** The road every effect takes (architecture.md, One way through). */
export interface Road {
  /**
   * For what only looks: asks the gate and uses the leave at once. A denial is recorded as `receipt`, when it is given.
   * @throws LancelotError as `Governance.authorize`.
   */
  look(steps: readonly IntentSpec[], traveller: Traveller, question: Question, receipt?: RefusedAction): Promise<Decision[]>;
  /**
   * boundary (T2, T3) → decision → receipt opened → before-images → last check → effect → verification → receipt closed.
   * At T1 the verification follows the closing, unless its queue is full or the owner waits for the result.
   * @throws LancelotError of the boundary, of the gate (one receipt, a failure), of the effect or of its verification.
   */
  carry<T>(undertaking: Undertaking<T>): Promise<{ value: T; receiptId: string; decisions: readonly Decision[]; touched?: Touched }>;
}

export interface RoadDeps {
  readonly governance: Governance;
  readonly ledger: Ledger;
  readonly checkpoints: Checkpoints;
  readonly verifications: Verifications;
  readonly boundary: Boundary;
  /** Without it nothing can be watched. */
  readonly effects?: Effects;
  readonly log: Log;
}

export function createRoad(deps: RoadDeps): Road {
  const { governance, ledger, checkpoints, verifications } = deps;

  const { toIntent, askAll, redeem } = createLeaves({ governance, log: deps.log });

  /** The receipt of what was refused: the gate's own where it wrote one. */
  function recordRefusal(undertaking: Undertaking<unknown>, error: LancelotError): string {
    const recorded = receiptOf(error);
    const decision = decisionOf(error);
    const receiptId =
      recorded ??
      ledger.record(
        {
          actionType: undertaking.actionType,
          actionName: undertaking.actionName,
          inputs: undertaking.inputs,
          riskTier: decision?.tier ?? "T3",
          parentId: undertaking.parentId,
          questId: undertaking.questId,
          metadata: { ...routed(undertaking), ...(decision === null ? {} : { decision: brief([decision]) }) },
        },
        { status: error.code === "cancelled" ? "cancelled" : "failure", errorMessage: error.message },
      );
    undertaking.onReceipt?.(receiptId);
    return receiptId;
  }

  /** What is learned from it must not decide whether it worked. */
  function tell(report: OutcomeReport): void {
    if (report.steps.length === 0) return;
    try {
      governance.outcome(report);
    } catch (error) {
      deps.log("the gate could not take in what came of an action", error);
    }
  }

  async function boundaryBefore(steps: readonly IntentSpec[], consent: "ask" | "review", traveller: Traveller): Promise<void> {
    let tier: Tier = "T3";
    try {
      tier = highestTier(steps.map((step) => governance.evaluate(toIntent(step, traveller))));
    } catch (error) {
      // `authorize` is asked next and refuses then.
      deps.log("the gate failed", error);
    }
    if (isBounded(tier)) await deps.boundary({ ...traveller, stop: consent === "ask" });
  }

  /** Reads what the effect left, for undo and verification. */
  async function finishFiles(checkpointId: string, touches: readonly Touch[], left: readonly FileOutcome[] = []): Promise<Expectation[]> {
    const before = new Map(checkpoints.files({ id: checkpointId }).map((file) => [file.path.absolute, file.before]));
    const expectations: Expectation[] = [];
    const images = await checkpoints.finishFiles(
      checkpointId,
      touches.map(({ path }) => path),
    );
    for (const [at, touch] of touches.entries()) {
      const { absolute } = touch.path;
      const found: FileImage = images[at] ?? null;
      const way = left.find((one) => one.absolute === absolute);
      // A folder above it was made a link again: what lay in the folder is gone with it, and what the link shows is something else.
      if (found === null && touch.planned === null && !(await isPlainFolder(dirname(absolute)))) continue;
      const expectation = expectationOf(touch, before.get(absolute) ?? null, found, way);
      if (expectation !== null) expectations.push(expectation);
    }
    return expectations;
  }

  return {
    async look(steps, traveller, question, receipt) {
      await boundaryBefore(steps, "ask", traveller);
      const leaves = await askAll(steps, "ask", traveller, question, receipt, (error, asked) => {
        const receiptId = receiptOf(error);
        if (isRefusal(error) && receiptId !== null) tell({ receiptId, questId: traveller.questId, steps: asked, result: "refused" });
      });
      for (const leave of leaves) redeem(leave, traveller);
      return leaves.map((leave) => leave.decision);
    },

    async carry<T>(undertaking: Undertaking<T>) {
      const { questId, consent } = undertaking;
      let leaves: Leave[];
      let asked: readonly OutcomeStep[] = [];
      try {
        if (undertaking.takesBack !== true) await boundaryBefore(undertaking.steps, consent, undertaking);
        const receipt = {
          actionType: undertaking.actionType,
          actionName: undertaking.actionName,
          inputs: undertaking.inputs,
          metadata: routed(undertaking),
        };
        leaves = await askAll(undertaking.steps, consent, undertaking, undertaking.question, receipt, (_error, steps) => {
          asked = steps;
        });
        // An approval can take minutes, in which other actions of the task went on.
        if (undertaking.takesBack !== true && isBounded(highestTier(leaves.map(({ decision }) => decision))))
          await deps.boundary({ questId, signal: undertaking.signal, stop: consent === "ask" });
      } catch (error) {
        if (error instanceof LancelotError) {
          const receiptId = recordRefusal(undertaking, error);
          if (isRefusal(error) && consent === "ask") tell({ receiptId, questId, steps: asked, result: "refused" });
        }
        throw error;
      }
      const decisions = leaves.map((leave) => leave.decision);
      const steps = leaves.map(toOutcomeStep);
      const approvalId = steps.find((step) => step.approvalId !== null)?.approvalId ?? null;
      undertaking.onDecided?.(decisions, approvalId);
      const tier = highestTier(decisions);
      const receiptId = ledger.open({
        actionType: undertaking.actionType,
        actionName: undertaking.actionName,
        inputs: undertaking.inputs,
        riskTier: tier,
        parentId: undertaking.parentId,
        questId,
        metadata: { ...routed(undertaking), decision: brief(decisions), approvalId, consent },
      });
      undertaking.onReceipt?.(receiptId);
      const outcome = (result: OutcomeReport["result"]): void => {
        // What the owner accepted by hand says nothing of how far the agent can be trusted.
        if (consent === "ask") tell({ receiptId, questId, steps, result });
      };
      const kept: { checkpointId: string | null; watched: Watched | null } = { checkpointId: null, watched: null };
      let begun = false;
      let ended = false;
      const run = async (checkpointId: string | null): Promise<Result<T>> => {
        if (undertaking.signal.aborted) throw new LancelotError("cancelled", "Stopped before anything was done.");
        for (const leave of leaves) redeem(leave, undertaking);
        begun = true;
        return undertaking.run({ receiptId, checkpointId });
      };
      /** With before-images of the files it names, and a look at what it left in them. */
      const runTouching = async (): Promise<{ result: Result<T>; expectations: Expectation[] }> => {
        const { touches } = undertaking;
        if (touches.length > 0)
          kept.checkpointId = await checkpoints.take({
            questId,
            receiptId,
            touches,
            kind: undertaking.completed === true ? "restore" : "action",
          });
        const result = await run(kept.checkpointId);
        return { result, expectations: kept.checkpointId === null ? [] : await finishFiles(kept.checkpointId, touches, result.left) };
      };
      /** With a look at the whole workspace before and after. */
      const runWatched = async (effects: Effects): Promise<{ result: Result<T>; expectations: Expectation[] }> => {
        const { signal, approved } = undertaking;
        const watch = await effects.begin({ questId, receiptId, signal, ...(approved === undefined ? {} : { approved }) });
        const look = async (): Promise<void> => {
          kept.watched = await watch.finish();
          undertaking.onTouched?.(touchedOf(kept.watched));
        };
        let result: Result<T>;
        try {
          result = await run(watch.checkpointId);
        } catch (error) {
          // Why it failed is told, whatever looking at what it left comes to; that is made up for later.
          await look().catch((problem: unknown) => deps.log("what a command changed could not be found", problem));
          throw error;
        }
        await look();
        return { result, expectations: [] };
      };
      /** Outputs of the receipt. A receipt is cut at its end, so what names the changed files one by one comes last. */
      const outputsWith = (own: Record<string, unknown>): Record<string, unknown> => {
        const checkpointId = kept.watched?.checkpointId ?? kept.checkpointId;
        const { changed, ...facts } = kept.watched === null ? {} : watchedOutputs(kept.watched);
        return { ...(checkpointId === null ? {} : { checkpointId }), ...facts, ...own, ...(changed === undefined ? {} : { changed }) };
      };
      try {
        const { effects } = deps;
        if (undertaking.watch !== undefined && effects === undefined)
          throw new LancelotError("internal", "What it changes cannot be watched here, so it was not done.");
        const { result, expectations } =
          effects === undefined
            ? await runTouching()
            : undertaking.watch !== undefined
              ? await runWatched(effects)
              : writesFiles(undertaking)
                ? await effects.share(undertaking.signal, runTouching)
                : await runTouching();
        ended = true;
        const close = (): void => {
          ledger.close(receiptId, {
            status: result.failure === undefined ? "success" : "failure",
            outputs: outputsWith(result.outputs),
            ...(result.failure === undefined ? {} : { errorMessage: result.failure }),
          });
        };
        const verification: Verification = {
          receiptId,
          questId,
          checkpointId: kept.checkpointId,
          name: undertaking.actionName,
          expectations,
          steps,
          own: undertaking.verify !== undefined,
        };
        const verify = undertaking.verify ?? null;
        const nothing = expectations.length === 0 && verify === null;
        const later = tier === "T1" && consent === "ask" && result.failure === undefined;
        if (nothing) close();
        else if (!later || !verifications.enqueue(verification, verify, close)) {
          const { held = false, takesBack = false } = undertaking;
          const verdict = await verifications.now(verification, verify, { held, restore: !takesBack });
          if (verdict.status === "failed")
            throw new LancelotError("unavailable", verdict.words, { data: { verification: verdict.receiptId } });
          close();
        }
        outcome(result.failure === undefined ? "success" : "failure");
        const touched = kept.watched === null ? {} : { touched: touchedOf(kept.watched) };
        return { value: result.value, receiptId, decisions, ...touched };
      } catch (error) {
        // What was half done is told too, so that undo knows it.
        if (kept.checkpointId !== null && !ended)
          for (const { path } of undertaking.touches) await checkpoints.finishFiles(kept.checkpointId, [path]).catch(() => undefined);
        const problem = error instanceof LancelotError ? error : null;
        // What the room itself refused, as memory's gates do.
        const refusedBy = (problem === null ? null : decisionOf(problem))?.rules.map(({ id }) => id);
        ledger.close(receiptId, {
          status: problem?.code === "cancelled" ? "cancelled" : "failure",
          errorMessage: problem?.message ?? "An internal error stopped it.",
          outputs: outputsWith(refusedBy === undefined ? {} : { refusedBy }),
        });
        if (problem !== null && !ended && isRefusal(problem)) outcome("refused");
        // What was never begun, for want of disk space say, tells nothing of the action.
        else if (begun && problem?.code !== "cancelled") outcome("failure");
        throw error;
      } finally {
        if (kept.checkpointId !== null) checkpoints.finish(kept.checkpointId);
      }
    },
  };
}

function routed({ provider, route }: Undertaking<unknown>): Record<string, unknown> {
  return { provider, ...(route === undefined ? {} : { route }) };
}

/**
 * True for what has to wait for a command that runs. What the owner decided a moment ago is not kept waiting: a watch tells such writes from
 * the command's. Questions to the owner and pages of the web write nothing here, and may take hours.
 */
function writesFiles({ consent, touches, steps }: Pick<Undertaking<unknown>, "consent" | "touches" | "steps">): boolean {
  if (consent === "review") return false;
  return touches.length > 0 || steps.some(({ capability }) => capability === "file_ops" || capability === "repo_ops");
}

/** Before these, earlier effects are on the record and verified. */
function isBounded(tier: Tier): boolean {
  return tier === "T2" || tier === "T3";
}
