import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { isLoopbackHost, reachOf, type Redactor } from "../../security/security.ts";
import type { NetworkJudgment, NetworkUse } from "../decision-facts.ts";
import type { NetworkService } from "./network-needs.ts";
import { checkOwnerValue, createOwnerFile, type OwnerFileState, parseOwnerYaml } from "../../owner-file.ts";
import { parseShipped } from "../../shipped-yaml.ts";

/** A host, or `*.` followed by a host, with DNS labels. */
const HostPattern = z
  .string()
  .regex(/^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}$/, "Write a host such as example.org or *.example.org.");

const NetworkTable = z.strictObject({
  version: z.literal(1),
  allow: z.array(HostPattern).default([]),
  deny: z.array(HostPattern).default([]),
  services: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(200),
        programs: z.array(z.string().regex(/^[\w.+-]{1,100}$/)).min(1),
        hosts: z.array(HostPattern).min(1),
      }),
    )
    .default([]),
});
type NetworkTable = z.infer<typeof NetworkTable>;

export interface NetworkPolicy {
  /**
   * Judges a URL before anything is resolved or sent. The egress check repeats it for addresses and each redirect. Never throws.
   * @param approved hosts that the owner approved for one command, in place of the allowlist; absent or null for the allowlist
   */
  readonly judge: (url: string, use: NetworkUse, approved?: readonly string[] | null) => NetworkJudgment;
  /** Services that programs use; those of the owner's file come first. None while the tables are unusable. */
  readonly services: readonly NetworkService[];
  /** SHA-256 of the current tables. */
  readonly version: string;
  /** Why the tables are unusable; then every host is denied. */
  readonly problem: string | null;
}

const maxUrl = 8192;

/** The allowlist at one moment. */
interface Lists {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly services: readonly NetworkService[];
  readonly version: string;
  readonly problem: string | null;
}

/**
 * The host allowlist: the shipped `network.yaml`, read once, plus the owner's, read again when it changes. An unusable file denies every host.
 * @param deps.enabled the TOOLS_NETWORK flag, read each time.
 */
export function createNetworkPolicy(deps: {
  configDir: string;
  dataDir: string;
  enabled: () => boolean;
  redactor: Redactor;
}): NetworkPolicy {
  const shipped = readShipped(deps.configDir);
  const file = createOwnerFile({
    dataDir: deps.dataDir,
    name: "network.yaml",
    parse(text): { text: string; table: NetworkTable } {
      const { value, lineOf } = parseOwnerYaml(text);
      return { text, table: checkOwnerValue(NetworkTable, Object.keys(value).length === 0 ? { version: 1 } : value, lineOf) };
    },
  });
  let known: { state: object; lists: Lists } | null = null;
  const lists = (): Lists => {
    const state = file.read();
    if (known?.state !== state) known = { state, lists: combine(shipped, state) };
    return known.lists;
  };

  function denial(id: string, message: string, host: string, ...alternatives: string[]): NetworkJudgment {
    return {
      verdict: "deny",
      host,
      rule: { id: `network.${id}`, source: "policy", message },
      alternatives: [...alternatives, ownerPastes],
    };
  }

  return {
    get version() {
      return lists().version;
    },
    get services() {
      return lists().services;
    },
    get problem() {
      return lists().problem;
    },
    judge(text, use, approved = null) {
      const { allow, deny, problem } = lists();
      if (problem !== null) return denial("table-failed", problem, "");
      if (!deps.enabled()) {
        return denial(
          "off",
          "Network access is turned off. Turn on the flag TOOLS_NETWORK to allow it.",
          "",
          "Search the workspace for the information.",
        );
      }
      // oxlint-disable-next-line no-control-regex -- matches control characters
      if (text.length > maxUrl || /[\u0000-\u0020\u007f\\]/.test(text) || !URL.canParse(text)) {
        return denial("address", "The address is invalid or ambiguous.", "", "Write the address as https://host/path.");
      }
      const url = new URL(text);
      const host = url.hostname.replace(/\.$/, "");
      if (url.protocol !== "https:") return denial("scheme", "Only https addresses are allowed.", host, "Use the https address.");
      if (url.username !== "" || url.password !== "") {
        return denial("credentials", "The address contains a user name or password.", host, "Remove the user name and password.");
      }
      if (host === "" || isLoopbackHost(host) || isPrivateAddress(host)) {
        return denial("private", "Addresses of this machine, private networks and cloud metadata are always blocked.", host);
      }
      if (url.port !== "") return denial("port", "Only the default https port is allowed.", host, "Remove the port.");
      if (deps.redactor.text(decoded(text)).findings.length > 0) {
        return denial("secret", "The address appears to contain a secret.", host, "Remove the secret.");
      }
      if (deny.some((pattern) => covers(pattern, host))) return denial("denied-host", `${host} is on your list of denied hosts.`, host);
      if (approved !== null && !approved.some((one) => covers(one, host)))
        return denial("host-not-approved", `${host} is not one of the hosts that this command was approved for.`, host);
      const pattern = (approved ?? allow).find((one) => covers(one, host));
      if (pattern === undefined) {
        return denial(
          "host-not-listed",
          `${host} is not on your allowlist. To allow it, add it to config/network.yaml in the data folder.`,
          host,
          "Use a host on the allowlist.",
          `Ask the owner to add ${host}.`,
        );
      }
      return {
        verdict: "allow",
        host,
        rule: {
          id: "network.listed",
          source: "policy",
          message: use === "read" ? `${host} is on your allowlist.` : `${host} is on your allowlist and may receive data.`,
        },
        alternatives: [],
      };
    },
  };
}

const ownerPastes = "Ask the owner to paste the content.";

function covers(pattern: string, host: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/** True for a non-public IP address or local name. URL has already normalized hex, octal and single-number notations. */
function isPrivateAddress(host: string): boolean {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  if (/^[\d.]+$/.test(bare) || bare.includes(":")) return reachOf(bare) !== "public";
  return /(?:^|\.)(?:internal|local|localdomain|lan|home\.arpa|intranet|corp)$/.test(host) || !host.includes(".");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Shipped = { text: string; table: NetworkTable } | { problem: string };

function readShipped(configDir: string): Shipped {
  try {
    const text = readFileSync(join(configDir, "network.yaml"), "utf8");
    return { text, table: NetworkTable.parse(parseShipped(text).value) };
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : error instanceof Error ? error.message : String(error);
    return { problem: `The allowlist (config/network.yaml) is invalid, so every host is denied. Correct the file: ${reason}` };
  }
}

function combine(shipped: Shipped, owner: OwnerFileState<{ text: string; table: NetworkTable }>): Lists {
  const none = { allow: [], deny: [], services: [] };
  if ("problem" in shipped) return { ...none, version: hash("sha256", "", "hex"), problem: shipped.problem };
  if (owner.problem !== null)
    return {
      ...none,
      version: hash("sha256", `${shipped.text}\0invalid`, "hex"),
      problem: `${owner.problem} Every host is denied until you correct it.`,
    };
  const own = owner.value?.table;
  return {
    allow: [...shipped.table.allow, ...(own?.allow ?? [])],
    deny: [...shipped.table.deny, ...(own?.deny ?? [])],
    services: [...(own?.services ?? []), ...shipped.table.services],
    version: hash("sha256", `${shipped.text}${owner.value?.text ?? ""}`, "hex"),
    problem: null,
  };
}
