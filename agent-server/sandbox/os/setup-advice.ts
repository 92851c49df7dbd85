import { readFileSync } from "node:fs";

/** How packages are installed, by what distributions call themselves (`ID` and `ID_LIKE` of os-release). */
const installers: readonly (readonly [ids: readonly string[], command: string])[] = [
  [["debian", "ubuntu"], "sudo apt install"],
  [["fedora", "rhel", "centos"], "sudo dnf install"],
  [["arch"], "sudo pacman -S"],
  [["suse", "opensuse"], "sudo zypper install"],
  [["alpine"], "sudo apk add"],
  [["void"], "sudo xbps-install"],
  [["gentoo"], "sudo emerge"],
];

/** How to install packages on this machine, in one sentence. */
export function installAdvice(packages: readonly string[], release: string = osRelease()): string {
  const ids = [...release.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].flatMap(([, value = ""]) => value.split(" "));
  const known = installers.find(([names]) => names.some((name) => ids.includes(name)));
  const list = packages.join(" ");
  if (known !== undefined) return `Install it in a terminal: ${known[1]} ${list}`;
  return `Install ${packages.join(" and ")} with this system's package manager.`;
}

function osRelease(): string {
  try {
    return readFileSync("/etc/os-release", "utf8");
  } catch {
    return "";
  }
}

/** What bubblewrap said when it could not make a sandbox, in the owner's words. */
export function explainFailure(said: string): { message: string; nextStep: string } {
  const line =
    said
      .trim()
      .split("\n")
      .find((one) => one !== "")
      ?.slice(0, 300) ?? "it said nothing";
  const read = (path: string) => {
    try {
      return readFileSync(path, "utf8").trim();
    } catch {
      return "";
    }
  };
  if (/mount(?:ing)? proc|\/newroot\/proc/i.test(said)) {
    return {
      message:
        "Commands cannot be isolated here: this machine is a container that does not let programs have a view of processes of their own.",
      nextStep:
        "Run the editor outside of the container, or start the container with its /proc unmasked, or use a container engine for commands.",
    };
  }
  if (/Can't (?:find source path|get type of source|bind mount|create file|mkdir)/.test(said)) {
    return { message: `The sandbox could not be made ready: something it shows is not there any more (${line}).`, nextStep: "Try again." };
  }
  const forbidden = /namespace|uid map|gid map|Operation not permitted|Permission denied|No space left|clone/i.test(said);
  if (forbidden && read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1") {
    return {
      message: "Commands cannot be isolated here: this system's AppArmor forbids it to bubblewrap.",
      nextStep:
        "Allow it in a terminal: sudo apt install apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo systemctl reload apparmor",
    };
  }
  if (forbidden && read("/proc/sys/kernel/unprivileged_userns_clone") === "0") {
    return {
      message: "Commands cannot be isolated here: user namespaces are switched off.",
      nextStep: "Switch them on in a terminal: sudo sysctl -w kernel.unprivileged_userns_clone=1 (and in /etc/sysctl.d to keep it).",
    };
  }
  if (forbidden && read("/proc/sys/user/max_user_namespaces") === "0") {
    return {
      message: "Commands cannot be isolated here: the number of user namespaces is set to none.",
      nextStep: "Allow some in a terminal: sudo sysctl -w user.max_user_namespaces=15000 (and in /etc/sysctl.d to keep it).",
    };
  }
  if (forbidden) {
    return {
      message: `Commands cannot be isolated here: the system refuses namespaces to bubblewrap (${line}).`,
      nextStep: "Inside a container, allow it user namespaces (its seccomp profile), or use a container engine for commands.",
    };
  }
  return {
    message: `Commands cannot be isolated here: bubblewrap does not work (${line}).`,
    nextStep: "Install bubblewrap anew, version 0.8 or later.",
  };
}
