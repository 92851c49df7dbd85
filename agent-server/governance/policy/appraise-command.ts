import { appraisal, askOwner, type Appraise, denial, textArgument } from "./appraisal.ts";

/** Policy for a command line: what its syntax tree would run. */
export const appraiseCommand: Appraise = (intent, _base, facts) => {
  const command = textArgument(intent, "command");
  if (command === null) return appraisal({ denial: denial("command.missing", "No command is given.", ["Name the command to run."]) });
  const cwd = intent.cwd ?? textArgument(intent, "cwd") ?? undefined;
  if (intent.args["cwd"] !== undefined && typeof intent.args["cwd"] !== "string") {
    return appraisal({ denial: denial("command.folder", "The working folder is not a text.", ["Name a folder of the workspace."]) });
  }
  if (cwd !== undefined) {
    const folder = facts.resolve(cwd);
    if (!folder.ok) return appraisal({ denial: denial(folder.rule, folder.message, ["Name a folder of the workspace."]) });
    if (folder.type !== "directory")
      return appraisal({ denial: denial("command.folder", "The working folder is not a folder.", ["Name a folder of the workspace."]) });
  }
  const judged = facts.command(command, cwd);
  const { scope, tags, alternatives, riskLevel, rules } = judged;
  const common = { scope, tags, alternatives: alternatives.length > 0 ? alternatives : [askOwner], riskLevel };
  if (judged.verdict === "deny")
    return appraisal({ ...common, denial: { tier: judged.tier, riskLevel, rules, alternatives: common.alternatives } });
  if (judged.verdict === "allow") return appraisal({ ...common, notes: rules });
  return judged.tier === "T3" ? appraisal({ ...common, raises: rules }) : appraisal({ ...common, asks: rules });
};
