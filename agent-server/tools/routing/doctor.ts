import { access, constants, statfs } from "node:fs/promises";
import type { DoctorLine, ProviderInfo, SandboxState } from "../../contract/providers.ts";

export interface DoctorDeps {
  /** As just checked. */
  readonly providers: readonly ProviderInfo[];
  readonly sandbox: SandboxState;
  readonly dataDir: string;
  readonly networkEnabled: boolean;
  /** Problems of the user's configuration files by file; null for a file without. */
  readonly problems: Readonly<Record<string, string | null>>;
}

/** Free bytes: below `scarce` the user is warned, below `full` no checkpoints can be stored. */
const scarce = 2 * 1024 ** 3;
const full = 100 * 1024 ** 2;

/** Checks the requirements for running commands and storing changes, with a next step for each problem. */
export async function runChecks(deps: DoctorDeps): Promise<DoctorLine[]> {
  const { sandbox } = deps;
  const osSandbox = sandbox.osSandbox;
  return [
    place(sandbox),
    containment(sandbox),
    {
      id: "engine",
      title: "Container engine",
      ...(sandbox.engine === null
        ? line(
            osSandbox === null ? "missing" : "warning",
            osSandbox === null
              ? "No Docker or Podman was found."
              : `No Docker or Podman was found. Commands can run in ${osSandbox.name} instead, with fewer limits.`,
            "Install Docker or Podman and start it, then check again.",
          )
        : line(
            "ok",
            `${name(sandbox.engine.name)} ${sandbox.engine.version}, via ${sandbox.engine.via}${sandbox.engine.remote ? ", on another machine" : ""}.`,
          )),
    },
    image(sandbox),
    {
      id: "os-sandbox",
      title: "OS sandbox",
      ...(osSandbox === null
        ? line(
            sandbox.engine === null ? "missing" : "warning",
            sandbox.engine === null ? "No OS sandbox was found." : "No OS sandbox was found. It is needed only without a container engine.",
            osAdvice(),
          )
        : line("ok", `${osSandbox.name}${osSandbox.version === null ? "" : ` ${osSandbox.version}`} is available.`)),
    },
    program(deps.providers, "git", "Git"),
    program(deps.providers, "ripgrep", "Search program"),
    await space(deps.dataDir),
    await writable(deps.dataDir),
    {
      id: "network",
      title: "Network access",
      ...(deps.networkEnabled
        ? line("ok", "Tools can reach the hosts on your allowlist.")
        : line("warning", "Tools cannot reach the network.", "Turn on the flag TOOLS_NETWORK to allow it.", "open_flags")),
    },
    ...Object.entries(deps.problems).flatMap(([file, problem]) =>
      problem === null
        ? []
        : [{ id: `settings-${file}`, title: "Your settings", ...line("warning", problem, "Correct the file in Lancelot's data folder.") }],
    ),
  ];
}

type Body = Pick<DoctorLine, "status" | "message" | "nextStep" | "action">;

function line(status: DoctorLine["status"], message: string, nextStep: string | null = null, action: DoctorLine["action"] = null): Body {
  return { status, message, nextStep, action };
}

function place(sandbox: SandboxState): DoctorLine {
  const about = { id: "commands", title: "Running commands" };
  if (sandbox.place === null) return { ...about, ...line("missing", sandbox.message, sandbox.nextStep) };
  return {
    ...about,
    ...line(sandbox.place === "host" ? "warning" : "ok", sandbox.message, sandbox.nextStep, sandbox.place === "host" ? "open_flags" : null),
  };
}

function containment({ containment: level, message, nextStep }: SandboxState): DoctorLine {
  const about = { id: "containment", title: "Containment of commands" };
  switch (level) {
    case "transactional":
      return { ...about, ...line("ok", "Transactional: what commands change is proposed, and reaches the workspace after the review.") };
    case "copied":
      return { ...about, ...line("ok", "Copied: commands work in a copy of the workspace, and what they change is proposed.") };
    case "watched":
      return {
        ...about,
        ...line("warning", `Watched: commands work in the workspace, and their changes can be undone. ${message}`, nextStep),
      };
    case "host":
      return { ...about, ...line("warning", "None: commands run on this machine, and each needs your approval.", null, "open_flags") };
    case undefined:
      return { ...about, ...line("missing", "Commands cannot run, or the sandbox was not checked yet.") };
  }
}

function image({ engine, image }: SandboxState): DoctorLine {
  const about = { id: "image", title: "Sandbox image" };
  if (engine === null) return { ...about, ...line("warning", "No image is needed without a container engine.") };
  switch (image.state) {
    case "ready":
      return { ...about, ...line("ok", `${image.name} is ready${image.bytes === null ? "" : ` (${size(image.bytes)})`}.`) };
    case "building":
      return { ...about, ...line("warning", `${image.name} is being built${image.message === null ? "." : `: ${image.message}`}`) };
    case "failed":
      return {
        ...about,
        ...line(
          "missing",
          `${image.name} could not be built${image.message === null ? "." : `: ${image.message}`}`,
          "Build the image again.",
          "build_image",
        ),
      };
    case "missing":
      return {
        ...about,
        ...line("missing", `${image.name} is not built yet.`, "Build the image. This takes a few minutes.", "build_image"),
      };
    case "unknown":
      return { ...about, ...line("warning", "The image was not checked yet.", "Build the image, or run a command.", "build_image") };
  }
}

function program(providers: readonly ProviderInfo[], id: string, title: string): DoctorLine {
  const found = providers.find((provider) => provider.id === id);
  const status = found?.health.status ?? "unknown";
  const { message = "Not checked yet.", nextStep = null } = found?.health ?? {};
  const how = status === "ok" ? "ok" : status === "down" ? "missing" : "warning";
  return { id, title, ...line(how, message, nextStep) };
}

async function space(dataDir: string): Promise<DoctorLine> {
  const about = { id: "disk", title: "Disk space" };
  try {
    const { bavail, bsize } = await statfs(dataDir);
    const free = bavail * bsize;
    if (free < full)
      return { ...about, ...line("missing", `Only ${size(free)} free, so changes cannot be stored for undo.`, "Free up disk space.") };
    if (free < scarce) return { ...about, ...line("warning", `Only ${size(free)} free.`, "Free up disk space soon.") };
    return { ...about, ...line("ok", `${size(free)} free.`) };
  } catch {
    return { ...about, ...line("warning", "The free disk space could not be determined.") };
  }
}

async function writable(dataDir: string): Promise<DoctorLine> {
  const about = { id: "data-folder", title: "Data folder" };
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return { ...about, ...line("ok", "The data folder is writable.") };
  } catch {
    return { ...about, ...line("missing", "Lancelot's data folder is not writable.", "Check its owner and permissions.") };
  }
}

function osAdvice(): string {
  if (process.platform === "linux") return "Install the package bubblewrap, then check again.";
  if (process.platform === "darwin") return "Seatbelt is part of macOS. Restart Lancelot, or use Docker or Podman.";
  return "Use Docker or Podman here.";
}

function name(engine: "docker" | "podman"): string {
  return engine === "docker" ? "Docker" : "Podman";
}

function size(bytes: number): string {
  return bytes >= 1024 ** 3 ? `${(bytes / 1024 ** 3).toFixed(1)} GB` : `${Math.round(bytes / 1024 ** 2)} MB`;
}
