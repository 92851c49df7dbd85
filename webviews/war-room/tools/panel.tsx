import type { JSX } from "preact";
import type { ProviderInfo } from "../../../agent-server/contract/providers.ts";
import { Button, Icon, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { count, t } from "../../shared/l10n.ts";
import { Block, LivePanel } from "../live-panel.tsx";
import { ListBlock } from "../proposals.tsx";
import { ReceiptRows } from "../receipts/rows.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import { SafeModeSwitch } from "../safe-mode.tsx";
import type { WarRoom } from "../state.ts";
import { DoctorBlock, SandboxBlock } from "./sandbox.tsx";
import type { Route, ToolsView } from "./state.ts";
import { healthLook } from "./words.ts";

const receiptsShown = 8;
const toolTypes: ReadonlySet<string> = new Set(["tool_call", "file_op", "env_query"]);

function providerColumns(): Column<ProviderInfo>[] {
  return [
    {
      title: t("Provider"),
      cell: ({ title, version, local }) => (
        <>
          {title} {version !== null && <span class="quiet nowrap">{version}</span>}
          {!local && <div class="quiet">{t("not of this machine")}</div>}
        </>
      ),
    },
    {
      title: t("Health"),
      cell: ({ health, flag }) => (
        <>
          <State {...healthLook(health.status)} />
          <div>{health.message}</div>
          {health.nextStep !== null && <div>{health.nextStep}</div>}
          <div class="quiet">
            {flag !== null && t("Needs the flag {0}.", flag)}{" "}
            {health.checkedAt !== null && (
              <>
                {t("Looked at:")} <RelativeTime at={health.checkedAt} />
              </>
            )}
          </div>
        </>
      ),
    },
    {
      title: t("Can do"),
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
      title: t("Goes to"),
      cell: ({ decision }) =>
        decision.provider === null ? <State icon="error" kind="bad" text={t("none")} /> : <span>{titleOf(decision.provider)}</span>,
    },
    { title: t("Why"), cell: ({ decision }) => decision.reason },
    {
      title: t("Else"),
      cell: ({ decision }) =>
        decision.alternatives.length === 0 ? (
          <span class="quiet">{t("no other")}</span>
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

function RecentReceipts({ room }: { room: WarRoom }): JSX.Element {
  const latest = room.store.latestReceipts.value.filter(({ actionType }) => toolTypes.has(actionType)).slice(0, receiptsShown);
  return (
    <ListBlock
      title={t("Latest receipts of tools")}
      items={latest}
      nothing={{
        icon: "verified",
        title: t("No tool has been used lately."),
        text: t("Each thing a tool does leaves a receipt; the latest are listed here."),
      }}
    >
      {(items) => <ReceiptRows room={room} receipts={items} />}
    </ListBlock>
  );
}

function Content({ room, view }: { room: WarRoom; view: ToolsView }): JSX.Element {
  const titles = new Map(view.providers.map(({ id, title }) => [id, title]));
  const down = view.providers.filter(({ health }) => health.status === "down").length;
  const { busy } = room.tools;
  return (
    <>
      <Block
        title={t("Providers")}
        wide
        aside={
          <Button icon="refresh" disabled={busy.value !== null} onClick={room.tools.check}>
            {busy.value === "health" ? t("Looking…") : t("Look now")}
          </Button>
        }
      >
        <p class="sr-only" role="status">
          {down > 0 && count(down, "{0} provider does not work", "{0} providers do not work")}
        </p>
        {view.providers.length === 0 ? (
          <Problem text={t("No provider is there, so no tool can do anything. The log may say why.")} />
        ) : (
          <RecordTable label={t("Providers")} rows={view.providers} rowKey={({ id }) => id} columns={providerColumns()} />
        )}
      </Block>
      {view.routes.length > 0 && (
        <Block title={t("Where each capability goes")} wide>
          <RecordTable
            label={t("Where each capability goes")}
            rows={view.routes}
            rowKey={({ capability }) => capability}
            columns={routeColumns(titles)}
          />
        </Block>
      )}
    </>
  );
}

/** What carries out the tools' actions: the sandbox, the providers and the way each capability takes. */
export function ToolsPanel({ room }: { room: WarRoom }): JSX.Element {
  const info = room.store.info.value;
  return (
    <LivePanel
      room={room}
      look="tools"
      live={room.tools.view}
      label={t("Tools")}
      before={
        <>
          <SandboxBlock room={room} />
          <DoctorBlock room={room} />
          {info !== null && (
            <Block title={t("Safe mode")} wide>
              <SafeModeSwitch room={room} on={info.safeMode} />
            </Block>
          )}
        </>
      }
      after={<RecentReceipts room={room} />}
    >
      {(view) => <Content room={room} view={view} />}
    </LivePanel>
  );
}
