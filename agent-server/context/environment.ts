import type { CommandPlace, Containment } from "../contract/providers.ts";

/** The machine, and what the containment of commands offers, for the prompt. Known state only: nothing is checked for it. */
export interface EnvironmentFacts {
  /** `linux x64`, as Node.js names them. */
  readonly platform: string;
  /** The user's shell by its file name; null when unknown. */
  readonly shell: string | null;
  /** IANA name. */
  readonly timeZone: string;
  readonly now: Date;
  /** Where commands run; null when they cannot, or when it was not checked yet. */
  readonly commands: {
    readonly place: CommandPlace;
    readonly containment: Containment | undefined;
    /** Packages of the container's image, or tool managers in the sandbox of the operating system, as far as they are known. */
    readonly programs: readonly string[];
  } | null;
  readonly network: "allowlist" | "off";
}

const places: Readonly<Record<CommandPlace, string>> = {
  container: "in a Linux container, with the programs of its image",
  os_sandbox: "in the sandbox of this operating system, with the programs of this machine",
  host: "on this machine",
};

const programsOf: Readonly<Record<CommandPlace, string>> = {
  container: "Packages of the image",
  os_sandbox: "Tool managers whose programs commands may use",
  host: "Programs",
};

const containments: Readonly<Record<Containment, string>> = {
  transactional: "what they write is proposed to the owner",
  copied: "they work in a copy, and what they write is proposed to the owner",
  watched: "they work in the workspace, whose changes are recorded",
  host: "nothing contains them",
};

/** Describes the environment in a few lines. The text changes with the day and with the containment, not from prompt to prompt. */
export function describeEnvironment({ platform, shell, timeZone, now, commands, network }: EnvironmentFacts): string {
  const { place, containment, programs = [] } = commands ?? {};
  const contained = containment === undefined ? "" : `; ${containments[containment]}`;
  const lines = [
    `Machine: ${platform}${shell === null ? "" : `, shell ${shell}`}.`,
    `Today: ${dayOf(now, timeZone)}, time zone ${timeZone}.`,
    ...(place === undefined ? [] : [`Commands run ${places[place]}${contained}.`]),
    ...(programs.length === 0 || place === undefined ? [] : [`${programsOf[place]}: ${programs.join(", ")}.`]),
    network === "off" ? "Commands have no network." : "Commands reach the network through a proxy, as far as the owner's rules allow.",
  ];
  return `The environment:\n${lines.map((line) => `- ${line}`).join("\n")}`;
}

/** The date as 2026-01-31. */
function dayOf(now: Date, timeZone: string): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" }).format(now);
}
