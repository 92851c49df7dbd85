import { readFileSync } from "node:fs";

/** Install commands by distribution (`ID` and `ID_LIKE` of os-release). */
const installers: readonly (readonly [ids: readonly string[], command: string])[] = [
  [["debian", "ubuntu"], "sudo apt install"],
  [["fedora", "rhel", "centos"], "sudo dnf install"],
  [["arch"], "sudo pacman -S"],
  [["suse", "opensuse"], "sudo zypper install"],
  [["alpine"], "sudo apk add"],
  [["void"], "sudo xbps-install"],
  [["gentoo"], "sudo emerge"],
];

/** One sentence on how to install packages on this machine. */
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

/** Explains bubblewrap's error to the user. */
export function explainFailure(said: string): { message: string; nextStep: string } {
  const line =
    said
      .trim()
      .split("\n")
      .find((one) => one !== "")
      ?.slice(0, 300) ?? "no output";
  const read = (path: string) => {
    try {
      return readFileSync(path, "utf8").trim();
    } catch {
      return "";
    }
  };
  if (/mount(?:ing)? proc|\/newroot\/proc/i.test(said)) {
    return {
      message: "The OS sandbox is unavailable: this container does not allow process namespaces.",
      nextStep:
        "Run VS Code outside the container, or start the container with its /proc unmasked, or use a container engine for commands.",
    };
  }
  if (/Can't (?:find source path|get type of source|bind mount|create file|mkdir)/.test(said)) {
    return { message: `The sandbox could not start, because a file it needs no longer exists (${line}).`, nextStep: "Try again." };
  }
  const forbidden = /namespace|uid map|gid map|Operation not permitted|Permission denied|No space left|clone/i.test(said);
  if (forbidden && read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1") {
    return {
      message: "The OS sandbox is unavailable: AppArmor blocks bubblewrap on this system.",
      nextStep:
        "Allow it in a terminal: sudo apt install apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo systemctl reload apparmor",
    };
  }
  if (forbidden && read("/proc/sys/kernel/unprivileged_userns_clone") === "0") {
    return {
      message: "The OS sandbox is unavailable: user namespaces are disabled.",
      nextStep:
        "Enable them in a terminal: sudo sysctl -w kernel.unprivileged_userns_clone=1 (add it to /etc/sysctl.d to make it permanent).",
    };
  }
  if (forbidden && read("/proc/sys/user/max_user_namespaces") === "0") {
    return {
      message: "The OS sandbox is unavailable: the limit on user namespaces is zero.",
      nextStep: "Raise it in a terminal: sudo sysctl -w user.max_user_namespaces=15000 (add it to /etc/sysctl.d to make it permanent).",
    };
  }
  if (forbidden) {
    return {
      message: `The OS sandbox is unavailable: the system does not allow bubblewrap to create namespaces (${line}).`,
      nextStep: "In a container, allow user namespaces in its seccomp profile, or use a container engine for commands.",
    };
  }
  return {
    message: `The OS sandbox is unavailable: bubblewrap does not work (${line}).`,
    nextStep: "Reinstall bubblewrap, version 0.8 or later.",
  };
}
