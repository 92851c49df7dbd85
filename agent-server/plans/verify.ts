import type { PlannedStep } from "../contract/plans.ts";
import { judgeTestRun, readTestReport } from "../workspace/workspace.ts";
import { type Check, readCriterion } from "./criteria.ts";
import { readByWords } from "./criterion-words.ts";
import { type Evidence, plainPath, type RanCommand } from "./evidence.ts";

/** So many new errors of the editor are told. */
const maxShownErrors = 5;

/** The result of one criterion. `by` says who decided: evidence, a model, or nobody when no model answered. */
export interface Finding {
  readonly criterion: string;
  readonly met: boolean;
  readonly by: "evidence" | "model" | "nobody";
  readonly why: string;
  /** The receipt of the call that is the evidence. */
  readonly receiptId: string | null;
}

/** Asks a model about criteria that nothing can check, in their order; null when no model answered. */
export type Judge = (criteria: readonly string[]) => Promise<readonly { met: boolean; why: string }[] | null>;

/**
 * Verifies a step. Evidence decides every criterion that it can decide. A model is asked about the others only, and only when the evidence
 * speaks against none: it never overrules evidence. (Requirement A4.)
 */
export async function verifyStep(
  step: Pick<PlannedStep, "doneWhen" | "actions">,
  evidence: Evidence,
  judge: Judge,
): Promise<{ met: boolean; findings: Finding[] }> {
  const findings: Finding[] = [];
  const open: string[] = [];
  for (const criterion of new Set(step.doneWhen)) {
    const check = readCriterion(criterion) ?? readByWords(criterion);
    if (check === null) open.push(criterion);
    else findings.push({ criterion, by: "evidence", ...(await decide(check, evidence)) });
  }
  for (const { tool, target } of step.actions) {
    const check = impliedBy(tool, target);
    if (check === null) continue;
    const finding = { criterion: `${tool} ${target}`, by: "evidence" as const, ...(await decide(check, evidence)) };
    if (!finding.met) findings.push(finding);
  }
  findings.push(...failedRuns(evidence, findings), ...shownErrors(evidence));
  if (open.length > 0 && findings.every(({ met }) => met)) {
    const answers = await judge(open);
    open.forEach((criterion, index) => {
      const answer = answers?.[index];
      findings.push(
        answer === undefined
          ? { criterion, met: true, by: "nobody", why: "Not verified: nothing can check it, and no model answered.", receiptId: null }
          : { criterion, met: answer.met, by: "model", why: answer.why, receiptId: null },
      );
    });
  }
  return { met: findings.every(({ met }) => met), findings };
}

/** What must hold after an action that a step names. */
function impliedBy(tool: string, target: string): Check | null {
  if (tool === "write_file" || tool === "edit_file") return { kind: "exists", path: target, exists: true };
  return tool === "delete_file" ? { kind: "exists", path: target, exists: false } : null;
}

type Decided = Omit<Finding, "criterion" | "by">;

async function decide(check: Check, evidence: Evidence): Promise<Decided> {
  const none = (met: boolean, why: string): Decided => ({ met, why, receiptId: null });
  switch (check.kind) {
    case "command": {
      const run = evidence.commands.findLast(({ text }) => isSameCommand(text, check.command));
      if (run === undefined) return none(false, `\`${check.command}\` was not run.`);
      return decideRun(run, check.exitCode, evidence);
    }
    case "tests": {
      const run = evidence.commands.findLast(({ output }) => readTestReport(output) !== null);
      if (run === undefined) return none(false, "No test run with a report was found.");
      const decided = decideRun(run, 0, evidence);
      const passed = readTestReport(run.output)?.passed ?? 0;
      return decided.met && passed < check.atLeast
        ? { ...decided, met: false, why: `${String(passed)} tests passed, not ${String(check.atLeast)}.` }
        : decided;
    }
    case "exists": {
      const exists = (await evidence.readFile(check.path)) !== null;
      return none(exists === check.exists, `${check.path} ${exists ? "exists" : "does not exist"}.`);
    }
    case "contains": {
      const text = await evidence.readFile(check.path);
      if (text === null) return none(false, `${check.path} does not exist.`);
      const contains = text.includes(check.text);
      return none(contains === check.contains, `${check.path} ${contains ? "contains" : "does not contain"} the text.`);
    }
    case "changed": {
      const isChanged = evidence.edits.some(({ path }) => plainPath(path) === plainPath(check.path));
      return none(isChanged, `${check.path} was ${isChanged ? "" : "not "}changed.`);
    }
  }
}

function decideRun(run: RanCommand, exitCode: number, evidence: Evidence): Decided {
  const { receiptId } = run;
  const name = `\`${run.text}\``;
  if (evidence.edits.some(({ order }) => order > run.order))
    return { met: false, why: `${name} was not run after the last change of a file.`, receiptId };
  if (run.exitCode === null) return { met: false, why: `${name} has not ended by itself.`, receiptId };
  if (run.exitCode !== exitCode) return { met: false, why: `${name} ended with exit code ${String(run.exitCode)}.`, receiptId };
  if (exitCode !== 0) return { met: true, why: `${name} ended with exit code ${String(exitCode)}.`, receiptId };
  const report = readTestReport(run.output);
  if (judgeTestRun(run.output, run.exitCode) === "failed")
    return { met: false, why: `${name} reports ${String((report?.failed ?? 0) + (report?.errors ?? 0))} failures.`, receiptId };
  if (report !== null && report.passed === 0) return { met: false, why: `${name} ran no test.`, receiptId };
  return {
    met: true,
    why: `${name} ended with exit code 0${report === null ? "" : `, ${String(report.passed)} tests passed`}.`,
    receiptId,
  };
}

/** Test runs that failed and were not repeated with success speak against any step. */
function failedRuns(evidence: Evidence, known: readonly Finding[]): Finding[] {
  const last = new Map<string, RanCommand>();
  for (const run of evidence.commands) if (readTestReport(run.output) !== null) last.set(run.text.trim(), run);
  const lastEdit = Math.max(-1, ...evidence.edits.map(({ order }) => order));
  return [...last.values()].flatMap((run) => {
    if (run.order < lastEdit || judgeTestRun(run.output, run.exitCode) !== "failed") return [];
    if (known.some(({ receiptId, met }) => !met && receiptId !== null && receiptId === run.receiptId)) return [];
    return [
      {
        criterion: run.text,
        met: false,
        by: "evidence",
        why: `The last run of \`${run.text}\` reports failures.`,
        receiptId: run.receiptId,
      },
    ];
  });
}

/** Errors that a plan brought into its files speak against its end. */
function shownErrors({ newErrors }: Evidence): Finding[] {
  return newErrors.slice(0, maxShownErrors).map(({ path, line }) => ({
    criterion: `No new errors in ${path}`,
    met: false,
    by: "evidence",
    // Without its message, which can hold text of the repository: the model reads that with the tool `diagnostics`, as data.
    why: `The editor shows a new error in line ${String(line)}.`,
    receiptId: null,
  }));
}

/** The same command, also with a change of folder before it or its errors shown. A pipe or `||` hides the exit code, so those differ. */
function isSameCommand(ran: string, wanted: string): boolean {
  const plain = (text: string): string =>
    text
      .trim()
      .replaceAll(/\s+/g, " ")
      .replace(/ 2>&1$/, "");
  const command = plain(ran);
  return (
    command === plain(wanted) || (/^cd [\w./@-]{1,300} && /.test(command) && command.slice(command.indexOf("&& ") + 3) === plain(wanted))
  );
}
