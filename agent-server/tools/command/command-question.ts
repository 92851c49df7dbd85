import type { CommandPlace } from "../../contract/providers.ts";

/** Where a command runs, in words for the owner: the end of the sentence "It runs …". */
export function placeWords(place: CommandPlace): string {
  switch (place) {
    case "container":
      return "in the container of this workspace: it sees the workspace and nothing else of this machine";
    case "os_sandbox":
      return "in the sandbox of the operating system: it can change the workspace and nothing else of this machine";
    case "host":
      return "on this machine, as you, without a sandbox: it can do whatever you can";
  }
}

/** For the model and the title of a card: short. */
export function placeName(place: CommandPlace): string {
  return place === "container" ? "in the container" : place === "os_sandbox" ? "in the OS sandbox" : "on this machine, without a sandbox";
}

/** Characters that hide or reorder what is read: controls but line ends and tabs, zero-width, directions, tags. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

/** A command as it stands, with what cannot be seen written out, so that what is approved is what is run. */
export function visibleCommand(command: string): string {
  return command.replace(hidden, (letter) =>
    letter === "\n" || letter === "\t" ? letter : `⟨U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

/** What the owner reads before they allow a command. */
export function commandDetail(of: { command: string; cwd: string; place: CommandPlace; network: boolean; timeoutMs: number }): string {
  return [
    visibleCommand(of.command),
    "",
    `Folder: ${of.cwd === "." ? "the workspace" : of.cwd}`,
    `It runs ${placeWords(of.place)}.`,
    of.network ? "Network: the hosts of your list in config/network.yaml." : "Network: none.",
    `It is ended after ${seconds(of.timeoutMs)}.`,
  ].join("\n");
}

export function seconds(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1).replace(/\.0$/, "")} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return `${Math.round(ms / 60_000)} minutes`;
}
