import { lookup as systemLookup, type LookupAddress, type LookupOptions } from "node:dns";
import ipaddr from "ipaddr.js";
import { LancelotError } from "../contract/errors.ts";

/** What an address is to the gate: on the internet, this machine, or anything else (private, link-local, metadata, multicast, …). */
export type Reach = "public" | "loopback" | "internal";

/** Judges an IP address as written; what is not one is `internal`. */
export function reachOf(address: string): Reach {
  if (!ipaddr.isValid(address)) return "internal";
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  if (range === "loopback") return "loopback";
  // A network without IPv4 reaches it through this prefix; what counts is the address inside.
  if (range === "rfc6052") return reachOf(parsed.toByteArray().slice(12).join(".")) === "public" ? "public" : "internal";
  return range === "unicast" ? "public" : "internal";
}

/** True for host names that mean this machine by definition, and loopback addresses. */
export function isLoopbackHost(hostname: string): boolean {
  const host = unbracket(hostname);
  return host === "localhost" || host.endsWith(".localhost") || (ipaddr.isValid(host) && reachOf(host) === "loopback");
}

export function unbracket(hostname: string): string {
  return hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
}

type Resolve = (hostname: string, options: { all: true }, done: (error: Error | null, addresses: LookupAddress[]) => void) => void;
type Done = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * A `lookup` for sockets that hands on an address only when it is public (or loopback, for names of this machine). The socket
 * connects to what was checked, so a name that changes its address in between gains nothing.
 */
export function checkedLookup(resolve: Resolve = systemLookup) {
  return (hostname: string, options: LookupOptions, done: Done): void => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      const expected: Reach = isLoopbackHost(hostname) ? "loopback" : "public";
      if (addresses.length === 0 || addresses.some(({ address }) => reachOf(address) !== expected)) {
        return done(
          new LancelotError("denied", `${hostname} leads to an address inside a private network or this machine, so it is not contacted.`),
          [],
        );
      }
      const first = addresses[0];
      if (options.all === true || first === undefined) return done(null, addresses);
      done(null, first.address, first.family);
    });
  };
}
