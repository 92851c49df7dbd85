import { leftoverMarker } from "../gated-process.ts";

export interface InsideLimits {
  /** Bytes of writable memory of each process; null where a control group limits all of them together. */
  readonly memoryBytes: number | null;
  /** Null where a control group counts, or the kernel would count those outside as well. */
  readonly processes: number | null;
  /** Bytes of one file. */
  readonly fileBytes: number;
}

/** Where the forwarder to the egress proxy listens, inside. */
export const forwarderPort = 3128;
/** Where the proxy's socket stands, inside. */
export const egressSocketInside = "/run/egress.sock";

/**
 * What the first shell in the sandbox does: sets its limits, waits at the gate, runs the command as `$1 -c -- $2` and says whether it
 * left anything behind. It starts nothing but the command (and the forwarder), so it works where nothing more can be started.
 * @param shell `bash` counts the limits in other units than the rest.
 */
export function insideScript(shell: "bash" | "sh", limits: InsideLimits, forward: boolean): string {
  const kilobytes = (bytes: number) => Math.ceil(bytes / 1024);
  const fileBlocks = shell === "bash" ? kilobytes(limits.fileBytes) : Math.ceil(limits.fileBytes / 512);
  return [
    "ulimit -c 0",
    `ulimit -f ${fileBlocks}`,
    "ulimit -n 8192 2>/dev/null",
    ...(limits.memoryBytes === null ? [] : [`ulimit -d ${kilobytes(limits.memoryBytes)}`]),
    ...(limits.processes === null ? [] : [`ulimit -u ${limits.processes} 2>/dev/null || ulimit -p ${limits.processes}`]),
    "printf ready >&4",
    "read -r go <&3 || exit 125",
    "exec 3<&-",
    ...(forward
      ? [
          `socat TCP-LISTEN:${forwarderPort},bind=127.0.0.1,reuseaddr,fork UNIX-CONNECT:${egressSocketInside} 3>&- 4>&- </dev/null >/dev/null 2>&1 &`,
          "forwarder=$!",
          // Listening takes it a moment; a client that comes before it would be told that there is no network.
          `until grep -q ':${forwarderPort.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A' /proc/net/tcp; do kill -0 $forwarder 2>/dev/null || break; sleep 0.01; done`,
        ]
      : []),
    '"$1" -c -- "$2" 4>&- </dev/null',
    "code=$?",
    "left=",
    "for at in /proc/[0-9]*; do",
    '  case "${at#/proc/}" in 1 | $$) continue ;; esac',
    '  name= state=; { read -r _ name state _ <"$at/stat"; } 2>/dev/null',
    // Names with a blank push the state along; a zombie is over either way, and pid 1 collects it.
    '  case "$name $state" in *" Z" | " ") continue ;;' + (forward ? ' "(socat) "*) continue ;;' : "") + " esac",
    "  left=yes",
    "done",
    `if [ -n "$left" ]; then printf ${leftoverMarker} >&4; fi`,
    "exit $code",
  ].join("\n");
}
