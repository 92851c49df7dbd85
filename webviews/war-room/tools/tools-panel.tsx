import type { JSX } from "preact";
import type { ProviderInfo } from "../../../agent-server/contract/providers.ts";
import { Button, Icon, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { count, t } from "../../shared/l10n.ts";
import { Block, ListBlock, LivePanel } from "../live-panel.tsx";
import { ReceiptRows } from "../receipts/receipt-rows.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import { SafeModeSwitch } from "../safe-mode.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { DoctorBlock, SandboxBlock } from "./sandbox-status.tsx";
import type { Route, ToolsView } from "./tools-state.ts";
import { healthState } from "./tool-labels.ts";

const receiptsShown = 8;
const toolTypes: ReadonlySet<string> = new Set(["tool_call", "file_op", "env_query"]);

function providerColumns(): Column<ProviderInfo>[] {
  return [
    {
      title: t("Provider"),
      cell: ({ title, version, local }) => (
        <>
          {title} {version !== null && <span class="quiet nowrap">{version}</span>}
          {!local && <div class="quiet">{t("Remote")}</div>}
        </>
      ),
    },
    {
      title: t("Health"),
      cell: ({ health, flag }) => (
        <>
          <State {...healthState(health.status)} />
          <div>{health.message}</div>
          {health.nextStep !== null && <div>{health.nextStep}</div>}
          <div class="quiet">
            {flag !== null && t("Requires the flag {0}.", flag)}{" "}
            {health.checkedAt !== null && (
              <>
                {t("Last checked:")} <RelativeTime at={health.checkedAt} />
              </>
            )}
          </div>
        </>
      ),
    },
    {
      title: t("Capabilities"),
      cell: ({ capabilities }) => (
        <ul class="capabilities">
          {capabilities.map(({ capability, actions }) => (
            <li key={capability}>
              <span class="mono">{capability}</span> <span class="quiet">{actions.join(", ")}</span>
            </li>
          ))}
        </ul>
      ),
    },
    { title: t("Priority"), number: true, cell: ({ priority }) => priority },
  ];
}

function routeColumns(titles: ReadonlyMap<string, string>): Column<Route>[] {
  const titleOf = (id: string): string => titles.get(id) ?? id;
  return [
    { title: t("Capability"), cell: ({ capability }) => <span class="mono">{capability}</span> },
    {
      title: t("Provider"),
      cell: ({ decision }) =>
        decision.provider === null ? <State icon="error" kind="bad" text={t("None")} /> : <span>{titleOf(decision.provider)}</span>,
    },
    { title: t("Reason"), cell: ({ decision }) => decision.reason },
    {
      title: t("Alternatives"),
      cell: ({ decision }) =>
        decision.alternatives.length === 0 ? (
          <span class="quiet">{t("None")}</span>
        ) : (
          <ul class="capabilities">
            {decision.alternatives.map(({ provider, usable, reason }) => (
              <li key={provider}>
                <Icon name={usable ? "circle-outline" : "circle-slash"} />
                {titleOf(provider)} <span class="quiet">{reason}</span>
              </li>
            ))}
          </ul>
        ),
    },
  ];
}

function RecentReceipts({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const latest = warRoom.store.latestReceipts.value.filter(({ actionType }) => toolTypes.has(actionType)).slice(0, receiptsShown);
  return (
    <ListBlock
      title={t("Latest tool receipts")}
      items={latest}
      empty={{
        icon: "verified",
        title: t("No recent tool actions."),
        text: t("Each tool action creates a receipt. The latest ones appear here."),
      }}
    >
      {(items) => <ReceiptRows warRoom={warRoom} receipts={items} />}
    </ListBlock>
  );
}

function Content({ warRoom, view }: { warRoom: WarRoom; view: ToolsView }): JSX.Element {
  const titles = new Map(view.providers.map(({ id, title }) => [id, title]));
  const down = view.providers.filter(({ health }) => health.status === "down").length;
  const { busy } = warRoom.tools;
  return (
    <>
      <Block
        title={t("Providers")}
        wide
        aside={
          <Button testId="check-now" icon="refresh" disabled={busy.value !== null} onClick={warRoom.tools.checkHealth}>
            {busy.value === "health" ? t("Checking…") : t("Check Now")}
          </Button>
        }
      >
        <p class="sr-only" role="status">
          {down > 0 && count(down, "{0} provider is not working", "{0} providers are not working")}
        </p>
        {view.providers.length === 0 ? (
          <Problem text={t("No tool providers are available, so Lancelot cannot use tools. Check the log for the cause.")} />
        ) : (
          <RecordTable label={t("Providers")} rows={view.providers} rowKey={({ id }) => id} columns={providerColumns()} />
        )}
      </Block>
      {view.routes.length > 0 && (
        <Block title={t("Capability routing")} wide>
          <RecordTable
            label={t("Capability routing")}
            rows={view.routes}
            rowKey={({ capability }) => capability}
            columns={routeColumns(titles)}
          />
        </Block>
      )}
    </>
  );
}

/** The sandbox, the providers and the routing of each capability. */
export function ToolsPanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const info = warRoom.store.info.value;
  return (
    <LivePanel
      warRoom={warRoom}
      className="tools"
      live={warRoom.tools.view}
      label={t("Tools")}
      before={
        <>
          <SandboxBlock warRoom={warRoom} />
          <DoctorBlock warRoom={warRoom} />
          {info !== null && (
            <Block title={t("Safe mode")} wide>
              <SafeModeSwitch warRoom={warRoom} on={info.safeMode} />
            </Block>
          )}
        </>
      }
      after={<RecentReceipts warRoom={warRoom} />}
    >
      {(view) => <Content warRoom={warRoom} view={view} />}
    </LivePanel>
  );
}
