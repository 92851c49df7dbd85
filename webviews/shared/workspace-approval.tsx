import type { JSX } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ApprovalScope } from "../../agent-server/contract/governance.ts";
import { Button } from "./components.tsx";
import { containmentText } from "./containment.ts";
import { t } from "./l10n.ts";

/** Where and how commands of a scope run, one fact per entry; empty for an action that is not a command. */
export function scopeFacts({ folder, containment, network }: ApprovalScope): string[] {
  if (containment === null) return [];
  return [
    folder === null || folder === "." ? t("Folder: the workspace") : t("Folder: {0}", folder),
    containmentText(containment),
    containment === "host" ? t("Network: not limited") : network === true ? t("With network access") : t("Without network access"),
  ];
}

/** What a scope covers, besides its pattern. */
function scopeEffect({ match }: ApprovalScope): string {
  switch (match) {
    case "exact":
      return t("Only this");
    case "prefix":
      return t("Every plain command that begins like this");
    case "path":
      return t("The same action on every file in this folder");
  }
}

interface WorkspaceApprovalFormProps {
  scopes: readonly ApprovalScope[];
  busy: boolean;
  /** Called with the index of the chosen scope. */
  onSave: (scope: number) => void;
  onBack: () => void;
}

/** Shows the exact scope of an approval for the workspace, which the user can narrow before saving it. */
export function WorkspaceApprovalForm({ scopes, busy, onSave, onBack }: WorkspaceApprovalFormProps): JSX.Element {
  const name = useId();
  const first = useRef<HTMLInputElement>(null);
  const [index, setIndex] = useState(0);
  const chosen = scopes[index];
  // The next key must belong to the form, not answer the card.
  useLayoutEffect(() => first.current?.focus(), []);
  return (
    <form
      class="approval-form"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(index);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onBack();
      }}
    >
      <fieldset class="scopes">
        <legend>{t("Always allow in this workspace")}</legend>
        {scopes.map((scope, at) => (
          <label key={`${scope.match} ${scope.pattern}`} class="scope">
            <input
              ref={at === 0 ? first : null}
              type="radio"
              name={name}
              data-testid={`scope:${at}`}
              checked={at === index}
              onChange={() => setIndex(at)}
            />
            <span>
              <code>{scope.pattern}</code> <span class="quiet">{scopeEffect(scope)}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <ul class="rules" aria-label={t("Limits of this approval")}>
        {chosen !== undefined && scopeFacts(chosen).map((fact) => <li key={fact}>{fact}</li>)}
        <li>{t("Asks again when a script that it runs changes, or another rule applies.")}</li>
        <li>{t("Ends after 90 days without use. You can revoke it in the War Room, under Governance.")}</li>
      </ul>
      <div class="actions">
        <Button testId="save-scope" kind="primary" disabled={busy} onClick={() => onSave(index)}>
          {t("Save and Allow")}
        </Button>
        <Button testId="cancel-scope" disabled={busy} onClick={onBack}>
          {t("Back")}
        </Button>
      </div>
    </form>
  );
}
