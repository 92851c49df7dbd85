import { leftoverMarker } from "../gated-process.ts";

export interface InsideLimits {
  /** Memory limit of each process in bytes; null when a control group limits them together. */
  readonly memoryBytes: number | null;
  /** Null when a control group counts processes, or when the kernel would include those outside. */
  readonly processes: number | null;
  /** Maximum bytes of one file. */
  readonly fileBytes: number;
}

/** Port of the forwarder to the egress proxy, inside the sandbox. */
export const forwarderPort = 3128;
/** Path of the proxy's socket inside the sandbox. */
export const egressSocketInside = "/run/egress.sock";

/**
 * Script of the first shell in the sandbox: sets its limits, waits for the start signal, runs the command as `$1 -c -- $2` and reports
 * whether
 * processes remain. It starts only the command and the forwarder, so it works when no more processes can start.
 * @param shell `bash` uses different units for limits @param closed an inherited descriptor that no command may have
 */
export function insideScript(shell: "bash" | "sh", limits: InsideLimits, forward: boolean, closed: number | null = null): string {
  const kilobytes = (bytes: number) => Math.ceil(bytes / 1024);
  const fileBlocks = shell === "bash" ? kilobytes(limits.fileBytes) : Math.ceil(limits.fileBytes / 512);
  return [
    "ulimit -c 0",
    `ulimit -f ${fileBlocks}`,
    "ulimit -n 8192 2>/dev/null",
    ...(limits.memoryBytes === null ? [] : [`ulimit -d ${kilobytes(limits.memoryBytes)}`]),
    ...(limits.processes === null ? [] : [`ulimit -u ${limits.processes} 2>/dev/null || ulimit -p ${limits.processes}`]),
    ...(closed === null ? [] : [`exec ${closed}<&-`]),
    "printf ready >&4",
    "read -r go <&3 || exit 125",
    "exec 3<&-",
    ...(forward
      ? [
          `socat TCP-LISTEN:${forwarderPort},bind=127.0.0.1,reuseaddr,fork UNIX-CONNECT:${egressSocketInside} 3>&- 4>&- </dev/null >/dev/null 2>&1 &`,
          "forwarder=$!",
          // Waits for the listening socket, because an earlier client would find no network.
          `until grep -q ':${forwarderPort.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A' /proc/net/tcp; do kill -0 $forwarder 2>/dev/null || break; sleep 0.01; done`,
        ]
      : []),
    '"$1" -c -- "$2" 4>&- </dev/null',
    "code=$?",
    "left=",
    "for at in /proc/[0-9]*; do",
    '  case "${at#/proc/}" in 1 | $$) continue ;; esac',
    '  name= state=; { read -r _ name state _ <"$at/stat"; } 2>/dev/null',
    // Names with spaces shift the state field. Zombies have ended, and pid 1 collects them.
    '  case "$name $state" in *" Z" | " ") continue ;;' + (forward ? ' "(socat) "*) continue ;;' : "") + " esac",
    "  left=yes",
    "done",
    `if [ -n "$left" ]; then printf ${leftoverMarker} >&4; fi`,
    "exit $code",
  ].join("\n");
}
