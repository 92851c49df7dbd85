import type { UnbackedClaim } from "../../contract/chat.ts";
import type { Claim } from "./claim-words.ts";
import type { RanCommand, Recorded } from "./evidence.ts";

type Reason = UnbackedClaim["reason"];

/** Why a claim is not backed by what is recorded; null when it is. */
export function judgeClaim(claim: Claim, recorded: Recorded): Reason | null {
  switch (claim.kind) {
    case "edit":
    case "delete":
      return judgeFiles(claim, recorded);
    case "run":
      return judgeRun(claim, recorded);
    case "tests":
      return judgeTests(claim, recorded);
    case "commit":
      return judgeCommand(
        recorded,
        ["git_commit"],
        (text) => /\bgit\b/.test(text) && /\b(?:commit|merge|cherry-pick|revert|rebase|am)\b/.test(text),
      );
    case "push":
      return judgeCommand(recorded, ["git_push"], (text) => /\bgit\b/.test(text) && /\bpush\b/.test(text));
    case "deploy":
      return judgeCommand(recorded, ["deploy", "http_post"], (text) => /deploy|publish|release|apply|ship|upload/.test(text));
    case "read":
      return judgeRead(claim, recorded);
  }
}

/** Whether a path of a claim means a recorded path: the same, or its end. */
export function isSamePath(claimed: string, path: string): boolean {
  const one = normal(claimed);
  const other = normal(path);
  return one === other || other.endsWith(`/${one}`) || one.endsWith(`/${other}`);
}

function normal(path: string): string {
  return path
    .replaceAll("\\", "/")
    .replace(/^(?:\.\/|\/)/, "")
    .replace(/:\d{1,7}(?:-\d{1,7})?$/, "")
    .toLowerCase();
}

function judgeFiles({ kind, paths, direct }: Claim, { files, hasOtherEffect, deniedCalls }: Recorded): Reason | null {
  const states = [...files];
  const fits = (state: string): boolean => state === "deleted" || (state === "changed" && !(kind === "delete" && direct));
  if (paths.length === 0) {
    if (hasOtherEffect || states.some(([, state]) => state === "changed" || state === "deleted")) return null;
    return (
      lost(states.map(([, state]) => state)) ??
      (deniedCalls.some(({ status, tier }) => status === "denied" && tier !== "T0") ? "denied" : "not_recorded")
    );
  }
  for (const path of paths) {
    const found = states.filter(([recordedPath]) => isSamePath(path, recordedPath)).map(([, state]) => state);
    if (found.some(fits)) continue;
    const denied = deniedCalls.some(({ args }) => typeof args["path"] === "string" && isSamePath(path, args["path"]));
    return lost(found) ?? (denied ? "denied" : "not_recorded");
  }
  return null;
}

function lost(states: readonly string[]): Reason | null {
  if (states.includes("undone")) return "undone";
  return states.includes("rejected") ? "rejected" : null;
}

function judgeRun({ command, ofTests, count }: Claim, { commands, deniedCalls }: Recorded): Reason | null {
  const wanted = command === null ? null : spaced(command);
  const ran = commands.filter(({ text, ranTests }) => {
    if (wanted !== null) return spaced(text).includes(wanted) || (wanted.includes(spaced(text)) && text !== "");
    return !ofTests || ranTests;
  });
  if (ran.length === 0) {
    const denied = deniedCalls.some(({ tool, status }) => tool === "run_command" && status === "denied");
    return denied ? "denied" : "not_recorded";
  }
  if (count.of === null) return null;
  return ran.some((one) => totals(one).includes(count.of ?? -1) || mentions(one, count.of ?? -1)) ? null : "numbers_differ";
}

function totals({ report }: RanCommand): number[] {
  if (report === null) return [];
  const { passed, failed, errors, skipped } = report;
  return [passed, passed + failed, passed + failed + errors, passed + failed + errors + skipped, passed + skipped];
}

function mentions({ output }: RanCommand, number: number): boolean {
  return new RegExp(String.raw`(?<![\d.])${String(number)}(?![\d.]\d)`).test(output);
}

function judgeTests({ count }: Claim, { commands }: Recorded): Reason | null {
  const runs = commands.filter(({ ranTests, report }) => ranTests || report !== null);
  const last = runs.at(-1);
  if (last === undefined) return "not_recorded";
  const { passed, of } = count;
  const isPart = of !== null && passed !== null && passed < of;
  const outdated = (run: RanCommand): Reason | null => (run.isOutdated ? "outdated" : null);
  if (passed === null) return last.succeeded && !hasFailures(last) ? outdated(last) : "failed";
  const fits = (run: RanCommand): boolean => {
    if (run.report === null) return run.succeeded && mentions(run, passed) && (of === null || mentions(run, of));
    if (isPart) return run.report.passed === passed && totals(run).includes(of);
    return run.report.passed === passed || (run.succeeded && !hasFailures(run) && totals(run).includes(passed));
  };
  const fitting = runs.findLast(fits);
  if (fitting !== undefined) return outdated(fitting);
  return isPart || last.succeeded ? "numbers_differ" : "failed";
}

function hasFailures({ report }: RanCommand): boolean {
  return report !== null && report.failed + report.errors > 0;
}

function judgeCommand(
  { calls, commands, deniedCalls }: Recorded,
  tools: readonly string[],
  fits: (text: string) => boolean,
): Reason | null {
  if (calls.some(({ tool }) => tools.includes(tool))) return null;
  const ran = commands.filter(({ text }) => fits(text));
  if (ran.some(({ succeeded }) => succeeded)) return null;
  if (ran.length > 0) return "failed";
  return deniedCalls.some(({ tool, status }) => tools.includes(tool) && status === "denied") ? "denied" : "not_recorded";
}

/** Files that the host puts into the prompt itself. */
const instructions = /(?:^|\/)(?:AGENTS|CLAUDE|GEMINI|USER|RULES|MEMORY_SUMMARY|LANCELOT|copilot-instructions)\.md$/i;

function judgeRead({ paths, url }: Claim, { seen, hasLooked, calls }: Recorded): Reason | null {
  if (url !== null) {
    const host = /^https?:\/\/([^/?#]+)/.exec(url)?.[1] ?? url;
    const fetched = calls.some(({ tool, args }) => tool !== "ask_owner" && JSON.stringify(args).includes(host));
    return fetched ? null : "not_recorded";
  }
  if (paths.length > 0 && paths.every((path) => instructions.test(path))) return null;
  if (!hasLooked) return "not_recorded";
  const missing = paths.find((path) => !seen.some((text) => text.toLowerCase().includes(normal(path))));
  return missing === undefined ? null : "not_recorded";
}

function spaced(text: string): string {
  return text.trim().split(/\s+/).join(" ");
}
