import type { DoctorLine, HealthStatus, SandboxState } from "../../../agent-server/contract/providers.ts";
import type { StateProps } from "../../shared/components.tsx";
import { t } from "../../shared/l10n.ts";

export function healthState(status: HealthStatus): StateProps {
  switch (status) {
    case "ok":
      return { icon: "pass", text: t("Working"), kind: "good" };
    case "degraded":
      return { icon: "warning", text: t("Partially working"), kind: "attention" };
    case "down":
      return { icon: "error", text: t("Not working"), kind: "bad" };
    case "off":
      return { icon: "circle-slash", text: t("Off"), kind: "quiet" };
    case "unknown":
      return { icon: "question", text: t("Not checked yet"), kind: "quiet" };
  }
}

export function placeState({ place }: Pick<SandboxState, "place">): StateProps {
  switch (place) {
    case "container":
      return { icon: "vm", text: t("Commands run in a container"), kind: "good" };
    case "os_sandbox":
      return { icon: "shield", text: t("Commands run in the OS sandbox"), kind: "good" };
    case "host":
      return { icon: "warning", text: t("Commands run on this machine without a sandbox"), kind: "attention" };
    case null:
      return { icon: "error", text: t("Commands cannot run"), kind: "bad" };
  }
}

export function imageState({ state }: SandboxState["image"]): StateProps {
  switch (state) {
    case "unknown":
      return { icon: "question", text: t("Not checked yet"), kind: "quiet" };
    case "missing":
      return { icon: "circle-outline", text: t("Not built"), kind: "attention" };
    case "building":
      return { icon: "loading", text: t("Building"), kind: "attention", spin: true };
    case "ready":
      return { icon: "pass", text: t("Ready"), kind: "good" };
    case "failed":
      return { icon: "error", text: t("Build failed"), kind: "bad" };
  }
}

export function sourceText(source: SandboxState["image"]["source"]): string {
  switch (source) {
    case "shipped":
      return t("Lancelot's image");
    case "dev_container":
      return t("The workspace's dev container");
    case "named":
      return t("The image in your settings");
  }
}

export function containerState({ state }: SandboxState["container"]): StateProps {
  switch (state) {
    case "none":
      return { icon: "circle-outline", text: t("Not started; starts with the first command"), kind: "quiet" };
    case "starting":
      return { icon: "loading", text: t("Starting"), kind: "attention", spin: true };
    case "running":
      return { icon: "pass", text: t("Running"), kind: "good" };
    case "stopped":
      return { icon: "debug-stop", text: t("Stopped"), kind: "quiet" };
  }
}

export function doctorState(status: DoctorLine["status"]): StateProps {
  switch (status) {
    case "ok":
      return { icon: "pass", text: t("OK"), kind: "good" };
    case "warning":
      return { icon: "warning", text: t("Warning"), kind: "attention" };
    case "missing":
      return { icon: "error", text: t("Missing"), kind: "bad" };
  }
}
