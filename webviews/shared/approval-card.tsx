import type { JSX } from "preact";
import { flushSync } from "preact/compat";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Approval, ApprovalDecision } from "../../agent-server/contract/governance.ts";
import { decisionForKey } from "./approval-keys.ts";
import { type Bridge, problemOf } from "./bridge.ts";
import { Button, Icon, Problem, RelativeTime, TierBadge, tierMeaning } from "./components.tsx";
import { Exact } from "./exact.tsx";
import { t } from "./l10n.ts";
import type { Store } from "./store.ts";

interface ApprovalCardProps {
  approval: Approval;
  bridge: Bridge;
  store: Pick<Store, "putApproval">;
}

function canTakeFocus(): boolean {
  const at = document.activeElement;
  return at === null || at === document.body;
}

/**
 * The command apart from the sentences of the host below it: folder, place, network, time. They are the end of the detail, so that a
 * command which holds such sentences itself cannot put others in their place.
 */
export function partsOf({ capability, detail }: Pick<Approval, "capability" | "detail">): { exact: string; facts: readonly string[] } {
  const at = capability === "shell_exec" || capability === "deploy_ops" ? detail.lastIndexOf("\n\nFolder: ") : -1;
  if (at < 0) return { exact: detail, facts: [] };
  return { exact: detail.slice(0, at), facts: detail.slice(at + 2).split("\n") };
}

/** What is asked, exactly; why; and what each answer does. No key answers by accident: see `decisionForKey`. */
export function ApprovalCard({ approval, bridge, store }: ApprovalCardProps): JSX.Element {
  const id = useId();
  const card = useRef<HTMLElement>(null);
  const reasonField = useRef<HTMLInputElement>(null);
  const shownAt = useRef(performance.now());
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  useEffect(() => {
    // Never taken from the composer: the owner may be in the middle of a word.
    if (canTakeFocus()) card.current?.focus({ preventScroll: false });
  }, []);
  useLayoutEffect(() => {
    if (denying) reasonField.current?.focus();
  }, [denying]);

  const decide = async (decision: ApprovalDecision): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      // From the field itself: keys typed since the last drawing are in it already.
      const words = (reasonField.current?.value ?? reason).trim();
      store.putApproval(
        await bridge.call("approvals.decide", {
          id: approval.id,
          decision,
          ...(decision === "deny" && words !== "" ? { reason: words } : {}),
        }),
      );
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
    }
  };

  const answer = (decision: ApprovalDecision): void => {
    // At once, so that the next key is a letter of the reason: on the card it could be an answer.
    if (decision === "deny" && !denying) flushSync(() => setDenying(true));
    else void decide(decision);
  };

  const { exact, facts } = partsOf(approval);

  const onKeyDown = (event: KeyboardEvent): void => {
    const decision = decisionForKey({
      key: event.key,
      modified: event.ctrlKey || event.altKey || event.metaKey,
      repeat: event.repeat,
      inField: event.target instanceof HTMLInputElement,
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
          {t("Your approval: {0}", approval.title)}
        </span>
        <TierBadge tier={approval.tier} />
      </div>
      <div id={`${id}-detail`}>
        <Exact text={exact} label={t("Exactly what will happen")} />
        {facts.length > 0 && (
          <ul class="rules facts-of-command" aria-label={t("Where and how it runs")}>
            {facts.map((fact) => (
              <li key={fact}>{fact}</li>
            ))}
          </ul>
        )}
      </div>
      <ul class="rules" aria-label={t("Why you are asked")}>
        <li>{tierMeaning(approval.tier)}</li>
        {approval.rules.map((rule) => (
          <li key={rule.id} title={rule.id}>
            {rule.message} <span class="quiet">({rule.source})</span>
          </li>
        ))}
      </ul>
      {denying ? (
        <form
          class="deny-form"
          onSubmit={(event) => {
            event.preventDefault();
            void decide("deny");
          }}
        >
          <label for={`${id}-reason`}>{t("Why not? Lancelot reads this and tries another way. (optional)")}</label>
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
              setDenying(false);
              card.current?.focus();
            }}
          />
          <div class="actions">
            <Button kind="primary" disabled={busy} onClick={() => void decide("deny")}>
              {t("Deny")}
            </Button>
            <Button disabled={busy} onClick={() => setDenying(false)}>
              {t("Back")}
            </Button>
          </div>
        </form>
      ) : (
        <dl class="answers">
          <Answer id={`${id}-a`} shortcut="A" text={t("Allow once")} busy={busy} kind="primary" onClick={() => answer("allow_once")}>
            {t("Does exactly this, one time.")}
          </Answer>
          <Answer id={`${id}-t`} shortcut="T" text={t("Allow for this task")} busy={busy} onClick={() => answer("allow_quest")}>
            {t("Does this, and does not ask again in this task for exactly the same.")}
          </Answer>
          <Answer id={`${id}-d`} shortcut="D" text={t("Deny…")} busy={busy} onClick={() => answer("deny")}>
            {t("Does nothing. You can say why.")}
          </Answer>
        </dl>
      )}
      {problem !== null && <Problem text={problem} />}
      <div class="card-foot quiet">
        {t("Without an answer it is not done. Expires:")} <RelativeTime at={approval.expiresAt} />
      </div>
    </section>
  );
}

interface AnswerProps {
  id: string;
  shortcut: string;
  text: string;
  busy: boolean;
  kind?: "primary";
  onClick: () => void;
  children: string;
}

function Answer({ id, shortcut, text, busy, kind, onClick, children }: AnswerProps): JSX.Element {
  return (
    <div class="answer">
      <dt>
        <Button kind={kind ?? "secondary"} shortcut={shortcut} disabled={busy} describedBy={id} onClick={onClick}>
          {text}
        </Button>
      </dt>
      <dd id={id}>{children}</dd>
    </div>
  );
}
