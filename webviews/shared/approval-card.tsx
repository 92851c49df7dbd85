import type { JSX } from "preact";
import { flushSync } from "preact/compat";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Approval, ApprovalDecision } from "../../agent-server/contract/governance.ts";
import { decisionForKey, ignoreKeysMs } from "./approval-keys.ts";
import { type Bridge, problemOf } from "./bridge.ts";
import { Button, Icon, Problem, RelativeTime, TierBadge, tierMeaning } from "./components.tsx";
import { ExactText } from "./exact-text.tsx";
import { count, t } from "./l10n.ts";
import { useRiskyPart } from "./risky-part.ts";
import type { Store } from "./store.ts";
import { WorkspaceApprovalForm } from "./workspace-approval.tsx";

interface ApprovalCardProps {
  approval: Approval;
  bridge: Bridge;
  store: Pick<Store, "putApproval">;
  /** Its place in a queue whose first one is shown. */
  queue?: { readonly at: number; readonly of: number };
  /** Receives a function that answers as the card's keys do, for keys pressed elsewhere; null when the card is gone. */
  onKeys?: (answer: AnswerByKey | null) => void;
}

/** Answers an approval by a key outside its card, with the card's protection against accidental keys. */
export type AnswerByKey = (decision: "allow_once" | "deny") => void;

/** So many reasons are shown at once. */
const shownReasons = 3;

function canTakeFocus(): boolean {
  const at = document.activeElement;
  return at === null || at === document.body;
}

/**
 * Splits the detail of an approval into the exact command and the host's facts (folder, place, network, time). The facts are the last part,
 * so a command that contains similar sentences cannot replace them.
 */
export function splitDetail({ capability, detail }: Pick<Approval, "capability" | "detail">): { exact: string; facts: readonly string[] } {
  const at = capability === "shell_exec" || capability === "deploy_ops" ? detail.lastIndexOf("\n\nFolder: ") : -1;
  if (at < 0) return { exact: detail, facts: [] };
  return { exact: detail.slice(0, at), facts: detail.slice(at + 2).split("\n") };
}

/** Shows the exact action, the reasons and the effect of each answer. See `decisionForKey` for the protection against accidental keys. */
export function ApprovalCard({ approval, bridge, store, queue, onKeys }: ApprovalCardProps): JSX.Element {
  const id = useId();
  const card = useRef<HTMLElement>(null);
  const reasonField = useRef<HTMLInputElement>(null);
  const shownAt = useRef(performance.now());
  const [form, setForm] = useState<"deny" | "allow_workspace" | null>(null);
  const denying = form === "deny";
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  useEffect(() => {
    // Never takes the focus from a text field that the user is typing in.
    if (canTakeFocus()) card.current?.focus({ preventScroll: false });
  }, []);
  useLayoutEffect(() => {
    if (denying) reasonField.current?.focus();
  }, [denying]);

  const decide = async (decision: ApprovalDecision, scope?: number): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      // Reads the field itself, because the state may lag behind the last keys.
      const text = (reasonField.current?.value ?? reason).trim();
      store.putApproval(
        await bridge.call("approvals.decide", {
          id: approval.id,
          decision,
          ...(decision === "deny" && text !== "" ? { reason: text } : {}),
          ...(scope === undefined ? {} : { scope }),
        }),
      );
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
    }
  };

  const answer = (decision: ApprovalDecision): void => {
    if (decision === "allow_workspace" && approval.scopes.length === 0) return;
    // Opens the form synchronously: the next key must belong to it, and not be an answer.
    if (decision === "allow_workspace" || (decision === "deny" && !denying)) flushSync(() => setForm(decision));
    else void decide(decision);
  };
  const closeForm = (): void => {
    setForm(null);
    card.current?.focus();
  };
  const byKey = useRef<AnswerByKey>(() => undefined);
  byKey.current = (decision) => {
    if (form === null && performance.now() - shownAt.current >= ignoreKeysMs) answer(decision);
  };
  useEffect(() => {
    onKeys?.((decision) => byKey.current(decision));
    return () => onKeys?.(null);
  }, [onKeys]);

  const { exact, facts } = splitDetail(approval);
  const risky = useRiskyPart(bridge, approval.capability, exact);

  const onKeyDown = (event: KeyboardEvent): void => {
    const decision = decisionForKey({
      key: event.key,
      modified: event.ctrlKey || event.altKey || event.metaKey,
      repeat: event.repeat,
      inField: event.target instanceof HTMLInputElement || form === "allow_workspace",
      msSinceShown: performance.now() - shownAt.current,
    });
    if (decision === null) return;
    event.preventDefault();
    answer(decision);
  };

  return (
    <section
      ref={card}
      class="card approval"
      tabIndex={-1}
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-detail`}
      onKeyDown={onKeyDown}
    >
      <div class="card-heading">
        <Icon name="shield" />
        <span class="card-title" id={`${id}-title`}>
          {t("Approve: {0}", approval.title)}
        </span>
        {queue !== undefined && queue.of > 1 && (
          <span class="quiet" data-testid="approval-queue">
            {t("{0} of {1}", queue.at, queue.of)}
          </span>
        )}
        <TierBadge tier={approval.tier} />
      </div>
      <div class="approval-body">
        <div id={`${id}-detail`}>
          <ExactText text={exact} label={t("Exact action")} emphasis={risky} />
          {facts.length > 0 && (
            <ul class="rules facts-of-command" aria-label={t("Where and how it runs")}>
              {facts.map((fact) => (
                <li key={fact}>{fact}</li>
              ))}
            </ul>
          )}
        </div>
        <Reasons approval={approval} />
        <div class="card-foot quiet">
          {t("Denied automatically")} <RelativeTime at={approval.expiresAt} />
        </div>
      </div>
      {form === "allow_workspace" && (
        <WorkspaceApprovalForm
          scopes={approval.scopes}
          busy={busy}
          onSave={(scope) => void decide("allow_workspace", scope)}
          onBack={closeForm}
        />
      )}
      {denying && (
        <form
          class="approval-form"
          onSubmit={(event) => {
            event.preventDefault();
            void decide("deny");
          }}
        >
          <label for={`${id}-reason`}>{t("Reason (optional). Lancelot reads it and tries another approach.")}</label>
          <input
            id={`${id}-reason`}
            ref={reasonField}
            class="field"
            value={reason}
            maxLength={4000}
            onInput={(event) => setReason(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.stopPropagation();
              closeForm();
            }}
          />
          <div class="actions">
            <Button testId="confirm-deny" kind="primary" disabled={busy} onClick={() => void decide("deny")}>
              {t("Deny")}
            </Button>
            <Button testId="cancel-deny" disabled={busy} onClick={closeForm}>
              {t("Back")}
            </Button>
          </div>
        </form>
      )}
      {form === null && (
        <dl class="answers">
          <AnswerOption
            testId="allow-once"
            id={`${id}-a`}
            shortcut="A"
            text={t("Allow Once")}
            busy={busy}
            kind="primary"
            onClick={() => answer("allow_once")}
          >
            {t("Runs this action once.")}
          </AnswerOption>
          <AnswerOption
            testId="allow-for-task"
            id={`${id}-t`}
            shortcut="T"
            text={t("Allow for This Task")}
            busy={busy}
            onClick={() => answer("allow_quest")}
          >
            {t("Runs it and does not ask again for the same action in this task, unless a script that it runs changes.")}
          </AnswerOption>
          {approval.scopes.length > 0 && (
            <AnswerOption
              testId="allow-in-workspace"
              id={`${id}-w`}
              shortcut="W"
              text={t("Always Allow in This Workspace…")}
              busy={busy}
              onClick={() => answer("allow_workspace")}
            >
              {t("Shows exactly what would be allowed, before you save it.")}
            </AnswerOption>
          )}
          <AnswerOption testId="deny" id={`${id}-d`} shortcut="D" text={t("Deny…")} busy={busy} onClick={() => answer("deny")}>
            {t("Blocks it for this task. You can tell Lancelot why.")}
          </AnswerOption>
        </dl>
      )}
      {problem !== null && <Problem text={problem} />}
    </section>
  );
}

/** Why it is asked: what the tier means, then the rules. The same text is shown once, and what is beyond the first reasons on request. */
function Reasons({ approval }: { approval: Approval }): JSX.Element {
  const rules = approval.rules.filter(({ message }, index, all) => all.findIndex((other) => other.message === message) === index);
  const rule = ({ id, message, source }: Approval["rules"][number]): JSX.Element => (
    <li key={id} title={id}>
      {message} <span class="quiet">({source})</span>
    </li>
  );
  const more = rules.slice(shownReasons - 1);
  return (
    <>
      <ul class="rules" aria-label={t("Reasons")}>
        <li>{tierMeaning(approval.tier)}</li>
        {rules.slice(0, shownReasons - 1).map(rule)}
      </ul>
      {more.length > 0 && (
        <details class="more-reasons">
          <summary>{count(more.length, "{0} More Reason", "{0} More Reasons")}</summary>
          <ul class="rules">{more.map(rule)}</ul>
        </details>
      )}
    </>
  );
}

interface AnswerOptionProps {
  testId: string;
  id: string;
  shortcut: string;
  text: string;
  busy: boolean;
  kind?: "primary";
  onClick: () => void;
  children: string;
}

function AnswerOption({ testId, id, shortcut, text, busy, kind, onClick, children }: AnswerOptionProps): JSX.Element {
  return (
    <div class="answer">
      <dt>
        <Button
          testId={testId}
          kind={kind ?? "secondary"}
          shortcut={shortcut}
          title={children}
          disabled={busy}
          describedBy={id}
          onClick={onClick}
        >
          {text}
        </Button>
      </dt>
      <dd id={id}>{children}</dd>
    </div>
  );
}
