import { lookup as systemLookup, type LookupAddress, type LookupOptions } from "node:dns";
import ipaddr from "ipaddr.js";
import { LancelotError } from "../contract/errors.ts";

/** Class of an address: on the internet, this machine, or anything else (private, link-local, metadata, multicast, …). */
export type Reach = "public" | "loopback" | "internal";

/** Classifies an IP address; a text that is not one is `internal`. */
export function reachOf(address: string): Reach {
  if (!ipaddr.isValid(address)) return "internal";
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  if (range === "loopback") return "loopback";
  // NAT64 prefix: classify the embedded IPv4 address.
  if (range === "rfc6052") return reachOf(parsed.toByteArray().slice(12).join(".")) === "public" ? "public" : "internal";
  return range === "unicast" ? "public" : "internal";
}

/** True for `localhost` names and loopback addresses. */
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
 * Creates a `lookup` for sockets that only returns public addresses (or loopback addresses for `localhost` names). The socket connects
 * to the checked address, which prevents DNS rebinding.
 */
export function checkedLookup(resolve: Resolve = systemLookup) {
  return (hostname: string, options: LookupOptions, done: Done): void => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      const expected: Reach = isLoopbackHost(hostname) ? "loopback" : "public";
      if (addresses.length === 0 || addresses.some(({ address }) => reachOf(address) !== expected)) {
        return done(
          new LancelotError("denied", `${hostname} resolves to an address in a private network or on this machine, so it is blocked.`),
          [],
        );
      }
      const first = addresses[0];
      if (options.all === true || first === undefined) return done(null, addresses);
      done(null, first.address, first.family);
    });
  };
}
