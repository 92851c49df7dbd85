import type { ComponentChildren, JSX } from "preact";
import type { HostState } from "../../agent-server/contract/webview.ts";
import { ApprovalCard } from "../shared/approval-card.tsx";
import { commandAction } from "../shared/commands.ts";
import { Button, Icon, RelativeTime, State, type StateProps } from "../shared/components.tsx";
import { Counts, countLines } from "../shared/diff.tsx";
import { formatNumber, t } from "../shared/l10n.ts";
import { ReceiptRows } from "./receipts/receipt-rows.tsx";
import type { WarRoom } from "./war-room-state.ts";

function hostText(host: HostState): StateProps {
  switch (host.state) {
    case "ready":
      return { icon: "pass", text: t("Running"), kind: "good" };
    case "starting":
    case "restarting":
      return { icon: "loading", text: t("Starting"), kind: "attention" };
    case "stopped":
    case "failed":
      return { icon: "error", text: t("Not running"), kind: "bad" };
  }
}

function Tile({ title, children, wide }: { title: string; children: ComponentChildren; wide?: boolean }): JSX.Element {
  return (
    <section class={`tile ${wide ? "wide" : ""}`} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function HostTile({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const host = warRoom.bridge.host.value;
  const info = warRoom.store.info.value;
  return (
    <Tile title={t("Agent host")}>
      <State {...hostText(host)} spin={host.state === "starting" || host.state === "restarting"} />
      {info !== null && (
        <dl class="facts">
          <dt>{t("Workspace")}</dt>
          <dd>{info.workspace ?? t("None")}</dd>
          <dt>{t("Edits")}</dt>
          <dd>{info.posture === "supervised" ? t("Need your review") : t("Applied after a checkpoint")}</dd>
          <dt>{t("Running since")}</dt>
          <dd>
            <RelativeTime at={info.startedAt} />
          </dd>
          <dt>{t("Version")}</dt>
          <dd>{info.version}</dd>
        </dl>
      )}
    </Tile>
  );
}

function ModelTile({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const models = warRoom.store.models.value;
  const active = models?.items.find((model) => model.active);
  const provider = models?.providers.find((candidate) => candidate.active);
  return (
    <Tile title={t("Model")}>
      {models === null ? (
        <span class="quiet">{t("Loading…")}</span>
      ) : (
        <>
          <State
            icon={provider === undefined || provider.problem !== null ? "warning" : "sparkle"}
            kind={provider === undefined || provider.problem !== null ? "attention" : "good"}
            text={active?.displayName ?? provider?.displayName ?? t("No model selected. Choose a model to start.")}
          />
          {provider !== undefined && provider.problem !== null && <p>{provider.problem}</p>}
          {models.problem !== null && <p>{models.problem}</p>}
          {active !== undefined && active.contextWindow !== null && (
            <p class="quiet">{t("Context window: {0} tokens", formatNumber(active.contextWindow))}</p>
          )}
          <Button testId="choose-model" onClick={() => warRoom.bridge.ui(commandAction("chooseModel"))}>
            {t("Choose Model")}
          </Button>
        </>
      )}
    </Tile>
  );
}

function QuestsTile({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const open = warRoom.store.recentQuests.value.filter(
    ({ status }) => status === "active" || status === "waiting" || status === "interrupted",
  );
  return (
    <Tile title={t("Open tasks")}>
      {open.length === 0 ? (
        <p class="quiet">{t("No open tasks. Running and pending tasks appear here.")}</p>
      ) : (
        <ul class="rows">
          {open.map((quest) => (
            <li key={quest.id}>
              <State
                icon={quest.status === "active" ? "loading" : quest.status === "waiting" ? "bell" : "debug-disconnect"}
                spin={quest.status === "active"}
                kind={quest.status === "active" ? "" : "attention"}
                text={quest.status === "active" ? t("Running") : quest.status === "waiting" ? t("Waiting for you") : t("Interrupted")}
                quiet
              />
              <button
                data-testid={`task-receipts:${quest.id}`}
                type="button"
                class="button link ellipsis"
                title={t("Show receipts of this task")}
                onClick={() => warRoom.showQuest(quest.id)}
              >
                {quest.title}
              </button>
              <span class="spring" />
              <span class="quiet">
                <RelativeTime at={quest.updatedAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Tile>
  );
}

function ChangesTile({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const open = warRoom.store.openChanges.value;
  return (
    <Tile title={t("Proposed changes")}>
      {open.length === 0 ? (
        <p class="quiet">{t("No changes to review. Proposed edits appear here.")}</p>
      ) : (
        <>
          <ul class="rows">
            {open.slice(0, 12).map((change) => (
              <li key={change.id}>
                <Icon name="diff-modified" />
                <button
                  data-testid={`open-change:${change.path}`}
                  type="button"
                  class="button link ellipsis"
                  title={t("Review {0} in the editor", change.path)}
                  onClick={() => warRoom.bridge.ui({ action: "openChange", changeId: change.id })}
                >
                  {change.path}
                </button>
                <span class="spring" />
                <Counts {...countLines(change.hunks)} />
              </li>
            ))}
          </ul>
          <Button testId="review-all" icon="diff-multiple" onClick={() => warRoom.bridge.ui({ action: "reviewAll" })}>
            {t("Review All")}
          </Button>
        </>
      )}
    </Tile>
  );
}

function ReceiptsTile({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const latest = warRoom.store.latestReceipts.value.slice(0, 12);
  return (
    <Tile title={t("Latest receipts")} wide>
      {latest.length === 0 ? (
        <p class="quiet">{t("No receipts yet. Each action creates one.")}</p>
      ) : (
        <ReceiptRows warRoom={warRoom} receipts={latest} />
      )}
    </Tile>
  );
}

/** The current activity and all pending requests. */
export function CommandPanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const approvals = warRoom.store.pendingApprovals.value;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
    <div class="command" tabIndex={0} role="region" aria-label={t("Overview")}>
      {approvals.length > 0 && (
        <section class="approvals" aria-label={t("Waiting for your approval")}>
          {approvals.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} bridge={warRoom.bridge} store={warRoom.store} />
          ))}
        </section>
      )}
      <div class="tiles">
        <HostTile warRoom={warRoom} />
        <ModelTile warRoom={warRoom} />
        <QuestsTile warRoom={warRoom} />
        <ChangesTile warRoom={warRoom} />
        <ReceiptsTile warRoom={warRoom} />
      </div>
    </div>
  );
}
