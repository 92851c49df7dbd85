import type { ComponentChildren, JSX } from "preact";
import type { HostState } from "../../agent-server/contract/webview.ts";
import { ApprovalCard } from "../shared/approval-card.tsx";
import { commandAction } from "../shared/commands.ts";
import { Button, Icon, RelativeTime, State } from "../shared/components.tsx";
import { Counts, countLines } from "../shared/diff.tsx";
import { formatNumber, t } from "../shared/l10n.ts";
import { ReceiptRows } from "./receipts/rows.tsx";
import type { WarRoom } from "./state.ts";

function hostText(host: HostState): { icon: string; text: string; kind: string } {
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

function HostTile({ room }: { room: WarRoom }): JSX.Element {
  const host = room.bridge.host.value;
  const info = room.store.info.value;
  return (
    <Tile title={t("Agent host")}>
      <State {...hostText(host)} spin={host.state === "starting" || host.state === "restarting"} />
      {info !== null && (
        <dl class="facts">
          <dt>{t("Workspace")}</dt>
          <dd>{info.workspace ?? t("none")}</dd>
          <dt>{t("Edits")}</dt>
          <dd>{info.posture === "supervised" ? t("proposed for review") : t("applied, with undo")}</dd>
          <dt>{t("Since")}</dt>
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

function ModelTile({ room }: { room: WarRoom }): JSX.Element {
  const models = room.store.models.value;
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
            text={active?.displayName ?? provider?.displayName ?? t("No model is chosen yet.")}
          />
          {provider !== undefined && provider.problem !== null && <p>{provider.problem}</p>}
          {models.problem !== null && <p>{models.problem}</p>}
          {active !== undefined && active.contextWindow !== null && (
            <p class="quiet">{t("Reads up to {0} tokens", formatNumber(active.contextWindow))}</p>
          )}
          <Button onClick={() => room.bridge.ui(commandAction("chooseModel"))}>{t("Choose model")}</Button>
        </>
      )}
    </Tile>
  );
}

function QuestsTile({ room }: { room: WarRoom }): JSX.Element {
  const open = room.store.recentQuests.value.filter(
    ({ status }) => status === "active" || status === "waiting" || status === "interrupted",
  );
  return (
    <Tile title={t("Open tasks")}>
      {open.length === 0 ? (
        <p class="quiet">{t("No task is open. Those that run or wait for you appear here.")}</p>
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
                type="button"
                class="button link ellipsis"
                title={t("Receipts of this task")}
                onClick={() => room.showQuest(quest.id)}
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

function ChangesTile({ room }: { room: WarRoom }): JSX.Element {
  const open = room.store.openChanges.value;
  return (
    <Tile title={t("Proposed changes")}>
      {open.length === 0 ? (
        <p class="quiet">{t("Nothing waits for review. Edits Lancelot proposes appear here.")}</p>
      ) : (
        <>
          <ul class="rows">
            {open.slice(0, 12).map((change) => (
              <li key={change.id}>
                <Icon name="diff-modified" />
                <button
                  type="button"
                  class="button link ellipsis"
                  title={t("Review {0} in the editor", change.path)}
                  onClick={() => room.bridge.ui({ action: "openChange", changeId: change.id })}
                >
                  {change.path}
                </button>
                <span class="spring" />
                <Counts {...countLines(change.hunks)} />
              </li>
            ))}
          </ul>
          <Button icon="diff-multiple" onClick={() => room.bridge.ui({ action: "reviewAll" })}>
            {t("Review all")}
          </Button>
        </>
      )}
    </Tile>
  );
}

function ReceiptsTile({ room }: { room: WarRoom }): JSX.Element {
  const latest = room.store.latestReceipts.value.slice(0, 12);
  return (
    <Tile title={t("Latest receipts")} wide>
      {latest.length === 0 ? (
        <p class="quiet">{t("No receipts yet. Each action leaves one.")}</p>
      ) : (
        <ReceiptRows room={room} receipts={latest} />
      )}
    </Tile>
  );
}

/** What goes on now, and what waits for the owner. */
export function CommandPanel({ room }: { room: WarRoom }): JSX.Element {
  const approvals = room.store.pendingApprovals.value;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
    <div class="command" tabIndex={0} role="region" aria-label={t("Overview")}>
      {approvals.length > 0 && (
        <section class="approvals" aria-label={t("Waiting for your approval")}>
          {approvals.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} bridge={room.bridge} store={room.store} />
          ))}
        </section>
      )}
      <div class="tiles">
        <HostTile room={room} />
        <ModelTile room={room} />
        <QuestsTile room={room} />
        <ChangesTile room={room} />
        <ReceiptsTile room={room} />
      </div>
    </div>
  );
}
