import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { ListeningPort } from "../shell-provider.ts";
import { treeOf } from "./process-watch.ts";

/** State of a listening socket in /proc/net/tcp. */
const listening = "0A";
/** Descriptors of a process that are looked at. */
const maxDescriptors = 4_096;
const maxPorts = 50;

/** Ports on which a process or one below it listens, in its network namespace; sorted. */
export function listeningPorts(first: number): ListeningPort[] {
  const sockets = socketsOf(first);
  const found = new Map<number, ListeningPort>();
  for (const [name, family] of [
    ["tcp", 4],
    ["tcp6", 6],
  ] as const)
    for (const { port, inode, address } of readSockets(first, name)) {
      if (!sockets.has(inode)) continue;
      // A socket of the second version that listens on every address also takes connections of the first.
      const isOnlySix = family === 6 && !/^0+$/.test(address);
      if (!isOnlySix || !found.has(port)) found.set(port, { port, family: isOnlySix ? 6 : 4 });
    }
  return [...found.values()].sort((a, b) => a.port - b.port).slice(0, maxPorts);
}

function readSockets(pid: number, name: "tcp" | "tcp6"): { port: number; inode: string; address: string }[] {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/net/${name}`, "utf8");
  } catch {
    return [];
  }
  return text
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      const [address = "", port = ""] = local.split(":");
      return state === listening ? [{ port: Number.parseInt(port, 16), inode, address }] : [];
    });
}

/** Inodes of the open sockets of a process and those below it. */
function socketsOf(first: number): Set<string> {
  const inodes = new Set<string>();
  for (const pid of treeOf(first)) {
    try {
      for (const descriptor of readdirSync(`/proc/${pid}/fd`).slice(0, maxDescriptors)) {
        const inode = /^socket:\[(\d+)\]$/.exec(linkAt(`/proc/${pid}/fd/${descriptor}`))?.[1];
        if (inode !== undefined) inodes.add(inode);
      }
    } catch {
      // The process ended in the meantime.
    }
  }
  return inodes;
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
