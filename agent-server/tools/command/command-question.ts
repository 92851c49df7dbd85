import type { CommandPlace, Containment } from "../../contract/providers.ts";
import { visibleText } from "../../contract/visible-text.ts";
import type { NetworkNeeds } from "../../governance/governance.ts";

/** Where a command runs, for the approval question. */
export function describePlace(place: CommandPlace, containment: Containment): string {
  const where = place === "container" ? "in a container" : "in the OS sandbox";
  if (containment === "transactional" || containment === "copied")
    return `${where}, in a copy-on-write view of the workspace. What it changes is proposed to you; nothing else on this machine can change`;
  switch (place) {
    case "container":
      return "in this workspace's container. It can access the workspace and no other files on this machine";
    case "os_sandbox":
      return "in the OS sandbox. It can change the workspace and nothing else on this machine";
    case "host":
      return "on this machine, without a sandbox. It has all of your permissions";
  }
}

/** A short name of the place, for the model and the title of a card. */
export function placeName(place: CommandPlace): string {
  return place === "container" ? "in the container" : place === "os_sandbox" ? "in the OS sandbox" : "on this machine, without a sandbox";
}

/** The details of the approval question for a command. */
export function commandDetail(of: {
  command: string;
  cwd: string;
  place: CommandPlace;
  containment: Containment;
  network: NetworkNeeds | null;
  timeoutMs: number;
  background?: boolean;
}): string {
  return [
    visibleText(of.command),
    "",
    `Folder: ${of.cwd === "." ? "the workspace" : of.cwd}`,
    `Runs ${describePlace(of.place, of.containment)}.`,
    of.place === "host" ? "Network: not limited, like your own programs." : describeNetwork(of.network),
    ...(of.background === true ? ["Keeps running in the background until it is stopped, or its task ends."] : []),
    `Timeout: ${seconds(of.timeoutMs)}`,
  ].join("\n");
}

export function seconds(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1).replace(/\.0$/, "")} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** The first line, cut to fit a card. */
export function oneLine(command: string): string {
  const [first = "", ...rest] = visibleText(command.trim()).split("\n");
  return first.length > 120 || rest.length > 0 ? `${first.slice(0, 120)}…` : first;
}

/** What a command needs of the network, for the approval question. */
function describeNetwork(needs: NetworkNeeds | null): string {
  if (needs === null) return "Network: none.";
  if (needs.hosts === null) return "Network: hosts on your allowlist (config/network.yaml).";
  const hosts = needs.hosts.join(", ");
  return needs.services.length === 0 ? `Network: ${hosts}.` : `Network: ${needs.services.join(" and ")} (${hosts}).`;
}
