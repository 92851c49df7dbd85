import type { DoctorLine, HealthStatus, SandboxState } from "../../../agent-server/contract/providers.ts";
import { t } from "../../shared/l10n.ts";

export interface Look {
  readonly icon: string;
  readonly text: string;
  readonly kind: string;
  readonly spin?: boolean;
}

export function healthLook(status: HealthStatus): Look {
  switch (status) {
    case "ok":
      return { icon: "pass", text: t("Works"), kind: "good" };
    case "degraded":
      return { icon: "warning", text: t("Works in part"), kind: "attention" };
    case "down":
      return { icon: "error", text: t("Does not work"), kind: "bad" };
    case "off":
      return { icon: "circle-slash", text: t("Switched off"), kind: "quiet" };
    case "unknown":
      return { icon: "question", text: t("Not looked at yet"), kind: "quiet" };
  }
}

export function placeLook({ place }: Pick<SandboxState, "place">): Look {
  switch (place) {
    case "container":
      return { icon: "vm", text: t("Commands run in a container"), kind: "good" };
    case "os_sandbox":
      return { icon: "shield", text: t("Commands run in the sandbox of the operating system"), kind: "good" };
    case "host":
      return { icon: "warning", text: t("Commands run on this machine, without a sandbox"), kind: "attention" };
    case null:
      return { icon: "error", text: t("Commands cannot be run"), kind: "bad" };
  }
}

export function imageLook({ state }: SandboxState["image"]): Look {
  switch (state) {
    case "unknown":
      return { icon: "question", text: t("not looked at yet"), kind: "quiet" };
    case "missing":
      return { icon: "circle-outline", text: t("not built yet"), kind: "attention" };
    case "building":
      return { icon: "loading", text: t("being built"), kind: "attention", spin: true };
    case "ready":
      return { icon: "pass", text: t("ready"), kind: "good" };
    case "failed":
      return { icon: "error", text: t("could not be built"), kind: "bad" };
  }
}

export function sourceText(source: SandboxState["image"]["source"]): string {
  switch (source) {
    case "shipped":
      return t("Lancelot's own");
    case "dev_container":
      return t("the workspace's dev container");
    case "named":
      return t("the one you named");
  }
}

export function containerLook({ state }: SandboxState["container"]): Look {
  switch (state) {
    case "none":
      return { icon: "circle-outline", text: t("none yet; the first command starts it"), kind: "quiet" };
    case "starting":
      return { icon: "loading", text: t("starting"), kind: "attention", spin: true };
    case "running":
      return { icon: "pass", text: t("running"), kind: "good" };
    case "stopped":
      return { icon: "debug-stop", text: t("stopped"), kind: "quiet" };
  }
}

export function doctorLook(status: DoctorLine["status"]): Look {
  switch (status) {
    case "ok":
      return { icon: "pass", text: t("There"), kind: "good" };
    case "warning":
      return { icon: "warning", text: t("Worth a look"), kind: "attention" };
    case "missing":
      return { icon: "error", text: t("Missing"), kind: "bad" };
  }
}
