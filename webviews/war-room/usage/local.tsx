import type { JSX } from "preact";
import type { LocalModel, LocalServer } from "../../../agent-server/contract/models.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem, State } from "../../shared/components.tsx";
import { formatBytes, formatNumber, formatSpan, t } from "../../shared/l10n.ts";
import { Block, Empty, Meter } from "../live-panel.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import type { WarRoom } from "../state.ts";
import type { Busy } from "./state.ts";
import { localLook } from "./words.ts";

function factsOf(model: LocalModel): [string, string][] {
  const { loaded, intent } = model;
  return [
    ...(model.file === null ? [] : [[t("File"), model.file] as [string, string]]),
    ...(model.license === "" ? [] : [[t("Licence"), model.license] as [string, string]]),
    ...(loaded === null || loaded === undefined
      ? []
      : ([
          [t("Context"), t("{0} tokens", formatNumber(loaded.contextSize))],
          [t("Threads"), formatNumber(loaded.threads)],
          [t("Layers on the graphics card"), formatNumber(loaded.gpuLayers)],
          ...(loaded.memoryBytes === null ? [] : [[t("Memory"), formatBytes(loaded.memoryBytes)]]),
          ...(loaded.tokensPerSecond === null
            ? []
            : [[t("Speed"), t("{0} tokens a second", formatNumber(Math.round(loaded.tokensPerSecond * 10) / 10))]]),
          ...(loaded.queued === 0 ? [] : [[t("Waiting requests"), formatNumber(loaded.queued)]]),
          ...(loaded.idleMs < 60_000 ? [] : [[t("Idle"), formatSpan(Math.floor(loaded.idleMs / 60_000) * 60_000)]]),
        ] as [string, string][])),
    ...(intent === undefined ? [] : [[t("Model that sorts requests"), intentText(intent)] as [string, string]]),
  ];
}

function intentText({ status, problem }: NonNullable<LocalModel["intent"]>): string {
  const words = { absent: t("not downloaded"), downloading: t("downloading"), ready: t("ready"), failed: t("failed") }[status];
  return problem === null ? words : `${words}: ${problem}`;
}

const ofLocal: ReadonlySet<Busy> = new Set<Busy>(["download", "pause", "load", "unload"]);

function Actions({ room, model }: { room: WarRoom; model: LocalModel }): JSX.Element {
  const { usage, bridge } = room;
  const busy = usage.busy.value !== null;
  const has = model.status === "ready" || model.status === "loading" || model.status === "loaded";
  const partly = model.doneBytes > 0 && !has;
  return (
    <div class="actions">
      {(model.status === "absent" || model.status === "failed") &&
        (model.paused === true ? (
          <Button icon="debug-continue" disabled={busy} onClick={usage.download}>
            {t("Go on downloading")}
          </Button>
        ) : (
          <Button icon="cloud-download" disabled={busy} onClick={() => bridge.ui(commandAction("downloadLocalModel"))}>
            {t("Download…")}
          </Button>
        ))}
      {model.status === "downloading" && (
        <Button icon="debug-pause" disabled={usage.busy.value === "pause"} onClick={usage.pause}>
          {t("Pause")}
        </Button>
      )}
      {(model.intent?.status === "absent" || model.intent?.status === "failed") && model.status !== "downloading" && (
        <Button icon="cloud-download" disabled={busy} onClick={() => bridge.ui(commandAction("downloadIntentModel"))}>
          {t("Download the model that sorts requests")}
        </Button>
      )}
      {model.status === "ready" && (
        <Button icon="play" disabled={busy} onClick={usage.load}>
          {usage.busy.value === "load" ? t("Loading…") : t("Load now")}
        </Button>
      )}
      {model.status === "loaded" && (
        <Button icon="debug-stop" disabled={busy} onClick={usage.unload}>
          {t("Unload")}
        </Button>
      )}
      {(has || partly) && model.source !== "owner" && model.status !== "downloading" && (
        <Button icon="trash" disabled={busy} onClick={() => bridge.ui(commandAction("deleteLocalModel"))}>
          {t("Delete…")}
        </Button>
      )}
    </div>
  );
}

/** The model on this machine: what it is, how it fits, and what can be done with it. */
export function LocalBlock({ room }: { room: WarRoom }): JSX.Element | null {
  const model = room.store.localModel.value;
  const problem = room.usage.problem.value;
  if (model === null) return null;
  const facts = factsOf(model);
  return (
    <Block title={t("Local model")} wide>
      <p role="status">
        <strong>{model.name}</strong> <State {...localLook(model)} />
      </p>
      {model.source === "server" ? (
        <p class="quiet">{t("config/models.yaml names a server on this machine; it is not run by Lancelot.")}</p>
      ) : (
        <>
          {model.note !== undefined && <p>{model.note}</p>}
          {model.fit !== undefined && <p class="quiet">{model.fit}</p>}
          {model.problem !== null && <Problem text={[model.problem, model.nextStep ?? ""].join(" ").trim()} />}
          {(model.status === "downloading" || model.paused === true) && model.totalBytes > 0 && (
            <Meter
              value={model.doneBytes}
              most={model.totalBytes}
              label={t("Download of the local model")}
              text={t("{0} of {1}", formatBytes(model.doneBytes), formatBytes(model.totalBytes))}
            />
          )}
          {facts.length > 0 && (
            <dl class="facts">
              {facts.map(([name, words]) => (
                <div key={name} class="fact">
                  <dt>{name}</dt>
                  <dd>{words}</dd>
                </div>
              ))}
            </dl>
          )}
          {problem !== null && ofLocal.has(problem.of) && <Problem text={problem.text} />}
          <Actions room={room} model={model} />
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

function serverColumns(room: WarRoom): Column<LocalServer>[] {
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
      title: t("Answers"),
      cell: ({ structured, problem, provider }) => (
        <>
          {problem === null ? (
            <State icon="pass" kind="good" text={t("it answers")} />
          ) : (
            <State icon="warning" kind="warn" text={problem} />
          )}
          {structured !== null && <div class="quiet">{structured ? t("keeps to a given form") : t("does not keep to a given form")}</div>}
          {provider !== null && <div class="quiet">{t("is the provider {0}", provider)}</div>}
        </>
      ),
    },
    {
      title: t("Models"),
      cell: ({ url, models }) =>
        models.length === 0 ? (
          <span class="quiet">{t("none: load one there")}</span>
        ) : (
          <ul class="capabilities">
            {models.map(({ model, contextWindow }) => (
              <li key={model}>
                <span class="mono">{model}</span>{" "}
                {contextWindow !== null && <span class="quiet">{t("{0} tokens", formatNumber(contextWindow))}</span>}{" "}
                <Button label={t("Use {0}", model)} disabled={room.usage.busy.value !== null} onClick={() => room.usage.use(url, model)}>
                  {t("Use")}
                </Button>
              </li>
            ))}
          </ul>
        ),
    },
  ];
}

/** Model servers of the owner's own on this machine, looked for when they ask. */
export function ServersBlock({ room }: { room: WarRoom }): JSX.Element {
  const { servers, busy, problem } = room.usage;
  const found = servers.value;
  const failed = problem.value?.of === "servers" || problem.value?.of === "use" ? problem.value.text : null;
  return (
    <Block
      title={t("Model servers on this machine")}
      wide
      aside={
        <Button icon="search" disabled={busy.value !== null} onClick={room.usage.find}>
          {busy.value === "servers" ? t("Looking…") : t("Look for servers")}
        </Button>
      }
    >
      {failed !== null && <Problem text={failed} />}
      {found === null ? (
        <p class="quiet">{t("Ollama, llama-server, LM Studio and vLLM are found at their usual addresses.")}</p>
      ) : found.length === 0 ? (
        <Empty icon="server" title={t("No model server answers on this machine.")}>
          {t("Start one, or name its address in config/models.yaml, and look again.")}
        </Empty>
      ) : (
        <RecordTable label={t("Model servers on this machine")} rows={found} rowKey={({ url }) => url} columns={serverColumns(room)} />
      )}
    </Block>
  );
}
