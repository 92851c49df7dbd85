import * as vscode from "vscode";
import type { LearnedPattern } from "../../agent-server/contract/trust.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { confirm, runDecision } from "./confirmation.ts";
import { type Commands, field } from "./commands.ts";

function patternText({ capability, action, scope }: LearnedPattern): string {
  return scope === null ? `${capability}.${action}` : vscode.l10n.t("{0}, {1}", `${capability}.${action}`, scope);
}

/** Decisions about trust, learned rules, safe mode and flags. Each asks in VS Code's own dialog. */
export function safeguardCommands(host: AgentHost): Commands {
  const missing = () => new Error(vscode.l10n.t("This item no longer exists. It may have been decided in another window."));

  const decideTrust = async (id: string, decision: "accept" | "decline" | "revoke") => {
    const status = decision === "revoke" ? "accepted" : "pending";
    const { items } = await host.call("trust.proposals", { status, limit: 200 });
    const proposal = items.find((candidate) => candidate.id === id);
    if (proposal === undefined) throw missing();
    const { capability, action, scope, from, to, reason } = proposal;
    const target = vscode.l10n.t("{0} on {1}", `${capability}.${action}`, scope);
    const questions = {
      accept: {
        question: vscode.l10n.t("Lower the tier of {0} from {1} to {2}?", target, from, to),
        detail: `${reason}\n\n${vscode.l10n.t("This action has tier {0} from the next decision on. The soul and the policy can still require approval. A failure revokes this at once, and you can revoke it at any time.", to)}`,
        yes: vscode.l10n.t("Accept"),
      },
      decline: {
        question: vscode.l10n.t("Decline lowering the tier of {0} to {1}?", target, to),
        detail: vscode.l10n.t("It stays at {0}. Lancelot does not propose this again for a while.", from),
        yes: vscode.l10n.t("Decline"),
      },
      revoke: {
        question: vscode.l10n.t("Revoke the trust in {0}?", target),
        detail: vscode.l10n.t("Its original tier applies again at once. Lancelot does not propose this again for a while."),
        yes: vscode.l10n.t("Revoke"),
      },
    } as const;
    if ((await confirm(questions[decision])) === "yes") await runDecision(() => host.call("trust.decide", { id, decision }));
  };

  const decideProposedRule = async (id: string, decision: "accept" | "decline") => {
    const { items } = await host.call("learning.proposals", { limit: 200 });
    const proposal = items.find((candidate) => candidate.id === id);
    if (proposal === undefined) throw missing();
    const target = patternText(proposal.pattern);
    const answer =
      decision === "accept"
        ? await confirm({
            question:
              proposal.verdict === "allow"
                ? vscode.l10n.t("Allow {0} without asking from now on?", target)
                : vscode.l10n.t("Deny {0} without asking from now on?", target),
            detail: `${proposal.scope}\n\n${vscode.l10n.t("Based on {0} of your answers, {1}% of them the same. The rule has a daily and a total limit, after which it asks you again. You can revoke it at any time.", proposal.observations, Math.floor(proposal.consistency * 100))}`,
            yes: vscode.l10n.t("Save Rule"),
          })
        : await confirm({
            question: vscode.l10n.t("Decline the rule for {0}?", target),
            detail: vscode.l10n.t("Lancelot keeps asking you, and does not propose this rule again for a while."),
            yes: vscode.l10n.t("Decline"),
          });
    if (answer === "yes") await runDecision(() => host.call("learning.decide", { id, decision }));
  };

  const decideRule = async (id: string, decision: "confirm" | "revoke") => {
    const { items } = await host.call("learning.rules", {});
    const rule = items.find((candidate) => candidate.id === id);
    if (rule === undefined) throw missing();
    const target = patternText(rule.pattern);
    const answer =
      decision === "confirm"
        ? await confirm({
            question:
              rule.verdict === "allow"
                ? vscode.l10n.t("Keep allowing {0} without asking?", target)
                : vscode.l10n.t("Keep denying {0} without asking?", target),
            detail: vscode.l10n.t(
              "The rule has decided {0} times. If you confirm it, it decides up to {1} times per day and {2} more times in total, then asks you again.",
              rule.decidedInAll,
              rule.maxPerDay,
              rule.maxInAll,
            ),
            yes: vscode.l10n.t("Confirm"),
          })
        : await confirm({
            question: vscode.l10n.t("Revoke the rule for {0}?", target),
            detail: vscode.l10n.t("Lancelot asks you again from the next decision on."),
            yes: vscode.l10n.t("Revoke"),
          });
    if (answer === "yes") await runDecision(() => host.call("learning.decide", { id, decision }));
  };

  const setFlag = async (name: string, enabled: boolean) => {
    const { items } = await host.call("flags.list", {});
    const flag = items.find((candidate) => candidate.name === name);
    if (flag === undefined) throw missing();
    const needs =
      enabled && flag.needs !== undefined && flag.needs.length > 0 ? `\n\n${vscode.l10n.t("Requires: {0}.", flag.needs.join(", "))}` : "";
    const answer = await confirm({
      question: enabled ? vscode.l10n.t("Turn on {0}?", name) : vscode.l10n.t("Turn off {0}?", name),
      detail: `${flag.effect}${needs}\n\n${vscode.l10n.t("Lancelot stores this in config/flags.yaml in its data folder.")}`,
      yes: enabled ? vscode.l10n.t("Turn On") : vscode.l10n.t("Turn Off"),
    });
    if (answer === "yes") await runDecision(() => host.call("flags.set", { name, enabled }));
  };

  return {
    async "lancelot.decideTrust"(argument) {
      const id = field(argument, "id");
      const decision = field(argument, "decision");
      if (id !== undefined && (decision === "accept" || decision === "decline" || decision === "revoke")) await decideTrust(id, decision);
    },
    async "lancelot.decideLearning"(argument) {
      const id = field(argument, "id");
      const decision = field(argument, "decision");
      if (id === undefined) return;
      if (decision === "accept" || decision === "decline") await decideProposedRule(id, decision);
      else if (decision === "confirm" || decision === "revoke") await decideRule(id, decision);
    },
    async "lancelot.toggleSafeMode"(argument) {
      const wanted = typeof argument === "object" ? field(argument, "enabled") : undefined;
      const enabled = wanted === undefined ? !(await host.call("governance.stats", { days: 1 })).safeMode : wanted === "true";
      const answer = await confirm(
        enabled
          ? {
              question: vscode.l10n.t("Turn on safe mode?"),
              detail: vscode.l10n.t(
                "This turns off network access, connectors, deployment and push. Everything that runs on this machine keeps working.",
              ),
              yes: vscode.l10n.t("Turn On"),
            }
          : {
              question: vscode.l10n.t("Turn off safe mode?"),
              detail: vscode.l10n.t(
                "The soul, the policy and the flags decide about network access, connectors, deployment and push again, from the next decision on.",
              ),
              yes: vscode.l10n.t("Turn Off"),
            },
      );
      if (answer === "yes") await runDecision(() => host.call("tools.safeMode", { enabled }));
    },
    async "lancelot.sleep"() {
      const reason = await vscode.window.showInputBox({
        title: vscode.l10n.t("Sleep"),
        prompt: vscode.l10n.t("Running tasks are completed. No task starts in any window until you wake Lancelot."),
        placeHolder: vscode.l10n.t("Reason (optional)"),
      });
      if (reason !== undefined) await runDecision(() => host.call("host.sleep", { reason }));
    },
    async "lancelot.wake"() {
      await runDecision(() => host.call("host.wake", {}));
    },
    async "lancelot.setFlag"(argument) {
      const given = typeof argument === "object" ? field(argument, "name") : undefined;
      if (given !== undefined) return setFlag(given, field(argument, "enabled") === "true");
      const { items } = await host.call("flags.list", {});
      const picked = await vscode.window.showQuickPick(
        items.map((flag) => ({
          label: `${flag.enabled ? "$(pass-filled)" : "$(circle-large-outline)"} ${flag.name}`,
          description: flag.enabled ? vscode.l10n.t("on") : vscode.l10n.t("off"),
          detail: flag.effect,
          flag,
        })),
        { title: vscode.l10n.t("Set Feature Flag"), matchOnDetail: true },
      );
      if (picked !== undefined) await setFlag(picked.flag.name, !picked.flag.enabled);
    },
  };
}
