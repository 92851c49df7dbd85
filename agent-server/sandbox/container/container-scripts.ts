/** Paths inside the container: the file that proves which machine is mounted, and the socket of the proxy. */
export const noncePath = "/run/lancelot/nonce";
export const egressPath = "/run/lancelot/egress.sock";
/** Loopback port of the proxy in containers with network access. */
export const proxyPort = 3128;
/** User id of the container's own process: neither root nor that of commands, so that they cannot kill or trace it. */
export const supervisor = 65_533;
/** Environment variable that marks every process of a command. */
export const runVariable = "LANCELOT_RUN";

const portInHex = proxyPort.toString(16).toUpperCase().padStart(4, "0");
/** Forwards connections to the proxy's socket with one of these programs of the image, once the socket exists. */
const forwarder = `
if command -v socat >/dev/null; then
  socat TCP-LISTEN:${proxyPort},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${egressPath} </dev/null >/dev/null 2>&1 &
elif command -v node >/dev/null; then
  node -e 'const net=require("net");net.createServer(a=>{const b=net.connect("${egressPath}");a.pipe(b);b.pipe(a);const end=()=>{a.destroy();b.destroy()};a.on("error",end);b.on("error",end)}).listen(${proxyPort},"127.0.0.1")' </dev/null >/dev/null 2>&1 &
elif command -v python3 >/dev/null; then
  python3 -c '
import socket, threading
def pump(a, b):
    try:
        while True:
            data = a.recv(65536)
            if not data: break
            b.sendall(data)
    except OSError: pass
    try: b.shutdown(socket.SHUT_WR)
    except OSError: pass
def carry(a):
    b = socket.socket(socket.AF_UNIX)
    try: b.connect("${egressPath}")
    except OSError: a.close(); return
    t = threading.Thread(target=pump, args=(b, a), daemon=True); t.start(); pump(a, b); t.join(); a.close(); b.close()
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", ${proxyPort})); s.listen(128)
while True: threading.Thread(target=carry, args=(s.accept()[0],), daemon=True).start()
' </dev/null >/dev/null 2>&1 &
else
  forwarder=none
fi
listening() {
  while read -r line; do
    case $line in *:${portInHex}\\ *\\ 0A\\ *) return 0 ;; esac
  done < /proc/net/tcp
  return 1
}
tries=0
until [ $forwarder = none ] || listening; do
  tries=$((tries + 1))
  if [ $tries -gt 200 ]; then forwarder=none; fi
  sleep 0.02
done`;

/**
 * Script of the container's own process. It reads requests from the connection that holds the container open. When this host ends, so does
 * the connection: then \`read\` fails, this process exits, and everything in the container with it. It only uses shell built-ins, so that
 * it can respond even when no new process can start.
 */
export function supervisorScript(network: boolean): string {
  return `umask 0
mkdir -p /tmp/home 2>/dev/null
forwarder=ready
${network ? forwarder : ""}
while read -r asked; do
  case $asked in
    about)
      if command -v bash >/dev/null; then echo "shell bash"; else echo "shell sh"; fi
      echo "forwarder $forwarder"
      if [ -d /tmp/home ]; then echo "home ready"; else echo "home none"; fi
      while read -r line; do echo "nonce $line"; done 2>/dev/null < ${noncePath} ;;
    processes)
      for at in /proc/[0-9]*; do
        state=- parent=- uid=-
        while read -r key value rest; do
          case $key in State:) state=$value ;; PPid:) parent=$value ;; Uid:) uid=$value; break ;; esac
        done 2>/dev/null < "$at/status"
        echo "\${at#/proc/} $parent $uid $state"
      done ;;
    memory)
      for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
        while read -r key value; do
          if [ "$key" = oom_kill ]; then echo "$value"; fi
        done 2>/dev/null < $file
      done ;;
    written)
      while read -r key value; do echo "$key $value"; done 2>/dev/null < /proc/self/io ;;
    mounts)
      while read -r line; do printf '%s\\n' "$line"; done < /proc/self/mountinfo ;;
  esac
  echo .
done`;
}

/**
 * Prints the kernel's counts of what each process of its user wrote: a line of \`wchar:\` and \`write_bytes:\` with their numbers, or \`unknown\`.
 * The first argument is the user id. Uses built-ins only.
 */
export const writtenScript = `
for at in /proc/[0-9]*; do
  if [ "$at" = /proc/$$ ]; then continue; fi
  uid=none
  while read -r key value rest; do
    case $key in Uid:) uid=$value; break ;; esac
  done 2>/dev/null < "$at/status"
  if [ $uid != "$0" ]; then continue; fi
  said=unknown
  while read -r key value; do
    case $key in wchar:) said="$key $value" ;; write_bytes:) said="$said $key $value" ;; esac
  done 2>/dev/null < "$at/io"
  if [ "$said" != unknown ] || [ -e "$at" ]; then echo "$said"; fi
done
true`;

/** Kills every other process of its user at once, so that none can start a new one in between. */
export const killAllScript = "kill -9 -1";

/**
 * Kills the processes of one command by the marker in their environment, and orphaned processes without a marker. The first argument is
 * the marker. Uses built-ins only. Prints one line per killed process.
 */
export const killMarkedScript = `
for at in /proc/[0-9]*; do
  pid=\${at#/proc/}
  if [ "$pid" = 1 ] || [ "$pid" = $$ ]; then continue; fi
  { : < "$at/environ"; } 2>/dev/null || continue
  mark=none
  while read -r line || [ -n "$line" ]; do
    case $line in *${runVariable}="$0"*) mark=ours; break ;; *${runVariable}=*) mark=others ;; esac
    line=
  done 2>/dev/null < "$at/environ"
  if [ $mark = none ]; then
    while read -r key value rest; do
      case $key in PPid:) if [ "$value" = 1 ]; then mark=ours; fi; break ;; esac
    done 2>/dev/null < "$at/status"
  fi
  if [ $mark = ours ]; then kill -9 "$pid" 2>/dev/null && echo "$pid"; fi
done
true`;
