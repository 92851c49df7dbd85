import type { JSX } from "preact";
import type { DoctorLine, SandboxState } from "../../../agent-server/contract/providers.ts";
import { containmentText } from "../../shared/containment.ts";
import { type CommandName, commandAction } from "../../shared/commands.ts";
import { Button, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { formatBytes, formatNumber, formatSpan, t } from "../../shared/l10n.ts";
import { Block, EmptyState } from "../live-panel.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { containerState, doctorState, imageState, placeState, sourceText } from "./tool-labels.ts";

function Engine({ engine }: Pick<SandboxState, "engine">): JSX.Element {
  if (engine === null) return <>{t("None found")}</>;
  const name = `${engine.name === "docker" ? "Docker" : "Podman"} ${engine.version}`;
  return (
    <>
      {name} <span class="quiet">{engine.remote ? t("via {0} (remote)", engine.via) : t("via {0}", engine.via)}</span>
    </>
  );
}

function Image({ image }: Pick<SandboxState, "image">): JSX.Element {
  return (
    <>
      <State {...imageState(image)} /> <span class="mono">{image.name}</span>{" "}
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
      <State {...containerState(container)} />{" "}
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
    "{0} memory, {1} CPUs, {2} processes, {3} per command, {4} output",
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
      <dt>{t("Containment")}</dt>
      <dd>{state.containment === undefined ? t("Not known yet") : containmentText(state.containment)}</dd>
      <dt>{t("Engine")}</dt>
      <dd>
        <Engine engine={state.engine} />
      </dd>
      <dt>{t("Image")}</dt>
      <dd>{state.engine === null ? <span class="quiet">{t("Requires a container engine")}</span> : <Image image={state.image} />}</dd>
      <dt>{t("Container")}</dt>
      <dd>
        {state.engine === null ? <span class="quiet">{t("Requires a container engine")}</span> : <Container container={state.container} />}
      </dd>
      <dt>{t("OS sandbox")}</dt>
      <dd>{state.osSandbox === null ? t("None found") : `${state.osSandbox.name} ${state.osSandbox.version ?? ""}`.trim()}</dd>
      <dt>{t("Limits")}</dt>
      <dd>{limitsText(state.limits)}</dd>
      <dt>{t("Network")}</dt>
      <dd>{state.network === "off" ? t("None") : t("Hosts on your allowlist, for approved commands")}</dd>
    </dl>
  );
}

/** The sandbox in which commands run, its state and its actions. */
export function SandboxBlock({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { sandbox, busy, problem } = warRoom.tools;
  const state = sandbox.value.value;
  const failed = sandbox.problem.value;
  const building = state?.image.state === "building";
  return (
    <Block title={t("Command sandbox")} wide>
      {failed !== null && (
        <Problem text={failed.text}>
          <Button testId="try-again" onClick={sandbox.refresh}>
            {t("Try Again")}
          </Button>
        </Problem>
      )}
      {state === null && failed === null && <p class="quiet">{t("Loading…")}</p>}
      {state !== null && (
        <>
          <p role="status" class="sandbox-place">
            <State {...placeState(state)} />
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
          <Button testId="cancel-build" icon="close" disabled={busy.value === "cancel"} onClick={warRoom.tools.cancelBuild}>
            {t("Cancel Build")}
          </Button>
        ) : (
          <Button
            testId="build-image"
            icon="package"
            disabled={busy.value !== null || state === null || state.engine === null}
            onClick={warRoom.tools.build}
          >
            {t("Build Image")}
          </Button>
        )}
        <Button
          testId="restart-sandbox"
          icon="debug-restart"
          disabled={state === null || state.place === null}
          onClick={() => warRoom.bridge.ui(commandAction("restartSandbox"))}
        >
          {t("Restart…")}
        </Button>
        <Button testId="doctor" icon="pulse" disabled={busy.value !== null} onClick={warRoom.tools.runDoctor}>
          {busy.value === "doctor" ? t("Checking…") : t("Doctor")}
        </Button>
      </div>
    </Block>
  );
}

const fixes: Readonly<Record<NonNullable<DoctorLine["action"]>, { command: CommandName; text: () => string }>> = {
  build_image: { command: "buildSandbox", text: () => t("Build Image") },
  restart_sandbox: { command: "restartSandbox", text: () => t("Restart…") },
  open_flags: { command: "setFlag", text: () => t("Change Flag…") },
  open_settings: { command: "openSettings", text: () => t("Open Settings") },
};

/** Doctor results, each with a button or a sentence that explains the fix. */
export function DoctorBlock({ warRoom }: { warRoom: WarRoom }): JSX.Element | null {
  const lines = warRoom.tools.doctor.value;
  if (lines === null) return null;
  return (
    <Block title={t("Doctor")} wide>
      {lines.length === 0 ? (
        <EmptyState icon="pulse" title={t("No checks were run.")}>
          {t("Run Doctor again after the agent host has started.")}
        </EmptyState>
      ) : (
        <ul class="doctor">
          {lines.map((line) => {
            const fix = line.action === null ? null : fixes[line.action];
            return (
              <li key={line.id}>
                <State {...doctorState(line.status)} quiet />
                <div class="doctor-text">
                  <strong>{line.title}</strong> {line.message}
                  {line.nextStep !== null && <div class="quiet">{line.nextStep}</div>}
                </div>
                {fix !== null && (
                  <Button
                    testId={`fix:${line.id}`}
                    label={t("{0}: {1}", fix.text(), line.title)}
                    onClick={() => warRoom.bridge.ui(commandAction(fix.command))}
                  >
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
