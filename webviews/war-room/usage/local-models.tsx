import type { JSX } from "preact";
import type { LocalModel, LocalServer } from "../../../agent-server/contract/models.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem, State } from "../../shared/components.tsx";
import { formatBytes, formatNumber, formatSpan, t } from "../../shared/l10n.ts";
import { Block, EmptyState, Meter } from "../live-panel.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import type { WarRoom } from "../war-room-state.ts";
import type { UsageRequest } from "./usage-state.ts";
import { localModelState } from "./usage-labels.ts";

function factsOf(model: LocalModel): [string, string][] {
  const { loaded, intent } = model;
  return [
    ...(model.file === null ? [] : [[t("File"), model.file] as [string, string]]),
    ...(model.license === "" ? [] : [[t("License"), model.license] as [string, string]]),
    ...(loaded === null || loaded === undefined
      ? []
      : ([
          [t("Context window"), t("{0} tokens", formatNumber(loaded.contextSize))],
          [t("Threads"), formatNumber(loaded.threads)],
          [t("GPU layers"), formatNumber(loaded.gpuLayers)],
          ...(loaded.memoryBytes === null ? [] : [[t("Memory"), formatBytes(loaded.memoryBytes)]]),
          ...(loaded.tokensPerSecond === null
            ? []
            : [[t("Speed"), t("{0} tokens/s", formatNumber(Math.round(loaded.tokensPerSecond * 10) / 10))]]),
          ...(loaded.queued === 0 ? [] : [[t("Queued requests"), formatNumber(loaded.queued)]]),
          ...(loaded.idleMs < 60_000 ? [] : [[t("Idle"), formatSpan(Math.floor(loaded.idleMs / 60_000) * 60_000)]]),
        ] as [string, string][])),
    ...(intent === undefined ? [] : [[t("Intent classifier"), intentText(intent)] as [string, string]]),
  ];
}

function intentText({ status, problem }: NonNullable<LocalModel["intent"]>): string {
  const text = { absent: t("Not downloaded"), downloading: t("Downloading"), ready: t("Ready"), failed: t("Failed") }[status];
  return problem === null ? text : `${text}: ${problem}`;
}

const localModelRequests: ReadonlySet<UsageRequest> = new Set<UsageRequest>(["download", "pause", "load", "unload"]);

function Actions({ warRoom, model }: { warRoom: WarRoom; model: LocalModel }): JSX.Element {
  const { usage, bridge } = warRoom;
  const busy = usage.busy.value !== null;
  const has = model.status === "ready" || model.status === "loading" || model.status === "loaded";
  const partly = model.doneBytes > 0 && !has;
  return (
    <div class="actions">
      {(model.status === "absent" || model.status === "failed") &&
        (model.paused === true ? (
          <Button testId="resume-download" icon="debug-continue" disabled={busy} onClick={usage.download}>
            {t("Resume Download")}
          </Button>
        ) : (
          <Button
            testId="download-model"
            icon="cloud-download"
            disabled={busy}
            onClick={() => bridge.ui(commandAction("downloadLocalModel"))}
          >
            {t("Download…")}
          </Button>
        ))}
      {model.status === "downloading" && (
        <Button testId="pause-download" icon="debug-pause" disabled={usage.busy.value === "pause"} onClick={usage.pause}>
          {t("Pause")}
        </Button>
      )}
      {(model.intent?.status === "absent" || model.intent?.status === "failed") && model.status !== "downloading" && (
        <Button
          testId="download-intent-classifier"
          icon="cloud-download"
          disabled={busy}
          onClick={() => bridge.ui(commandAction("downloadIntentModel"))}
        >
          {t("Download Intent Classifier")}
        </Button>
      )}
      {model.status === "ready" && (
        <Button testId="load-model" icon="play" disabled={busy} onClick={usage.load}>
          {usage.busy.value === "load" ? t("Loading…") : t("Load")}
        </Button>
      )}
      {model.status === "loaded" && (
        <Button testId="unload-model" icon="debug-stop" disabled={busy} onClick={usage.unload}>
          {t("Unload")}
        </Button>
      )}
      {(has || partly) && model.source !== "owner" && model.status !== "downloading" && (
        <Button testId="delete-model" icon="trash" disabled={busy} onClick={() => bridge.ui(commandAction("deleteLocalModel"))}>
          {t("Delete…")}
        </Button>
      )}
    </div>
  );
}

/** The local model: its facts, its memory use and its actions. */
export function LocalBlock({ warRoom }: { warRoom: WarRoom }): JSX.Element | null {
  const model = warRoom.store.localModel.value;
  const problem = warRoom.usage.problem.value;
  if (model === null) return null;
  const facts = factsOf(model);
  return (
    <Block testId="local-model" title={t("Local model")} wide>
      <p role="status">
        <strong>{model.name}</strong> <State {...localModelState(model)} />
      </p>
      {model.source === "server" ? (
        <p class="quiet">{t("This server comes from config/models.yaml. Lancelot does not start or stop it.")}</p>
      ) : (
        <>
          {model.note !== undefined && <p>{model.note}</p>}
          {model.fit !== undefined && <p class="quiet">{model.fit}</p>}
          {model.problem !== null && <Problem text={[model.problem, model.nextStep ?? ""].join(" ").trim()} />}
          {(model.status === "downloading" || model.paused === true) && model.totalBytes > 0 && (
            <Meter
              value={model.doneBytes}
              max={model.totalBytes}
              label={t("Download of the local model")}
              text={t("{0} of {1}", formatBytes(model.doneBytes), formatBytes(model.totalBytes))}
            />
          )}
          {facts.length > 0 && (
            <dl class="facts">
              {facts.map(([name, value]) => (
                <div key={name} class="fact">
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          )}
          {problem !== null && localModelRequests.has(problem.request) && <Problem text={problem.text} />}
          <Actions warRoom={warRoom} model={model} />
        </>
      )}
    </Block>
  );
}

const kindNames: Record<LocalServer["kind"], string> = {
  ollama: "Ollama",
  "llama-server": "llama-server",
  "lm-studio": "LM Studio",
  vllm: "vLLM",
  other: "",
};

function serverColumns(warRoom: WarRoom): Column<LocalServer>[] {
  return [
    {
      title: t("Server"),
      cell: ({ displayName, kind, url }) => (
        <>
          {displayName} {kindNames[kind] !== displayName && <span class="quiet">{kindNames[kind]}</span>}
          <div class="mono quiet">{url}</div>
        </>
      ),
    },
    {
      title: t("Status"),
      cell: ({ structured, problem, provider }) => (
        <>
          {problem === null ? (
            <State icon="pass" kind="good" text={t("Responding")} />
          ) : (
            <State icon="warning" kind="warn" text={problem} />
          )}
          {structured !== null && <div class="quiet">{structured ? t("Structured output") : t("No structured output")}</div>}
          {provider !== null && <div class="quiet">{t("Used as provider {0}", provider)}</div>}
        </>
      ),
    },
    {
      title: t("Models"),
      cell: ({ url, models }) =>
        models.length === 0 ? (
          <span class="quiet">{t("No models. Load a model in the server.")}</span>
        ) : (
          <ul class="capabilities">
            {models.map(({ model, contextWindow }) => (
              <li key={model}>
                <span class="mono">{model}</span>{" "}
                {contextWindow !== null && <span class="quiet">{t("{0} tokens", formatNumber(contextWindow))}</span>}{" "}
                <Button
                  testId={`use-model:${model}`}
                  label={t("Use {0}", model)}
                  disabled={warRoom.usage.busy.value !== null}
                  onClick={() => warRoom.usage.useServer(url, model)}
                >
                  {t("Use")}
                </Button>
              </li>
            ))}
          </ul>
        ),
    },
  ];
}

/** Model servers on this machine. The user starts the search. */
export function ServersBlock({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { servers, busy, problem } = warRoom.usage;
  const found = servers.value;
  const failed = problem.value?.request === "servers" || problem.value?.request === "use" ? problem.value.text : null;
  return (
    <Block
      title={t("Model servers on this machine")}
      wide
      aside={
        <Button testId="find-servers" icon="search" disabled={busy.value !== null} onClick={warRoom.usage.findServers}>
          {busy.value === "servers" ? t("Checking…") : t("Find Servers")}
        </Button>
      }
    >
      {failed !== null && <Problem text={failed} />}
      {found === null ? (
        <p class="quiet">{t("Lancelot can find Ollama, llama-server, LM Studio and vLLM at their default addresses.")}</p>
      ) : found.length === 0 ? (
        <EmptyState icon="server" title={t("No model server responded on this machine.")}>
          {t("Start a server or add its address to config/models.yaml, then search again.")}
        </EmptyState>
      ) : (
        <RecordTable label={t("Model servers on this machine")} rows={found} rowKey={({ url }) => url} columns={serverColumns(warRoom)} />
      )}
    </Block>
  );
}
