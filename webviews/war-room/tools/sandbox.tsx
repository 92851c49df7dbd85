import type { JSX } from "preact";
import type { DoctorLine, SandboxState } from "../../../agent-server/contract/providers.ts";
import { type CommandName, commandAction } from "../../shared/commands.ts";
import { Button, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { formatBytes, formatNumber, formatSpan, t } from "../../shared/l10n.ts";
import { Block, Empty } from "../live-panel.tsx";
import type { WarRoom } from "../state.ts";
import { containerLook, doctorLook, imageLook, placeLook, sourceText } from "./words.ts";

function Engine({ engine }: Pick<SandboxState, "engine">): JSX.Element {
  if (engine === null) return <>{t("none found")}</>;
  const name = `${engine.name === "docker" ? "Docker" : "Podman"} ${engine.version}`;
  return (
    <>
      {name} <span class="quiet">{engine.remote ? t("by {0}, on another machine", engine.via) : t("by {0}", engine.via)}</span>
    </>
  );
}

function Image({ image }: Pick<SandboxState, "image">): JSX.Element {
  return (
    <>
      <State {...imageLook(image)} /> <span class="mono">{image.name}</span>{" "}
      <span class="quiet">
        {sourceText(image.source)}
        {image.bytes !== null && `, ${formatBytes(image.bytes)}`}
      </span>
      {image.message !== null && <div class="mono build-line">{image.message}</div>}
    </>
  );
}

function Container({ container }: Pick<SandboxState, "container">): JSX.Element {
  return (
    <>
      <State {...containerLook(container)} />{" "}
      <span class="quiet">
        {container.id !== null && <code title={container.id}>{container.id.slice(0, 12)}</code>}
        {container.since !== null && (
          <>
            {" "}
            {t("since")} <RelativeTime at={container.since} />
          </>
        )}
      </span>
    </>
  );
}

function limitsText({ memoryBytes, cpus, processes, timeoutMs, outputBytes }: SandboxState["limits"]): string {
  return t(
    "{0} memory, {1} processors, {2} processes, {3} a command, {4} output",
    formatBytes(memoryBytes),
    formatNumber(cpus),
    formatNumber(processes),
    formatSpan(timeoutMs),
    formatBytes(outputBytes),
  );
}

function Facts({ state }: { state: SandboxState }): JSX.Element {
  return (
    <dl class="facts">
      <dt>{t("Engine")}</dt>
      <dd>
        <Engine engine={state.engine} />
      </dd>
      <dt>{t("Image")}</dt>
      <dd>{state.engine === null ? <span class="quiet">{t("needs a container engine")}</span> : <Image image={state.image} />}</dd>
      <dt>{t("Container")}</dt>
      <dd>
        {state.engine === null ? <span class="quiet">{t("needs a container engine")}</span> : <Container container={state.container} />}
      </dd>
      <dt>{t("System sandbox")}</dt>
      <dd>{state.osSandbox === null ? t("none found") : `${state.osSandbox.name} ${state.osSandbox.version ?? ""}`.trim()}</dd>
      <dt>{t("Limits")}</dt>
      <dd>{limitsText(state.limits)}</dd>
      <dt>{t("Network")}</dt>
      <dd>{state.network === "off" ? t("none") : t("the hosts of your list, for commands that were allowed it")}</dd>
    </dl>
  );
}

/** Where commands run, and in what state that is; with what can be done about it. */
export function SandboxBlock({ room }: { room: WarRoom }): JSX.Element {
  const { sandbox, busy, problem } = room.tools;
  const state = sandbox.value.value;
  const failed = sandbox.problem.value;
  const building = state?.image.state === "building";
  return (
    <Block title={t("Where commands run")} wide>
      {failed !== null && (
        <Problem text={failed.text}>
          <Button onClick={sandbox.refresh}>{t("Try again")}</Button>
        </Problem>
      )}
      {state === null && failed === null && <p class="quiet">{t("Loading…")}</p>}
      {state !== null && (
        <>
          <p role="status" class="sandbox-place">
            <State {...placeLook(state)} />
          </p>
          <p>
            {state.message} {state.nextStep !== null && <strong>{state.nextStep}</strong>}
          </p>
          <Facts state={state} />
        </>
      )}
      {problem.value !== null && <Problem text={problem.value} />}
      <div class="actions">
        {building ? (
          <Button icon="close" disabled={busy.value === "cancel"} onClick={room.tools.cancelBuild}>
            {t("Cancel the build")}
          </Button>
        ) : (
          <Button icon="package" disabled={busy.value !== null || state === null || state.engine === null} onClick={room.tools.build}>
            {t("Build image")}
          </Button>
        )}
        <Button
          icon="debug-restart"
          disabled={state === null || state.place === null}
          onClick={() => room.bridge.ui(commandAction("restartSandbox"))}
        >
          {t("Restart…")}
        </Button>
        <Button icon="pulse" disabled={busy.value !== null} onClick={room.tools.examine}>
          {busy.value === "doctor" ? t("Looking…") : t("Doctor")}
        </Button>
      </div>
    </Block>
  );
}

const fixes: Readonly<Record<NonNullable<DoctorLine["action"]>, { command: CommandName; text: () => string }>> = {
  build_image: { command: "buildSandbox", text: () => t("Build image") },
  restart_sandbox: { command: "restartSandbox", text: () => t("Restart…") },
  open_flags: { command: "setFlag", text: () => t("Switch a flag…") },
  open_settings: { command: "openSettings", text: () => t("Open settings") },
};

/** What the machine has for tools, a line each, with a button that mends it or a sentence that says how. */
export function DoctorBlock({ room }: { room: WarRoom }): JSX.Element | null {
  const lines = room.tools.doctor.value;
  if (lines === null) return null;
  return (
    <Block title={t("What this machine has")} wide>
      {lines.length === 0 ? (
        <Empty icon="pulse" title={t("There was nothing to look at.")}>
          {t("Run Doctor again once the agent host has started.")}
        </Empty>
      ) : (
        <ul class="doctor">
          {lines.map((line) => {
            const fix = line.action === null ? null : fixes[line.action];
            return (
              <li key={line.id}>
                <State {...doctorLook(line.status)} quiet />
                <div class="doctor-words">
                  <strong>{line.title}</strong> {line.message}
                  {line.nextStep !== null && <div class="quiet">{line.nextStep}</div>}
                </div>
                {fix !== null && (
                  <Button label={t("{0}: {1}", fix.text(), line.title)} onClick={() => room.bridge.ui(commandAction(fix.command))}>
                    {fix.text()}
                  </Button>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </Block>
  );
}
