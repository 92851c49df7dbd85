import type { NetworkNeeds } from "../decision-facts.ts";

/** A service of the network that programs use, from `config/network.yaml`. */
export interface NetworkService {
  readonly name: string;
  /** Names of programs, without folder. */
  readonly programs: readonly string[];
  readonly hosts: readonly string[];
}

const address = /https:\/\/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?=[/:?#\s'"]|$)/gi;
const assignment = /^[a-z_]\w*=/i;

/**
 * The hosts that simple commands need: those of the services that their programs use, and those of the addresses that they name.
 * @param commands the parts of a command line that need the network, each with its program first
 * @returns hosts null when a part names neither, so that its hosts are unknown
 */
export function networkNeeds(commands: readonly string[], services: readonly NetworkService[]): NetworkNeeds {
  const names = new Set<string>();
  const hosts = new Set<string>();
  let isKnown = commands.length > 0;
  for (const command of commands) {
    const addresses = [...command.matchAll(address)].map(([, host = ""]) => host.toLowerCase());
    const service = services.find(({ programs }) => programs.includes(programOf(command)));
    for (const host of [...(service?.hosts ?? []), ...addresses]) hosts.add(host);
    if (service !== undefined) names.add(service.name);
    if (service === undefined && addresses.length === 0) isKnown = false;
  }
  return { services: [...names], hosts: isKnown ? [...hosts] : null };
}

/** The program of a simple command; of `python -m pip`, the module. */
function programOf(command: string): string {
  const words = command.split(/\s+/).filter((word) => word !== "" && !assignment.test(word));
  const [program = "", flag, module] = words;
  const name = program.slice(program.lastIndexOf("/") + 1).replace(/\.(?:exe|cmd|bat)$/i, "");
  return /^python[\d.]*$/.test(name) && flag === "-m" ? (module ?? "") : name;
}
