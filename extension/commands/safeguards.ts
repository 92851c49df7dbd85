import * as vscode from "vscode";
import type { LearnedPattern } from "../../agent-server/contract/trust.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { askOwner, ownerAct } from "./ask-owner.ts";
import { type Commands, field } from "./commands.ts";

function patternText({ capability, action, scope }: LearnedPattern): string {
  return scope === null ? `${capability}.${action}` : vscode.l10n.t("{0}, {1}", `${capability}.${action}`, scope);
}

/** What the owner decides about the safeguards themselves: trust, learned rules, safe mode, flags. Each is asked in the editor's dialog. */
export function safeguardCommands(host: AgentHost): Commands {
  const gone = () => new Error(vscode.l10n.t("That is no longer there; it may have been decided elsewhere."));

  const decideTrust = async (id: string, decision: "accept" | "decline" | "revoke") => {
    const status = decision === "revoke" ? "accepted" : "pending";
    const { items } = await host.call("trust.proposals", { status, limit: 200 });
    const proposal = items.find((candidate) => candidate.id === id);
    if (proposal === undefined) throw gone();
    const { capability, action, scope, from, to, reason } = proposal;
    const what = vscode.l10n.t("{0} on {1}", `${capability}.${action}`, scope);
    const questions = {
      accept: {
        question: vscode.l10n.t("Lower {0} from {1} to {2}?", what, from, to),
        detail: `${reason}\n\n${vscode.l10n.t("From the next decision on it is judged as {0}. What the soul or the policy holds stays held. A failure takes it back at once, and so can you.", to)}`,
        yes: vscode.l10n.t("Accept"),
      },
      decline: {
        question: vscode.l10n.t("Decline to lower {0} to {1}?", what, to),
        detail: vscode.l10n.t("It stays at {0}, and is not proposed again for a while.", from),
        yes: vscode.l10n.t("Decline"),
      },
      revoke: {
        question: vscode.l10n.t("Withdraw the trust in {0}?", what),
        detail: vscode.l10n.t("It goes back to its own tier at once, and is not proposed again for a while."),
        yes: vscode.l10n.t("Withdraw"),
      },
    } as const;
    if ((await askOwner(questions[decision])) === "yes") await ownerAct(() => host.call("trust.decide", { id, decision }));
  };

  const decideProposedRule = async (id: string, decision: "accept" | "decline") => {
    const { items } = await host.call("learning.proposals", { limit: 200 });
    const proposal = items.find((candidate) => candidate.id === id);
    if (proposal === undefined) throw gone();
    const what = patternText(proposal.pattern);
    const answer =
      decision === "accept"
        ? await askOwner({
            question:
              proposal.verdict === "allow"
                ? vscode.l10n.t("Allow {0} without asking from now on?", what)
                : vscode.l10n.t("Deny {0} without asking from now on?", what),
            detail: `${proposal.scope}\n\n${vscode.l10n.t("You answered so {0} times, {1} % alike. The rule has a limit for a day and in all, then it asks you again; you can withdraw it at any time.", proposal.observations, Math.floor(proposal.consistency * 100))}`,
            yes: vscode.l10n.t("Save the rule"),
          })
        : await askOwner({
            question: vscode.l10n.t("Decline a rule for {0}?", what),
            detail: vscode.l10n.t("You are asked as before, and it is not proposed again for a while."),
            yes: vscode.l10n.t("Decline"),
          });
    if (answer === "yes") await ownerAct(() => host.call("learning.decide", { id, decision }));
  };

  const decideRule = async (id: string, decision: "confirm" | "revoke") => {
    const { items } = await host.call("learning.rules", {});
    const rule = items.find((candidate) => candidate.id === id);
    if (rule === undefined) throw gone();
    const what = patternText(rule.pattern);
    const answer =
      decision === "confirm"
        ? await askOwner({
            question:
              rule.verdict === "allow"
                ? vscode.l10n.t("Go on allowing {0} without asking?", what)
                : vscode.l10n.t("Go on denying {0} without asking?", what),
            detail: vscode.l10n.t(
              "The rule has decided {0} times. Confirmed, it decides up to {1} times a day and {2} times more in all, then it asks again.",
              rule.decidedInAll,
              rule.maxPerDay,
              rule.maxInAll,
            ),
            yes: vscode.l10n.t("Confirm"),
          })
        : await askOwner({
            question: vscode.l10n.t("Withdraw the rule for {0}?", what),
            detail: vscode.l10n.t("From the next decision on you are asked again."),
            yes: vscode.l10n.t("Withdraw"),
          });
    if (answer === "yes") await ownerAct(() => host.call("learning.decide", { id, decision }));
  };

  const setFlag = async (name: string, enabled: boolean) => {
    const { items } = await host.call("flags.list", {});
    const flag = items.find((candidate) => candidate.name === name);
    if (flag === undefined) throw gone();
    const needs =
      enabled && flag.needs !== undefined && flag.needs.length > 0
        ? `\n\n${vscode.l10n.t("It has an effect only with: {0}.", flag.needs.join(", "))}`
        : "";
    const answer = await askOwner({
      question: enabled ? vscode.l10n.t("Switch {0} on?", name) : vscode.l10n.t("Switch {0} off?", name),
      detail: `${flag.effect}${needs}\n\n${vscode.l10n.t("It is kept in config/flags.yaml of Lancelot's data folder.")}`,
      yes: enabled ? vscode.l10n.t("Switch on") : vscode.l10n.t("Switch off"),
    });
    if (answer === "yes") await ownerAct(() => host.call("flags.set", { name, enabled }));
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
      const answer = await askOwner(
        enabled
          ? {
              question: vscode.l10n.t("Switch safe mode on?"),
              detail: vscode.l10n.t(
                "Only what works on this machine is left: no network, no connectors, no deployment, no push. Tasks that need these are told so.",
              ),
              yes: vscode.l10n.t("Switch on"),
            }
          : {
              question: vscode.l10n.t("Switch safe mode off?"),
              detail: vscode.l10n.t(
                "Network, connectors, deployment and push are judged by the soul, the policy and the flags again, from the next decision on.",
              ),
              yes: vscode.l10n.t("Switch off"),
            },
      );
      if (answer === "yes") await ownerAct(() => host.call("tools.safeMode", { enabled }));
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
        { title: vscode.l10n.t("Switch a flag on or off"), matchOnDetail: true },
      );
      if (picked !== undefined) await setFlag(picked.flag.name, !picked.flag.enabled);
    },
  };
}
