import { access, constants, statfs } from "node:fs/promises";
import type { DoctorLine, ProviderInfo, SandboxState } from "../../contract/providers.ts";

export interface DoctorDeps {
  /** As they were found a moment ago. */
  readonly providers: readonly ProviderInfo[];
  readonly sandbox: SandboxState;
  readonly dataDir: string;
  readonly networkEnabled: boolean;
  /** What is wrong with files of the owner's. */
  readonly problems: readonly string[];
}

/** Bytes: below the first the owner is warned, below the second nothing can be kept. */
const scarce = 2 * 1024 ** 3;
const full = 100 * 1024 ** 2;

/** What this machine has for running commands and keeping changes, and what to do about what it lacks. */
export async function examine(deps: DoctorDeps): Promise<DoctorLine[]> {
  const { sandbox } = deps;
  const osSandbox = sandbox.osSandbox;
  return [
    place(sandbox),
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
            `${name(sandbox.engine.name)} ${sandbox.engine.version}, by ${sandbox.engine.via}${sandbox.engine.remote ? ", on another machine" : ""}.`,
          )),
    },
    image(sandbox),
    {
      id: "os-sandbox",
      title: "Operating system sandbox",
      ...(osSandbox === null
        ? line(
            sandbox.engine === null ? "missing" : "warning",
            sandbox.engine === null ? "There is none." : "There is none. It would only be needed without a container engine.",
            osAdvice(),
          )
        : line("ok", `${osSandbox.name}${osSandbox.version === null ? "" : ` ${osSandbox.version}`} is there.`)),
    },
    program(deps.providers, "git", "Git"),
    program(deps.providers, "ripgrep", "Search program"),
    await space(deps.dataDir),
    await writable(deps.dataDir),
    {
      id: "network",
      title: "Network for tools",
      ...(deps.networkEnabled
        ? line("ok", "Tools may reach the hosts of the network list.")
        : line("warning", "Tools cannot reach the network.", "Switch on the flag TOOLS_NETWORK if they should.", "open_flags")),
    },
    ...deps.problems.map((problem, index) => ({
      id: `settings-${index}`,
      title: "Your settings",
      ...line("warning", problem, "Correct the file in Lancelot's data folder."),
    })),
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

function image({ engine, image }: SandboxState): DoctorLine {
  const about = { id: "image", title: "Image of the sandbox" };
  if (engine === null) return { ...about, ...line("warning", "It is not needed while there is no container engine.") };
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
          "Build it again.",
          "build_image",
        ),
      };
    case "missing":
      return { ...about, ...line("missing", `${image.name} is not there yet.`, "Build it; that takes a few minutes.", "build_image") };
    case "unknown":
      return { ...about, ...line("warning", "It was not looked for yet.", "Build it, or run a command.", "build_image") };
  }
}

function program(providers: readonly ProviderInfo[], id: string, title: string): DoctorLine {
  const found = providers.find((provider) => provider.id === id);
  const status = found?.health.status ?? "unknown";
  const { message = "It was not looked for.", nextStep = null } = found?.health ?? {};
  const how = status === "ok" ? "ok" : status === "down" ? "missing" : "warning";
  return { id, title, ...line(how, message, nextStep) };
}

async function space(dataDir: string): Promise<DoctorLine> {
  const about = { id: "disk", title: "Disk of the data folder" };
  try {
    const { bavail, bsize } = await statfs(dataDir);
    const free = bavail * bsize;
    if (free < full)
      return { ...about, ...line("missing", `Only ${size(free)} are free, so changes cannot be kept for undo.`, "Free some space.") };
    if (free < scarce) return { ...about, ...line("warning", `Only ${size(free)} are free.`, "Free some space soon.") };
    return { ...about, ...line("ok", `${size(free)} are free.`) };
  } catch {
    return { ...about, ...line("warning", "How much is free cannot be told here.") };
  }
}

async function writable(dataDir: string): Promise<DoctorLine> {
  const about = { id: "data-folder", title: "Data folder" };
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return { ...about, ...line("ok", "Receipts, checkpoints and settings can be written.") };
  } catch {
    return { ...about, ...line("missing", "Lancelot's data folder cannot be written.", "Check its owner and permissions.") };
  }
}

function osAdvice(): string {
  if (process.platform === "linux") return "Install bubblewrap (package bubblewrap) and check again.";
  if (process.platform === "darwin") return "Seatbelt is part of macOS; start Lancelot again, or use Docker or Podman.";
  return "Use Docker or Podman here.";
}

function name(engine: "docker" | "podman"): string {
  return engine === "docker" ? "Docker" : "Podman";
}

function size(bytes: number): string {
  return bytes >= 1024 ** 3 ? `${(bytes / 1024 ** 3).toFixed(1)} GB` : `${Math.round(bytes / 1024 ** 2)} MB`;
}
